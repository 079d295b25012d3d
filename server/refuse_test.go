package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

func TestARefusalTellsWhenToComeBack(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{0: "1", 300 * time.Millisecond: "1", 2400 * time.Millisecond: "3"} {
		w := httptest.NewRecorder()
		Refuse(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), svc.Errorf(svc.CodeUnavailable, "crowded").RetryIn(wait))
		if got := w.Header().Get("Retry-After"); got != want || w.Code != http.StatusServiceUnavailable {
			t.Errorf("%v: status %d, Retry-After %q, want %q", wait, w.Code, got, want)
		}
		if said, ours := wire.RefusalOf(w.Body.Bytes()); !ours || said.RetryIn != wait {
			t.Errorf("the worker reads %v, want %v", said.RetryIn, wait)
		}
	}
}
