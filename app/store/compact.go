package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

const (
	// CompactAbove is the size from which a database is compacted at start, in bytes. Smaller ones would grow by it:
	// each bucket takes at least a page.
	CompactAbove = 8 << 20
	// compactChunk is how much one transaction of the copy holds, in bytes.
	compactChunk = 4 << 20
)

// compact replaces a database of which more than half is free by a copy without the holes: copy, sync, rename. It
// happens only while the database is being opened. When it does not work, for want of space, the database stays as it
// is.
func (s *Store) compact() {
	temp := s.path + ".compact"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a crash
		s.opt.Log.Warn("removing an unfinished copy of the database failed", "path", temp, "err", err)
		return
	}
	var size int64
	if err := s.db.View(func(tx *bolt.Tx) error { size = tx.Size(); return nil }); err != nil {
		return
	}
	free := int64(s.db.Stats().FreePageN) * int64(s.db.Info().PageSize)
	if size < s.opt.compact || free <= size/2 {
		return
	}
	db, file, err := compactTo(temp, s.db)
	if err == nil {
		err = os.Rename(temp, s.path)
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}
	if err != nil {
		s.opt.Log.Warn("compacting the database failed; it stays as it is", "err", errors.Join(err, removeIfThere(temp)))
		return
	}
	old := s.db
	s.db, s.file = db, file // open and locked already, so that nobody can come in between
	if err := errors.Join(syncFolder(filepath.Dir(s.path)), old.Close()); err != nil {
		s.opt.Log.Warn("the compacted database is in place, but not everything went well", "err", err)
	}
	s.opt.Log.Info("the database was compacted", "bytes before", size, "free", free)
}

// compactTo copies a database into a new, locked file and brings it to disk.
func compactTo(path string, src *bolt.DB) (db *bolt.DB, file *os.File, err error) {
	db, err = bolt.Open(path, 0o600, &bolt.Options{
		Timeout:      LockTimeout,
		FreelistType: bolt.FreelistMapType,
		NoSync:       true, // once at the end: nobody knows the copy yet
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			file, err = os.OpenFile(name, flag|os.O_EXCL, mode)
			return file, err
		},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("creating the copy: %w", err)
	}
	if err := errors.Join(bolt.Compact(db, src, compactChunk), db.Sync()); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	db.NoSync = false
	return db, file, nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncFolder makes a rename last. Systems that cannot sync a folder do it by themselves.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) {
		return err
	}
	return nil
}
