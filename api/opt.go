package api

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"svc"
)

// Opt is a request field that may be absent, null or a value, and tells the
// three apart. The zero Opt is absent; give the field the JSON option omitzero.
type Opt[T any] struct {
	Set   bool // the field is there
	Null  bool // it is there and null
	Value T    // meaningful when it is there and not null
}

// Some is a field with a value.
func Some[T any](v T) Opt[T] { return Opt[T]{Set: true, Value: v} }

// Null is a field that is there and null.
func Null[T any]() Opt[T] { return Opt[T]{Set: true, Null: true} }

// IsZero reports whether the field is absent.
func (o Opt[T]) IsZero() bool { return !o.Set }

// MarshalJSON writes null or the value; omitzero leaves an absent field out.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.Set || o.Null {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON is called only for a field that is there.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	*o = Opt[T]{Set: true}
	if bytes.Equal(b, []byte("null")) {
		o.Null = true
		return nil
	}
	return json.Unmarshal(b, &o.Value)
}

// Schema is the value's own schema: that the field is optional is said by its
// struct, that it may be null by the tag nullable.
func (o Opt[T]) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[T](), false, "")
	s.Nullable = false
	return &s
}

// given is the field's value, nil when it is absent. A null is a problem.
func given[T any](bad *svc.Problems, field string, o Opt[T]) *T {
	if o.Null {
		bad.Add(field, "must not be null; leave the field out instead")
	}
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}

// orZero is the field's value, the zero value when it is absent.
func orZero[T any](bad *svc.Problems, field string, o Opt[T]) T {
	var zero T
	if v := given(bad, field, o); v != nil {
		return *v
	}
	return zero
}

// orNull is the field's value, nil when it is absent or null.
func orNull[T any](o Opt[T]) *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}
