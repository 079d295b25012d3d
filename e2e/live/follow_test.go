package live

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// followedLog is the text that a follower of a log received, and the error with which it ended.
type followedLog struct {
	text []byte
	err  error
}

// follow follows a log in the background. The client reconnects by itself.
func (s *site) follow(runID string) <-chan followedLog {
	s.t.Helper()
	body, err := s.client.Logs(s.t.Context(), runID, api.LogOptions{Follow: true})
	if err != nil {
		s.t.Fatal(err)
	}
	return readAll(body)
}

// followOnce follows a run's log with a single HTTP request, which is not repeated.
func (s *site) followOnce(runID string) <-chan followedLog {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.client.BaseURL+"/api/v1/runs/"+runID+"/logs?follow=true", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.client.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return readAll(res.Body)
}

func readAll(body io.ReadCloser) <-chan followedLog {
	done := make(chan followedLog, 1)
	go func() {
		text, err := io.ReadAll(body)
		_ = body.Close()
		done <- followedLog{text, err}
	}()
	return done
}

func (s *site) ended(done <-chan followedLog) followedLog {
	s.t.Helper()
	select {
	case f := <-done:
		return f
	case <-time.After(waittest.Patience):
		s.t.Fatal("the follower does not end")
		return followedLog{}
	}
}

func TestAFollowedLogGoesOnOverAttemptsAndEndsWithTheLast(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	id := s.run("seq 1 5000; echo attempt $SVC_ATTEMPT; [ $SVC_ATTEMPT = 2 ]",
		func(b *api.CreateRun) { b.RestartPolicy = api.Some(svc.RestartOnFailure) })
	f := s.ended(s.follow(id))
	var once strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&once, "%d\r\n", i+1)
	}
	want := once.String() + "attempt 1\r\n" + once.String() + "attempt 2\r\n"
	if f.err != nil || string(f.text) != want {
		t.Errorf("the follower got %d bytes, want %d, and the end %v", len(f.text), len(want), f.err)
	}
	s.wantLog(id, []byte(want))
}

func TestAFollowedLogSurvivesAnAwayHostAndAStalledReaderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	gate := s.lab.Path("gate")
	id := s.run(program("write", "long lines", gate) + "; :")
	// The stalled reader does not read: the buffers of its connection are soon full.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stalled, err := s.client.Logs(ctx, id, api.LogOptions{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stalled.Close() }()
	follower := s.follow(id)
	s.uplink.Set(proctest.Weather{Refuse: true}) // the host is disconnected, and its program continues
	s.uplink.Cut()
	s.open(gate)
	proctest.Pause(shortOrLong(time.Second, 20*time.Second))
	select {
	case f := <-follower:
		t.Fatalf("the follower ended while the host was away, after %d bytes: %v", len(f.text), f.err)
	default:
	}
	if got := s.relayed(id); !bytes.HasPrefix(scenes["long lines"].terminal(), got) {
		t.Error("the log that is served while the host is away is not a prefix of the whole log")
	}
	s.uplink.Set(proctest.Weather{})
	want := scenes["long lines"].terminal()
	if f := s.ended(follower); f.err != nil || !bytes.Equal(f.text, want) {
		t.Errorf("the follower got %d bytes, want %d, and the end %v", len(f.text), len(want), f.err)
	}
	s.awaitEnd(id)
	s.wantLog(id, want)
	if text, err := io.ReadAll(stalled); err != nil || !bytes.Equal(text, want) {
		t.Errorf("the stalled reader got %d bytes in the end, want %d: %v", len(text), len(want), err)
	}
}

func TestAFollowedLogThatTheOrchestratorsDeathCutsGoesOnAndNeverLooksComplete(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	gate := s.lab.Path("gate")
	id := s.run(program("lines", "50ms", gate))
	follower, once := s.follow(id), s.followOnce(id)
	s.awaitLog(id, "line 5\r\n")
	s.o.Kill()
	if f := s.ended(once); f.err == nil {
		t.Error("an interrupted response ended without an error")
	}
	s.o.Start()
	s.open(gate)
	s.awaitEnd(id)
	if f := s.ended(follower); f.err != nil || !bytes.Equal(f.text, s.relayed(id)) {
		t.Errorf("the follower got %d bytes and the end %v", len(f.text), f.err)
	}
}
