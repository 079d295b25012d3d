package svc

import (
	"fmt"
	"time"
)

// Time is an instant in milliseconds since 1970, in the form in which it is stored and compared. On the wire it is
// RFC 3339 in UTC with milliseconds and Z.
type Time int64

const wireTime = "2006-01-02T15:04:05.000Z"

// TimeOf converts t, truncated to milliseconds.
func TimeOf(t time.Time) Time { return Time(t.UnixMilli()) }

// Std returns t as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add returns t plus d.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns the duration from u to t. It is limited to the range of time.Duration, which is smaller than the range
// of years with four digits.
func (t Time) Sub(u Time) time.Duration { return t.Std().Sub(u.Std()) }

// String returns t in the wire format.
func (t Time) String() string { return t.Std().Format(wireTime) }

// MarshalText returns t in the wire format.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses an RFC 3339 time, with or without fractions. It refuses a time that cannot be written again
// because in UTC its year does not have four digits.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil || v.UTC().Year() < 0 || v.UTC().Year() > 9999 {
		return fmt.Errorf("%q is not an RFC 3339 time", b)
	}
	*t = TimeOf(v)
	return nil
}
