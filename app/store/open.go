package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// maxReplaced bounds how often Open sets a damaged file aside before it gives up; a new database is not damaged.
const maxReplaced = 2

// Open opens the database at path for reading and writing and creates it, with its folder, if it is missing (file
// 0600, folder 0700). A damaged one is moved to path.corrupt-<UTC time> and a new one started; see Recovered.
// Errors: ErrInUse within LockTimeout, ErrNewer and ErrForeign with the file untouched, or what the system says.
func Open(path string, o Options) (*Store, error) {
	s := newStore(path, o.withDefaults(), false)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("creating the database's folder: %w", err)
	}
	for try := 0; ; try++ {
		err := s.open()
		if err == nil {
			break
		}
		if !errors.Is(err, ErrDamaged) || try == maxReplaced || s.file == nil {
			return nil, fmt.Errorf("opening the database %s: %w", path, joinClose(err, s.file))
		}
		s.opt.Log.Error("the database is damaged and is set aside", "path", path, "err", err)
		if s.recovered, err = s.moveAside(); err != nil {
			return nil, fmt.Errorf("setting the damaged database %s aside: %w", path, err)
		}
	}
	s.start()
	return s, nil
}

// OpenReadOnly opens the database at path for reading. Several programs may do so, none while one writes: ErrInUse,
// both ways. Nothing is created, repaired, migrated or moved: os.ErrNotExist, ErrDamaged, ErrOlder.
func OpenReadOnly(path string) (*Store, error) {
	s := newStore(path, Options{}.withDefaults(), true)
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", path, joinClose(err, s.file))
	}
	s.start()
	return s, nil
}

// open locks, checks and opens the file. After an error s.file may still be open and locked.
func (s *Store) open() (err error) {
	flag := os.O_RDWR | os.O_CREATE
	if s.readOnly {
		flag = os.O_RDONLY
	}
	if s.file, err = openLocked(s.path, flag, !s.readOnly); err != nil {
		return err
	}
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", s.path)
	}
	if s.readOnly && info.Size() == 0 {
		return fmt.Errorf("the database is empty: %w", os.ErrNotExist)
	}
	if !s.readOnly && info.Mode().Perm()&0o077 != 0 {
		if err := s.file.Chmod(0o600); err != nil {
			return fmt.Errorf("making the database private: %w", err)
		}
	}
	if info.Size() > 0 {
		if err := checkMeta(s.file, info.Size()); err != nil {
			return err
		}
	}
	if err := s.openBolt(); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		if errors.Is(err, ErrDamaged) {
			s.db = nil // after a panic its Close could hang; the memory map stays until the program ends
			return err
		}
		err = errors.Join(err, s.db.Close())
		s.db, s.file = nil, nil
		return err
	}
	return nil
}

// openBolt gives the locked descriptor to bbolt.
func (s *Store) openBolt() (err error) {
	if err := handOver(s.file); err != nil {
		return fmt.Errorf("handing the lock over: %w", err)
	}
	defer guard(&err, nil)()
	file := s.file
	s.db, err = bolt.Open(s.path, 0o600, &bolt.Options{
		Timeout:      LockTimeout,
		ReadOnly:     s.readOnly,
		FreelistType: bolt.FreelistMapType,
		OpenFile:     func(string, int, os.FileMode) (*os.File, error) { return file, nil },
	})
	if err == nil {
		return nil
	}
	s.file = nil // bbolt has closed it
	if errors.Is(err, bolterrors.ErrTimeout) {
		return fmt.Errorf("%w: %s", ErrInUse, s.path)
	}
	return err
}

// prepare checks what the file holds and brings it up to date.
func (s *Store) prepare() (err error) {
	defer guard(&err, nil)()
	var version uint64
	clean := false
	err = s.db.View(func(tx *bolt.Tx) (err error) {
		version, err = schemaVersion(tx)
		if err == nil && version > 0 {
			clean = tx.Bucket(bucketMeta).Get(metaClean) != nil
		}
		return err
	})
	if err != nil {
		return err
	}
	older, err := checkVersion(version, len(s.opt.schema))
	if err != nil {
		return err
	}
	limit := CleanCheckedPages
	if !clean {
		limit = MaxCheckedPages
	}
	if err := checkPages(s.file, limit); err != nil {
		return err
	}
	if s.readOnly {
		if older {
			return ErrOlder
		}
		return nil
	}
	if err := migrate(s.db, s.opt.schema); err != nil {
		return err
	}
	s.compact()
	return nil
}

// release gives the file back. A run that wrote something marks its clean end first.
func (s *Store) release() error {
	if s.broken { // bbolt's locks may be held for ever, so that its Close could hang
		return s.file.Close()
	}
	var err error
	if s.marked {
		err = s.markClean()
	}
	return errors.Join(err, s.db.Close())
}

func (s *Store) markClean() (err error) {
	defer guard(&err, nil)()
	return s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(metaClean, []byte{1}) })
}

// joinClose closes a file that may be nil and adds what goes wrong.
func joinClose(err error, f *os.File) error {
	if f == nil {
		return err
	}
	return errors.Join(err, f.Close())
}
