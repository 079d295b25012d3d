package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"

	"svc"
	"svc/api"
	"svc/engine"
)

// Retryable documents the Idempotency-Key header of every POST. The key itself is read before huma is called.
type Retryable struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"Makes a retry safe: for 24 h the same key and body return the first result again"`
}

// idempotent adds the key of a POST to the request's context.
func idempotent(r *http.Request, body []byte) (context.Context, error) {
	keys := r.Header.Values(api.HeaderIdempotencyKey)
	if r.Method != http.MethodPost || len(keys) == 0 {
		return r.Context(), nil
	}
	if len(keys) > 1 || !printable(keys[0]) {
		return nil, svc.Invalid(api.HeaderIdempotencyKey, "must be one value of 1 to %d printable characters", api.MaxIdempotencyKey)
	}
	return engine.WithIdempotency(r.Context(), keys[0], fingerprint(r, body)), nil
}

func printable(key string) bool {
	if key == "" || len(key) > api.MaxIdempotencyKey {
		return false
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return false
		}
	}
	return true
}

// fingerprint returns a hash by which two requests with the same key are compared.
func fingerprint(r *http.Request, body []byte) string {
	h := sha256.New()
	_, _ = io.WriteString(h, r.Method+"\x00"+r.URL.Path+"\x00")
	_, _ = h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// checkEmpty checks the body of requests without fields: it must be empty or an empty object.
func checkEmpty(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return svc.Invalid("body", "must be a JSON object: %v", err)
	}
	var bad svc.Problems
	for name := range fields {
		bad.Add(name, "is not a known field")
	}
	return bad.Err()
}
