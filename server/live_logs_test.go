package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/internal/waittest"
)

func TestLogsAreServedAsAsked(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run, restarted, silent := s.newRun(svc.RunExited), s.newRun(svc.RunRunning), s.newRun(svc.RunPending)
	raw := "\x1b[1;32mgreen\x1b[0m\rover\r\n\x1b]0;title\x07no newline"
	s.append(run, 1, raw)
	s.append(restarted, 1, "one\ntwo\n")
	s.append(restarted, 2, "three\nfour\n")
	for _, tt := range []struct{ name, path, want string }{
		{"raw is the default", run.ID + "/logs", raw},
		{"raw", run.ID + "/logs?format=raw", raw},
		{"text", run.ID + "/logs?format=text", "green\rover\nno newline"},
		{"all attempts", restarted.ID + "/logs", "one\ntwo\nthree\nfour\n"},
		{"one attempt", restarted.ID + "/logs?attempt=1", "one\ntwo\n"},
		{"an attempt that is not there", restarted.ID + "/logs?attempt=3", ""},
		{"the last lines", restarted.ID + "/logs?tail=3", "two\nthree\nfour\n"},
		{"no lines", restarted.ID + "/logs?tail=0", ""},
		{"more lines than there are", restarted.ID + "/logs?tail=100&attempt=2", "three\nfour\n"},
		{"no log yet", silent.ID + "/logs", ""},
	} {
		a := s.get("/runs/" + tt.path)
		if a.status != http.StatusOK || a.body != tt.want || a.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %d %q %q", tt.name, a.status, a.header.Get("Content-Type"), a.body)
		}
	}
}

func TestBadLogQueriesAreRefusedByName(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	for query, field := range map[string]string{
		"format=html": "format", "tail=x": "tail", "tail=-1": "tail", "attempt=x": "attempt", "attempt=0": "attempt", "follow=maybe": "follow",
	} {
		a := s.get("/runs/" + run.ID + "/logs?" + query)
		if a.status != http.StatusBadRequest || a.code() != "validation_failed" || !strings.Contains(a.body, field) {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	if a := s.get("/runs/nope/logs"); a.status != http.StatusNotFound {
		t.Errorf("unknown run: %d", a.status)
	}
}

func TestABigLogAnswersRanges(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunExited)
	s.append(run, 1, strings.Repeat("0123456789", 1000))
	a := s.get("/runs/"+run.ID+"/logs", "Range", "bytes=9995-")
	if a.status != http.StatusPartialContent || a.body != "56789" || a.header.Get("Content-Range") != "bytes 9995-9999/10000" {
		t.Errorf("%d %q %q", a.status, a.body, a.header.Get("Content-Range"))
	}
}

// followLogs reads a followed log line by line in the background.
func (s *liveStage) followLogs(path string) (lines <-chan string, ended <-chan error) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	s.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	res, err := s.server.Client().Do(req) // returns after the header, before any output
	if err != nil {
		s.Fatal(err)
	}
	out, end := make(chan string, 1000), make(chan error, 1)
	go func() {
		defer res.Body.Close()
		scan := bufio.NewScanner(res.Body)
		for scan.Scan() {
			out <- scan.Text()
		}
		end <- scan.Err()
	}()
	return out, end
}

func wantLine(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	select {
	case got := <-lines:
		if got != want {
			t.Errorf("got line %q, want %q", got, want)
		}
	case <-time.After(waittest.Patience):
		t.Fatalf("line %q did not come", want)
	}
}

func wantEnd(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(waittest.Patience):
		t.Fatal("the log did not end")
		return nil
	}
}

