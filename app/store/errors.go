package store

import "errors"

// Errors that callers decide by.
var (
	// ErrInUse: another program has the database open.
	ErrInUse = errors.New("the database is in use by another program")
	// ErrNewer: a newer version of the program wrote the database. It was not touched.
	ErrNewer = errors.New("the database was written by a newer version of the program")
	// ErrOlder: OpenReadOnly found a database that has to be migrated first, which Open does.
	ErrOlder = errors.New("the database was written by an older version of the program; start the program once to update it")
	// ErrForeign: the file is a bbolt database of some other program. It was not touched.
	ErrForeign = errors.New("the file is a database of another program")
	// ErrDamaged: the database has pages that make no sense.
	ErrDamaged = errors.New("the database is damaged")
	// ErrNotFound: there is no such chat or task.
	ErrNotFound = errors.New("not found")
	// ErrBadCursor: the cursor was not given out by a listing with these filters.
	ErrBadCursor = errors.New("the cursor is not valid for this list")
	// ErrFinal: the task has its final state; there is exactly one.
	ErrFinal = errors.New("the task already has its final state")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the database is closed")
	// ErrReadOnly: the store was opened by OpenReadOnly.
	ErrReadOnly = errors.New("the database is open for reading only")
	// ErrInvalid: what was to be stored makes no sense.
	ErrInvalid = errors.New("not storable")
)
