package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// transient reports whether an error is transient, so that the same request may succeed soon.
func transient(err error) bool {
	switch svc.CodeOf(err) {
	case svc.CodeUnavailable, svc.CodeReplicaUnreachable:
		return true
	}
	return errors.Is(err, api.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)
}

// caller sends repeatable requests one after the other. Its HTTP client repeats none by itself.
type caller struct {
	s     *site
	url   string
	name  string
	http  *http.Client
	limit time.Duration // for one try
	fails func(what string, err error)
}

// load runs callers against the balancer until stop is called. Each caller creates items under different idempotency
// keys, and reads each of them. If strict is true, no request may fail. Otherwise a request may fail with a transient
// error, and is repeated.
func (s *site) load(name string, strict bool) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	var callers sync.WaitGroup
	var answered atomic.Int64
	t := s.t
	for i, alive := range []bool{true, false} { // connections that are kept, and a new one for each request
		c := &caller{s: s, url: s.m.Front.URL, name: fmt.Sprintf("%s-%d", name, i), limit: 5 * time.Second,
			http: &http.Client{Transport: &http.Transport{DisableKeepAlives: !alive}}}
		c.fails = func(what string, err error) {
			if strict || !transient(err) {
				t.Errorf("%s failed: %v", what, err)
			}
		}
		if strict {
			c.limit = waittest.Patience
		}
		callers.Go(func() { answered.Add(c.work(ctx)) })
	}
	return sync.OnceFunc(func() {
		cancel()
		callers.Wait()
		if answered.Load() == 0 {
			t.Error("no request was answered")
		}
	})
}

// work sends requests until ctx ends. It still repeats its last requests until they are answered. It returns the number
// of answered requests.
func (c *caller) work(ctx context.Context) (answered int64) {
	defer c.http.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		title := fmt.Sprintf("%s-%d", c.name, n)
		c.s.note(title, "")
		var item svc.WorkItem
		c.retry("creation of "+title, func(ctx context.Context) error {
			return c.call(ctx, http.MethodPost, "/work-items", title, api.CreateWorkItem{ProjectID: c.s.project, Kind: svc.KindTask, Title: title}, &item)
		})
		c.s.note(title, item.ID)
		var read svc.WorkItem
		c.retry("reading of "+title, func(ctx context.Context) error {
			return c.call(ctx, http.MethodGet, "/work-items/"+item.ID, "", nil, &read)
		})
		if read.Title != title {
			c.fails("reading of "+title, fmt.Errorf("it is titled %q", read.Title))
		}
		answered += 2
		proctest.Pause(30 * time.Millisecond) // limits the caller's rate
	}
	return answered
}

// retry repeats a request until it succeeds, for at most waittest.Patience. It passes each error to fails.
func (c *caller) retry(what string, try func(context.Context) error) {
	for deadline := time.Now().Add(waittest.Patience); ; {
		ctx, cancel := context.WithTimeout(context.Background(), c.limit)
		err := try(ctx)
		cancel()
		if err == nil {
			return
		}
		c.fails(what, err)
		if time.Now().After(deadline) {
			c.fails(what, fmt.Errorf("not answered within %v: %s", waittest.Patience, err.Error()))
			return
		}
		proctest.Pause(50 * time.Millisecond)
	}
}

// call sends one request without repeating it.
func (c *caller) call(ctx context.Context, method, path, key string, body, out any) error {
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+api.Prefix+path, sent)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.s.m.Front.Token())
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set(api.HeaderIdempotencyKey, key)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return errors.Join(api.ErrUnreachable, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= 300 {
		return svc.Errorf(codeOf(answer), "answered %d", answer.StatusCode)
	}
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		return errors.Join(api.ErrUnreachable, err)
	}
	return nil
}

// codeOf returns the error code of a response; empty if the response has no error envelope.
func codeOf(answer *http.Response) svc.Code {
	var e api.Envelope
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if json.NewDecoder(strings.NewReader(string(text))).Decode(&e) != nil {
		return ""
	}
	return e.Error.Code
}
