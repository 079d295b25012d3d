package svc

import (
	"fmt"
	"time"
)

// Time is an instant in milliseconds since 1970, as it is stored and compared.
// On the wire it is RFC 3339 in UTC with milliseconds and Z.
type Time int64

const wireTime = "2006-01-02T15:04:05.000Z"

// TimeOf cuts a time to milliseconds.
func TimeOf(t time.Time) Time { return Time(t.UnixMilli()) }

// Std is the standard library's form, in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add is the instant d later.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub is the time from u to t, at most the longest or shortest duration there is: years of four digits are further apart.
func (t Time) Sub(u Time) time.Duration { return t.Std().Sub(u.Std()) }

// String is the form on the wire.
func (t Time) String() string { return t.Std().Format(wireTime) }

// MarshalText writes the form on the wire.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads any ISO 8601 time in UTC, with or without fractions, that
// can be written again: an offset may lead out of the years of four digits.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil || v.UTC().Year() < 0 || v.UTC().Year() > 9999 {
		return fmt.Errorf("%q is not an RFC 3339 time", b)
	}
	*t = TimeOf(v)
	return nil
}
