package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/api"
	"svc/internal/clocktest"
)

// serve returns a client of a server with the handler h.
func serve(t *testing.T, h http.HandlerFunc) *api.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &api.Client{BaseURL: s.URL, Token: "secret", HTTP: s.Client()}
}

func TestARefusalComesBackAsTheErrorItWas(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"error":{"code":"run_not_active","message":"run is exited","details":{"status":"exited"}}}`)
	})
	_, err := c.StopRun(t.Context(), "x")
	var e *svc.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an svc.Error", err)
	}
	if e.Code != svc.CodeRunNotActive || e.Message != "run is exited" || e.Details["status"] != "exited" {
		t.Errorf("got %+v", e)
	}
}

func TestAnAnswerThatIsNotTheAPIsIsToldApart(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) })
	if _, err := c.Project(t.Context(), "x"); svc.CodeOf(err) != svc.CodeUnavailable {
		t.Errorf("got %v, want code unavailable", err)
	}
}

func TestNobodyListeningIsUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &api.Client{BaseURL: "http://" + l.Addr().String()}
	_ = l.Close()
	if _, err := c.Project(t.Context(), "x"); !errors.Is(err, api.ErrUnreachable) {
		t.Errorf("got %v, want ErrUnreachable", err)
	}
}

func TestACreateThatLosesItsAnswerIsSentAgainWithTheSameKey(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var keys []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		keys = append(keys, r.Header.Get(api.HeaderIdempotencyKey))
		n := len(keys)
		mu.Unlock()
		if n == 1 {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"id":"p1"}`)
	})
	p, err := c.CreateProject(t.Context(), api.CreateProject{Name: "x"})
	if err != nil || p.ID != "p1" {
		t.Fatalf("got %+v, %v", p, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("got keys %q, want one key twice", keys)
	}
}

func TestAPatchIsNotSentTwice(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	c := serve(t, func(http.ResponseWriter, *http.Request) {
		calls.Add(1)
		panic(http.ErrAbortHandler)
	})
	_, err := c.UpdateProject(t.Context(), "x", api.PatchProject{Name: api.Some("y")})
	if !errors.Is(err, api.ErrUnreachable) || calls.Load() != 1 {
		t.Errorf("got %v after %d calls, want ErrUnreachable after one", err, calls.Load())
	}
}

func TestAWalkReadsEveryPage(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("cursor") {
		case "":
			fmt.Fprint(w, `{"items":[{"id":"a"},{"id":"b"}],"next_cursor":"two"}`)
		case "two":
			fmt.Fprint(w, `{"items":[{"id":"c"}],"next_cursor":null}`)
		}
	})
	got := ""
	for p, err := range c.AllProjects(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got += p.ID
	}
	if got != "abc" {
		t.Errorf("got %s, want abc", got)
	}
}

func TestAStreamThatBreaksResumesBehindItsLastMessage(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var cursors []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == api.Prefix+"/events" {
			fmt.Fprint(w, `{"items":[{"seq":40,"topic":"run.created","payload":{}}],"next_cursor":"x"}`)
			return
		}
		last := r.Header.Get(api.HeaderLastEventID)
		cursors = append(cursors, last)
		var n int
		_, _ = fmt.Sscan(last, &n)
		fmt.Fprintf(w, "id: %d\nevent: run.started\ndata: {\"n\":%d}\n\n", n+1, n+1)
		fmt.Fprintf(w, "id: %d\nevent: run.fin", n+2) // cut in the middle
	})
	enough := errors.New("enough")
	var got []int64
	err := c.Stream(t.Context(), api.StreamOptions{EventFilter: svc.EventFilter{Topics: svc.Globs{"run.*"}}}, func(m api.Message) error {
		var data struct{ N int64 }
		if err := json.Unmarshal(m.Data, &data); err != nil {
			return err
		}
		if got = append(got, m.Seq); m.Seq != data.N {
			t.Errorf("message %d carries the data of %d", m.Seq, data.N)
		}
		if len(got) == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("got %v, want the handler's own error", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(got) != "[41 42 43]" || strings.Join(cursors, " ") != "40 41 42" {
		t.Errorf("got messages %v at cursors %v", got, cursors)
	}
}

func TestAStreamThatIsRefusedEnds(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"code":"unauthorized","message":"no"}}`)
	})
	after := int64(0)
	err := c.Stream(context.Background(), api.StreamOptions{After: &after}, func(api.Message) error { return nil })
	if svc.CodeOf(err) != svc.CodeUnauthorized {
		t.Errorf("got %v, want unauthorized", err)
	}
}

// A frozen orchestrator and a broken network path send nothing: the client closes such a connection and opens
// another.
func TestAStreamThatFallsSilentIsOpenedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		after, opened := int64(7), 0
		c := &api.Client{BaseURL: "http://x", HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			opened++
			again := opened > 1
			if r.URL.Query().Get("heartbeat") != "5s" || r.URL.Query().Get("run_id") != "r" {
				t.Errorf("asked for %s", r.URL)
			}
			body, feed := io.Pipe()
			go func() {
				for range 3 {
					clocktest.Pass(5 * time.Second)
					_, _ = io.WriteString(feed, ":\n\n")
				}
				if again {
					_, _ = io.WriteString(feed, "id: 8\nevent: run.started\ndata: {}\n\n")
				}
			}()
			return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
		})}}
		enough := errors.New("enough")
		lost := 0
		began := time.Now()
		err := c.Stream(t.Context(), api.StreamOptions{EventFilter: svc.EventFilter{Subjects: svc.Subjects{RunID: "r"}}, After: &after,
			Lost: func(err error) {
				if err != nil {
					lost++
				}
			}}, func(m api.Message) error {
			if m.Seq != 8 || m.Topic != "run.started" {
				t.Errorf("got %+v", m)
			}
			return enough
		})
		if took := time.Since(began); !errors.Is(err, enough) || opened != 2 || lost != 1 || took < 45*time.Second || took > 50*time.Second {
			t.Errorf("%v after %v, %d connections, lost %d; want the second after three missed heartbeats", err, took, opened, lost)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
