package api

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"svc"
)

// Opt is a request field that may be absent, null or a value. The zero Opt is absent; the field needs the JSON option
// omitzero.
type Opt[T any] struct {
	Set   bool // the field is present
	Null  bool // the field is present and null
	Value T    // valid when the field is present and not null
}

// Some returns a field with a value.
func Some[T any](v T) Opt[T] { return Opt[T]{Set: true, Value: v} }

// Null returns a field that is present and null.
func Null[T any]() Opt[T] { return Opt[T]{Set: true, Null: true} }

// IsZero reports whether the field is absent.
func (o Opt[T]) IsZero() bool { return !o.Set }

// MarshalJSON writes null or the value. The option omitzero leaves out an absent field.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.Set || o.Null {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON is called only for a field that is present.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	*o = Opt[T]{Set: true}
	if bytes.Equal(b, []byte("null")) {
		o.Null = true
		return nil
	}
	return json.Unmarshal(b, &o.Value)
}

// Schema returns the schema of the value. Whether the field is optional follows from its struct, and whether it may
// be null from the tag nullable.
func (o Opt[T]) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[T](), false, "")
	s.Nullable = false
	return &s
}

// given returns the field's value, nil when it is absent. A null is a problem.
func given[T any](bad *svc.Problems, field string, o Opt[T]) *T {
	if o.Null {
		bad.Add(field, "must not be null; leave the field out instead")
	}
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}

// orZero returns the field's value, or the zero value when it is absent. A null is a problem.
func orZero[T any](bad *svc.Problems, field string, o Opt[T]) T {
	var zero T
	if v := given(bad, field, o); v != nil {
		return *v
	}
	return zero
}

// orNull returns the field's value, nil when it is absent or null.
func orNull[T any](o Opt[T]) *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}
