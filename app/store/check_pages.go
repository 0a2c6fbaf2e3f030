package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// MaxCheckedPages bounds the check after an unclean end: 256 MiB of pages of 4 KiB, a fraction of a second. What a
	// larger database has beyond is checked when it is read.
	MaxCheckedPages = 65_536
	// CleanCheckedPages bounds the check after a clean end, when only the disk or another program can have done harm:
	// 8 MiB, a few milliseconds.
	CleanCheckedPages = 2_048
	// maxReadPage bounds how much of one page with its continuation is read; of a larger one, which holds one long
	// value, the table of contents is enough.
	maxReadPage = 1 << 20

	elementSize = 16
	bucketFlag  = 0x01
	bucketRoot  = 16 // root page and sequence number
)

// checkPages walks the trees of the file from the root and checks each page: its number, its kind, that its elements
// lie within it in order, and that no page is part of two trees.
func checkPages(f io.ReaderAt, limit int) error {
	m, err := readMeta(f)
	if err != nil {
		return err
	}
	w := &pageWalk{f: f, m: m, seen: make([]uint64, m.pages/64+1), todo: []uint64{m.root}}
	for n := 0; len(w.todo) > 0 && n < limit; n++ {
		id := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		if err := w.visit(id); err != nil {
			return err
		}
	}
	return nil
}

type pageWalk struct {
	f    io.ReaderAt
	m    meta
	seen []uint64 // one bit a page
	todo []uint64
	buf  []byte
}

func (w *pageWalk) visit(id uint64) error {
	if id < 2 || id >= w.m.pages {
		return fmt.Errorf("%w: a reference to page %d of %d", ErrDamaged, id, w.m.pages)
	}
	b, err := w.read(id, w.m.pageSize)
	if err != nil {
		return err
	}
	p := parsePage(b)
	if err := p.check(w.m, id); err != nil {
		return err
	}
	for i := id; i <= id+uint64(p.overflow); i++ {
		if w.seen[i/64]&(1<<(i%64)) != 0 {
			return fmt.Errorf("%w: page %d is used twice", ErrDamaged, i)
		}
		w.seen[i/64] |= 1 << (i % 64)
	}
	size := (int64(p.overflow) + 1) * w.m.pageSize
	if size > w.m.pageSize {
		if b, err = w.read(id, min(size, max(maxReadPage, w.m.pageSize))); err != nil {
			return err
		}
	}
	return w.elements(p, b, size)
}

// read returns the first n bytes of a page, valid until the next call.
func (w *pageWalk) read(id uint64, n int64) ([]byte, error) {
	if int64(len(w.buf)) < n {
		w.buf = make([]byte, n)
	}
	if _, err := w.f.ReadAt(w.buf[:n], int64(id)*w.m.pageSize); err != nil {
		return nil, fmt.Errorf("%w: reading page %d: %w", ErrDamaged, id, err)
	}
	return w.buf[:n], nil
}

// elements checks the contents of a page of size bytes, of which b is the beginning.
func (w *pageWalk) elements(p page, b []byte, size int64) error {
	if pageHeader+elementSize*int64(p.count) > int64(len(b)) {
		return fmt.Errorf("%w: page %d cannot hold %d elements", ErrDamaged, p.id, p.count)
	}
	var last []byte
	e := binary.NativeEndian
	for i := range int64(p.count) {
		at := pageHeader + elementSize*i
		el := b[at:]
		var pos, keyLen, valueLen int64
		switch p.flags {
		case flagBranch:
			pos, keyLen = int64(e.Uint32(el)), int64(e.Uint32(el[4:]))
			w.todo = append(w.todo, e.Uint64(el[8:]))
		case flagLeaf:
			pos, keyLen, valueLen = int64(e.Uint32(el[4:])), int64(e.Uint32(el[8:])), int64(e.Uint32(el[12:]))
		default:
			return fmt.Errorf("%w: page %d is of kind %#x", ErrDamaged, p.id, p.flags)
		}
		start := at + pos
		if start+keyLen+valueLen > size {
			return fmt.Errorf("%w: element %d of page %d lies outside of it", ErrDamaged, i, p.id)
		}
		if start+keyLen > int64(len(b)) {
			continue
		}
		key := b[start : start+keyLen]
		if i > 0 && last != nil && bytes.Compare(last, key) >= 0 {
			return fmt.Errorf("%w: the keys of page %d are out of order", ErrDamaged, p.id)
		}
		last = key
		if p.flags == flagLeaf && e.Uint32(el)&bucketFlag != 0 {
			if err := w.bucket(p, b[start+keyLen:min(start+keyLen+valueLen, int64(len(b)))]); err != nil {
				return err
			}
		}
	}
	if p.count == 0 && p.flags != flagLeaf {
		return fmt.Errorf("%w: page %d of kind %#x is empty", ErrDamaged, p.id, p.flags)
	}
	return nil
}

// bucket checks the value of a bucket: the number of its root page, or, when that is 0, a small page in place.
func (w *pageWalk) bucket(p page, v []byte) error {
	if len(v) < bucketRoot {
		return fmt.Errorf("%w: page %d has a bucket of %d bytes", ErrDamaged, p.id, len(v))
	}
	if root := binary.NativeEndian.Uint64(v); root != 0 {
		w.todo = append(w.todo, root)
		return nil
	}
	inline := v[bucketRoot:]
	if len(inline) < pageHeader {
		return fmt.Errorf("%w: page %d has a bucket of %d bytes", ErrDamaged, p.id, len(v))
	}
	in := parsePage(inline)
	if in.flags != flagLeaf {
		return fmt.Errorf("%w: page %d has a bucket of kind %#x", ErrDamaged, p.id, in.flags)
	}
	in.id = p.id
	return w.elements(in, inline, int64(len(inline)))
}
