package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc"
	"svc/store"
)

// keyLife is how long an idempotency key is stored.
const keyLife = 24 * time.Hour

type idempotency struct{ key, fingerprint string }

type idempotencyKey struct{}

// WithIdempotency makes a create safe to repeat: under the same key and fingerprint the first result is returned
// again, and nothing is done twice. The fingerprint represents the whole request.
func WithIdempotency(ctx context.Context, key, fingerprint string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, idempotency{key, fingerprint})
}

// writeFunc is [store.Store.Write] or [store.Store.WriteRepeatable].
type writeFunc func(context.Context, func(*store.Tx) error, ...store.Row) error

// once runs fn as a unit of work, or returns the result that is stored under the request's idempotency key. The
// result is committed together with the change, so a crash between the two cannot cause a second change. A concurrent
// request with the same key, here or at another orchestrator, waits for that commit and gets the same result.
func once[T any](ctx context.Context, write writeFunc, fn func(*store.Tx) (T, error), rows ...store.Row) (T, error) {
	if idem, asked := ctx.Value(idempotencyKey{}).(idempotency); asked {
		rows = append(rows, store.KeyRow(idem.key))
	}
	var out T
	err := write(ctx, func(tx *store.Tx) error {
		replayed, err := firstResult(ctx, tx, &out)
		if err != nil || replayed {
			return err
		}
		if out, err = fn(tx); err != nil {
			return err
		}
		return keepResult(ctx, tx, &out)
	}, rows...)
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// firstResult reads the stored result of the request's key: a record, or an error that was returned. If an earlier
// request began and did not finish, it returns outcome_unknown.
func firstResult(ctx context.Context, tx *store.Tx, out any) (bool, error) {
	idem, asked := ctx.Value(idempotencyKey{}).(idempotency)
	if !asked {
		return false, nil
	}
	first, found, err := keptKey(ctx, tx, idem)
	if err != nil || !found {
		return false, err
	}
	if first.Owner != "" {
		return false, errOutcomeUnknown
	}
	kept := keptResult{Record: out}
	if err := json.Unmarshal([]byte(first.Result), &kept); err != nil {
		return false, fmt.Errorf("read the kept result of an idempotency key: %w", err)
	}
	if kept.Refusal != nil {
		return true, &svc.Error{Code: kept.Refusal.Code, Message: kept.Refusal.Message, Details: kept.Refusal.Details}
	}
	if v := versionIn(out); v != nil {
		*v = kept.Version
	}
	return true, nil
}

// keptKey reads what is stored under a key. It refuses a key that was used for another request.
func keptKey(ctx context.Context, tx *store.Tx, idem idempotency) (store.KeptKey, bool, error) {
	first, found, err := tx.Kept(ctx, idem.key, tx.Now.Add(-keyLife))
	if err == nil && found && first.Fingerprint != idem.fingerprint {
		err = errKeyReused
	}
	return first, found, err
}

var (
	errKeyReused      = svc.Errorf(svc.CodeIdempotency, "this Idempotency-Key was used for another request; use a new one")
	errOutcomeUnknown = svc.Errorf(svc.CodeOutcomeUnknown, "it is unknown whether this was done: the answer was lost; look at the screen before you try again with another Idempotency-Key")
)

// keptResult is a returned record, or a returned error. The record's version is in its ETag, not in its JSON.
type keptResult struct {
	Record  any          `json:"record"`
	Version int64        `json:"version,omitempty"`
	Refusal *keptRefusal `json:"refusal,omitempty"` // absent: the request succeeded
}

type keptRefusal struct {
	Code    svc.Code       `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// refusalOf converts an error to the form in which it is stored; nil for nil.
func refusalOf(err error) *keptRefusal {
	var known *svc.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &known):
		known = errOutcomeUnknown
	}
	return &keptRefusal{Code: known.Code, Message: known.Message, Details: known.Details}
}

// versionIn returns a pointer to the version of a record; nil when it has none.
func versionIn(record any) *int64 {
	switch r := record.(type) {
	case *svc.Project:
		return &r.Version
	case *svc.WorkItem:
		return &r.Version
	case *svc.Run:
		return &r.Version
	case *svc.Host:
		return &r.Version
	default:
		return nil
	}
}

func keepResult(ctx context.Context, tx *store.Tx, result any) error {
	r := keptResult{Record: result}
	if v := versionIn(result); v != nil {
		r.Version = *v
	}
	return keep(ctx, tx, r)
}

func keep(ctx context.Context, tx *store.Tx, r keptResult) error {
	idem, asked := ctx.Value(idempotencyKey{}).(idempotency)
	if !asked {
		return nil
	}
	kept, err := svc.JSON(r)
	if err != nil {
		return fmt.Errorf("keep the result of an idempotency key: %w", err)
	}
	return tx.KeepResult(ctx, idem.key, idem.fingerprint, string(kept))
}
