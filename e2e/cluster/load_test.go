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
)

// passing says of an error that the same request may be answered in a moment.
func passing(err error) bool {
	switch svc.CodeOf(err) {
	case svc.CodeUnavailable, svc.CodeReplicaUnreachable:
		return true
	}
	return errors.Is(err, api.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)
}

// caller sends requests that may be repeated, one after the other, and repeats none by itself.
type caller struct {
	s     *site
	url   string
	name  string
	http  *http.Client
	limit time.Duration // of one try
	fails func(what string, err error)
}

// load keeps callers busy at the balancer until stop is called. Each creates items under keys of their own and reads what it created. Of strict ones not
// one request may fail; of others it may be a passing failure, and they repeat it.
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
			if strict || !passing(err) {
				t.Errorf("%s failed: %v", what, err)
			}
		}
		if strict {
			c.limit = proctest.Patience
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

// work goes on until ctx ends; what was begun then is still brought to its answer.
func (c *caller) work(ctx context.Context) (answered int64) {
	defer c.http.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		title := fmt.Sprintf("%s-%d", c.name, n)
		c.s.note(title, "")
		var item svc.WorkItem
		c.insist("creation of "+title, func(ctx context.Context) error {
			return c.call(ctx, http.MethodPost, "/work-items", title, api.CreateWorkItem{ProjectID: c.s.project, Kind: svc.KindTask, Title: title}, &item)
		})
		c.s.note(title, item.ID)
		var read svc.WorkItem
		c.insist("reading of "+title, func(ctx context.Context) error {
			return c.call(ctx, http.MethodGet, "/work-items/"+item.ID, "", nil, &read)
		})
		if read.Title != title {
			c.fails("reading of "+title, fmt.Errorf("it is titled %q", read.Title))
		}
		answered += 2
		proctest.Pause(30 * time.Millisecond) // the pace of a caller
	}
	return answered
}

// insist repeats a request until it is answered.
func (c *caller) insist(what string, try func(context.Context) error) {
	for deadline := time.Now().Add(proctest.Patience); ; {
		ctx, cancel := context.WithTimeout(context.Background(), c.limit)
		err := try(ctx)
		cancel()
		if err == nil {
			return
		}
		c.fails(what, err)
		if time.Now().After(deadline) {
			c.fails(what, fmt.Errorf("it was not answered in %v: %s", proctest.Patience, err.Error()))
			return
		}
		proctest.Pause(50 * time.Millisecond)
	}
}

// call sends one request, once.
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

// codeOf is the code of a refusal; empty: it is none.
func codeOf(answer *http.Response) svc.Code {
	var e api.Envelope
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if json.NewDecoder(strings.NewReader(string(text))).Decode(&e) != nil {
		return ""
	}
	return e.Error.Code
}
