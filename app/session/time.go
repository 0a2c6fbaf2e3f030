package session

import "time"

// Layout is how every face of the program writes a time: RFC 3339, UTC, milliseconds.
const Layout = "2006-01-02T15:04:05.000Z"

// Time is a point in time whose JSON form is Layout. Use omitzero to leave an unset one out.
type Time struct{ time.Time }

// At converts a time; the result is UTC and cut to milliseconds, so that it survives JSON unchanged.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// MarshalJSON writes Layout.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.UTC().Format(Layout) + `"`), nil }

// String returns the JSON form without quotes.
func (t Time) String() string { return t.UTC().Format(Layout) }
