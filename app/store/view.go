package store

import (
	"errors"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// view runs a read in a transaction of its own. A damaged page becomes ErrDamaged for this read alone.
func (s *Store) view(fn func(tx *bolt.Tx) error) (err error) {
	defer guard(&err, nil)()
	err = s.db.View(fn)
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}