func TestAFollowedLogStreamsUntilTheSessionEnds(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	lines, ended := s.followLogs("/runs/" + run.ID + "/logs?follow=true")
	for _, line := range []string{"early", "live", "later"} {
		s.append(run, 1, line+"\n")
		wantLine(t, lines, line)
	}
	tail, tailEnded := s.followLogs("/runs/" + run.ID + "/logs?follow=true&tail=1&format=text")
	wantLine(t, tail, "later")
	run.Status = svc.RunStopped // its session is still alive
	s.setRun(run)
	s.hub.Relay.Ended(run.ID)
	s.append(run, 1, "\x1b[1mdying\x1b[0m\n")
	wantLine(t, lines, "\x1b[1mdying\x1b[0m")
	wantLine(t, tail, "dying")
	s.append(run, 1, "last words\n")
	s.ends(run)
	wantLine(t, lines, "last words")
	wantLine(t, tail, "last words")
	for _, e := range []<-chan error{ended, tailEnded} {
		if err := wantEnd(t, e); err != nil {
			t.Errorf("ended with %v", err)
		}
	}
	again, ended := s.followLogs("/runs/" + run.ID + "/logs?follow=true&tail=1")
	wantLine(t, again, "last words")
	if err := wantEnd(t, ended); err != nil {
		t.Errorf("a follow after the end: %v", err)
	}
}

func TestAFollowedLogGoesOnThroughRestartsAndOneAttemptDoesNot(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	all, allEnded := s.followLogs("/runs/" + run.ID + "/logs?follow=true")
	first, firstEnded := s.followLogs("/runs/" + run.ID + "/logs?follow=true&attempt=1")
	s.append(run, 1, "one\n")
	wantLine(t, all, "one")
	wantLine(t, first, "one")
	run.Attempt, run.Status = 2, svc.RunPending
	s.setRun(run)
	s.hub.Relay.Ended(run.ID)
	if err := wantEnd(t, firstEnded); err != nil {
		t.Error(err)
	}
	s.append(run, 2, "two\n")
	wantLine(t, all, "two")
	s.ends(run)
	if err := wantEnd(t, allEnded); err != nil {
		t.Error(err)
	}
}

func TestAFollowedLogThatAShutdownCutsDoesNotLookComplete(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	s.append(run, 1, "x\n")
	lines, ended := s.followLogs("/runs/" + run.ID + "/logs?follow=true")
	wantLine(t, lines, "x")
	s.close()
	if err := wantEnd(t, ended); err == nil {
		t.Error("the log ended as if the session had")
	}
}

func TestALogWhoseReaderDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"", "?follow=true", "?format=text", "?tail=1000000"} {
		t.Run("logs"+query, func(t *testing.T) {
			t.Parallel()
			s := newLiveStage(t)
			s.live.stall = 200 * time.Millisecond
			run := s.newRun(svc.RunRunning)
			s.append(run, 1, strings.Repeat(strings.Repeat("x", 99)+"\n", 160_000)) // more than the buffers of a socket hold
			ended := make(chan struct{})
			mux := http.NewServeMux()
			mux.HandleFunc("GET /runs/{id}/logs", func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				s.live.Logs(w, r)
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			c, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintf(c, "GET /runs/%s/logs%s HTTP/1.1\r\nHost: x\r\n\r\n", run.ID, query); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
			case <-time.After(waittest.Patience):
				t.Error("the reader is waited for without end")
			}
		})
	}
}

// A client that reads is not disconnected, no matter how long the log is idle.
func TestAQuietLogThatIsFollowedIsNotCutOff(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	s.live.stall = 50 * time.Millisecond
	run := s.newRun(svc.RunRunning)
	s.append(run, 1, "one\n")
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.server.URL+"/runs/"+run.ID+"/logs?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || lines.Text() != "one" {
		t.Fatalf("first %q (%v)", lines.Text(), lines.Err())
	}
	clocktest.Pause(4 * s.live.stall) // idle for longer than a write may take
	s.append(run, 1, "two\n")
	if !lines.Scan() || lines.Text() != "two" {
		t.Fatalf("then %q (%v)", lines.Text(), lines.Err())
	}
}
