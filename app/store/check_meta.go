package store

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// bbolt maps the file into memory and trusts it: a page behind the end of the file is a fault, a page of the wrong kind
// a panic. So the file is read in the ordinary way first. The layout is that of bbolt's file format, version 2, in the
// byte order of the machine.
const (
	pageHeader  = 16
	metaSize    = 64
	boltMagic   = 0xED0CDAED
	boltVersion = 2
	noFreelist  = ^uint64(0)

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10

	minPageSize = 1 << 10
	maxPageSize = 1 << 24
)

// meta is the root of a bbolt file.
type meta struct {
	pageSize int64
	root     uint64
	freelist uint64
	pages    uint64 // all pages have smaller numbers
	txid     uint64
}

// page is the header of a page.
type page struct {
	id       uint64
	flags    uint16
	count    uint16
	overflow uint32
}

func parsePage(b []byte) page {
	e := binary.NativeEndian
	return page{id: e.Uint64(b), flags: e.Uint16(b[8:]), count: e.Uint16(b[10:]), overflow: e.Uint32(b[12:])}
}

// parseMeta reads what follows the header of a meta page and reports whether it is whole.
func parseMeta(b []byte) (meta, bool) {
	e := binary.NativeEndian
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8])
	m := meta{pageSize: int64(e.Uint32(b[8:])), root: e.Uint64(b[16:]), freelist: e.Uint64(b[32:]), pages: e.Uint64(b[40:]), txid: e.Uint64(b[48:])}
	ok := e.Uint32(b) == boltMagic && e.Uint32(b[4:]) == boltVersion && e.Uint64(b[metaSize-8:]) == sum.Sum64() &&
		m.pageSize >= minPageSize && m.pageSize <= maxPageSize && m.pageSize&(m.pageSize-1) == 0
	return m, ok
}

// readMeta finds the meta page that bbolt will use: the whole one with the larger transaction number.
func readMeta(f io.ReaderAt) (meta, error) {
	at := func(offset int64) (meta, bool) {
		b := make([]byte, pageHeader+metaSize)
		if _, err := f.ReadAt(b, offset); err != nil {
			return meta{}, false
		}
		return parseMeta(b[pageHeader:])
	}
	m, ok := at(0)
	if ok {
		if second, ok := at(m.pageSize); ok && second.pageSize == m.pageSize && second.txid > m.txid {
			return second, nil
		}
		return m, nil
	}
	for size := int64(minPageSize); size <= maxPageSize; size *= 2 {
		if m, ok := at(size); ok && m.pageSize == size {
			return m, nil
		}
	}
	return meta{}, fmt.Errorf("%w: no valid root in it", ErrDamaged)
}

// checkMeta reads the few pages without which bbolt cannot open a file of this size at all.
func checkMeta(f io.ReaderAt, size int64) error {
	m, err := readMeta(f)
	if err != nil {
		return err
	}
	if m.pages < 3 || m.pages > uint64(size/m.pageSize) {
		return fmt.Errorf("%w: it has %d bytes, but %d pages of %d bytes", ErrDamaged, size, m.pages, m.pageSize)
	}
	if err := checkHeader(f, m, m.root, flagLeaf, flagBranch); err != nil {
		return err
	}
	if m.freelist == noFreelist {
		return nil
	}
	if err := checkHeader(f, m, m.freelist, flagFreelist); err != nil {
		return err
	}
	return checkFreelist(f, m)
}

// checkHeader checks that a page is where it should be and of one of the kinds.
func checkHeader(f io.ReaderAt, m meta, id uint64, kinds ...uint16) error {
	p, err := readHeader(f, m, id)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		if p.flags == k {
			return nil
		}
	}
	return fmt.Errorf("%w: page %d is of kind %#x", ErrDamaged, id, p.flags)
}

// readHeader reads the header of a page and checks that it and its continuation are in the file.
func readHeader(f io.ReaderAt, m meta, id uint64) (page, error) {
	if id < 2 || id >= m.pages {
		return page{}, fmt.Errorf("%w: a reference to page %d of %d", ErrDamaged, id, m.pages)
	}
	b := make([]byte, pageHeader)
	if _, err := f.ReadAt(b, int64(id)*m.pageSize); err != nil {
		return page{}, fmt.Errorf("%w: reading page %d: %w", ErrDamaged, id, err)
	}
	p := parsePage(b)
	return p, p.check(m, id)
}

// check compares what a page says of itself with where it was found.
func (p page) check(m meta, id uint64) error {
	if p.id != id || uint64(p.overflow) >= m.pages-id {
		return fmt.Errorf("%w: page %d says that it is page %d with %d more", ErrDamaged, id, p.id, p.overflow)
	}
	return nil
}

// checkFreelist checks that the list of free pages fits into its pages and names only pages of the file, once each:
// a page that is in use and in this list would be overwritten.
func checkFreelist(f io.ReaderAt, m meta) error {
	p, err := readHeader(f, m, m.freelist)
	if err != nil {
		return err
	}
	b := make([]byte, (int64(p.overflow)+1)*m.pageSize)
	if _, err := f.ReadAt(b, int64(m.freelist)*m.pageSize); err != nil {
		return fmt.Errorf("%w: reading the free list: %w", ErrDamaged, err)
	}
	ids, count := b[pageHeader:], uint64(p.count)
	if p.count == 0xFFFF { // the number did not fit into the header
		count, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return fmt.Errorf("%w: the free list has %d entries in %d bytes", ErrDamaged, count, len(b))
	}
	last := uint64(1)
	for i := range count {
		id := binary.NativeEndian.Uint64(ids[8*i:])
		if id <= last || id >= m.pages {
			return fmt.Errorf("%w: the free list names page %d after %d", ErrDamaged, id, last)
		}
		last = id
	}
	return nil
}
