package store

import (
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// migration brings a database from the version before to its own.
type migration func(tx *bolt.Tx) error

// migrations in order: the first makes version 1 of an empty database. A released one is never changed.
var migrations = []migration{
	createBuckets,
}

// createBuckets is version 1.
func createBuckets(tx *bolt.Tx) error {
	for _, name := range [][]byte{
		bucketMeta,
		bucketSessions, bucketKeys, bucketOrder, bucketMessages,
		bucketTasks, bucketTaskOrder, bucketTaskNum, bucketTaskChat, bucketTaskFinal,
		bucketDrafts, bucketMCP,
	} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return fmt.Errorf("creating bucket %s: %w", name, err)
		}
	}
	return nil
}

// schemaVersion reads the version of a database; 0 if it is empty.
func schemaVersion(tx *bolt.Tx) (uint64, error) {
	b := tx.Bucket(bucketMeta)
	if b == nil {
		if k, _ := tx.Cursor().First(); k != nil {
			return 0, ErrForeign
		}
		return 0, nil
	}
	v := b.Get(metaSchema)
	if v == nil {
		return 0, ErrForeign
	}
	return decodeNumber("the schema version", v)
}

// checkVersion tells whether a database of this version can be used, and whether it has to be migrated.
func checkVersion(version uint64, known int) (older bool, err error) {
	if version > uint64(known) {
		return false, fmt.Errorf("%w (its schema has version %d, this program knows up to %d)", ErrNewer, version, known)
	}
	return version < uint64(known), nil
}

// migrate brings a database to the newest version, each step in a transaction of its own, so that an interrupted
// update goes on where it stopped.
func migrate(db *bolt.DB, steps []migration) error {
	for {
		var version uint64
		if err := db.View(func(tx *bolt.Tx) (err error) {
			version, err = schemaVersion(tx)
			return err
		}); err != nil {
			return err
		}
		older, err := checkVersion(version, len(steps))
		if err != nil || !older {
			return err
		}
		if err := db.Update(func(tx *bolt.Tx) error {
			if err := steps[version](tx); err != nil {
				return err
			}
			return tx.Bucket(bucketMeta).Put(metaSchema, number8(version+1))
		}); err != nil {
			return fmt.Errorf("updating the schema from version %d to %d: %w", version, version+1, err)
		}
	}
}
