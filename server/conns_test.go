package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/clocktest"
)

// hold opens n connections without sending anything and waits until the server has closed the given number of them.
// release closes the others.
func hold(t *testing.T, address string, n, ended int) (release func()) {
	t.Helper()
	closed := make(chan struct{}, n)
	var all []net.Conn
	for range n {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		all = append(all, c)
		go func() {
			_, _ = io.ReadAll(c)
			closed <- struct{}{}
		}()
	}
	for i := range ended {
		select {
		case <-closed:
		case <-time.After(headerTimeout / 2): // without the limit they end after headerTimeout
			t.Fatalf("%d of %d silent connections were ended, want %d", i, n, ended)
		}
	}
	return func() {
		for _, c := range all {
			_ = c.Close()
		}
	}
}

func TestAnAddressHasFewConnectionsWithoutAToken(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	address, stop := g.start()
	g.URL = "http://" + address.String()
	known := &http.Client{Transport: &http.Transport{}}
	ask := func() {
		t.Helper()
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+"/api/v1/me", nil)
		request.Header.Set("Authorization", "Bearer "+userToken)
		answer, err := known.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	ask() // an accepted token removes the connection from the limit
	release := hold(t, address.String(), mostAnonymous+50, 50)
	g.endpoint.conns.mu.Lock()
	knownConns := 0
	for _, x := range g.endpoint.conns.conns {
		if x.known {
			knownConns++
		}
	}
	g.endpoint.conns.mu.Unlock()
	if knownConns != 1 {
		t.Errorf("%d connections with a token are left, want 1", knownConns)
	}
	ask()
	release()
	known.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestTheConnectionBookCountsEveryConnectionOnce(t *testing.T) {
	t.Parallel()
	b := newConnTracker(mostAnonymous)
	var conns []net.Conn
	for range mostIdle + 10 {
		here, there := net.Pipe()
		t.Cleanup(func() { _ = here.Close(); _ = there.Close() })
		x := b.add(here)
		Accepted(context.WithValue(t.Context(), clientConnKey{}, x))
		conns = append(conns, here)
	}
	for _, c := range conns {
		b.changed(c, http.StateActive)
	}
	for _, c := range conns {
		b.changed(c, http.StateIdle)
	}
	if b.idle.Len() > mostIdle || len(b.conns) != b.idle.Len() || len(b.anonymous) != 0 {
		t.Errorf("%d of %d are idle, %d addresses have anonymous ones", b.idle.Len(), len(b.conns), len(b.anonymous))
	}
	for _, c := range conns {
		b.changed(c, http.StateClosed)
	}
	if b.idle.Len() != 0 || len(b.conns) != 0 {
		t.Errorf("%d are left, %d idle", len(b.conns), b.idle.Len())
	}
}

func TestAConnectionThatWasJustOpenedIsNotEndedForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newConnTracker(mostIdle + 2)
		open := func() net.Conn {
			here, there := net.Pipe()
			t.Cleanup(func() { _ = here.Close(); _ = there.Close() })
			b.add(here)
			return here
		}
		served := open()
		b.changed(served, http.StateActive)
		silent := open()
		clocktest.Pass(sendsWithin + time.Second)
		for range mostIdle {
			open() // its request is on its way
		}
		isOpen := func(c net.Conn) bool { return b.conns[c] != nil }
		b.changed(served, http.StateIdle)
		if isOpen(silent) || !isOpen(served) {
			t.Errorf("of %d that wait, the one without a request is open: %v, the one that had one: %v; want only the latter", b.idle.Len(), isOpen(silent), isOpen(served))
		}
		b.changed(served, http.StateActive)
		open()
		b.changed(served, http.StateIdle)
		if isOpen(served) || b.idle.Len() != mostIdle+1 {
			t.Errorf("%d wait, the one that had a request is open: %v; want it closed", b.idle.Len(), isOpen(served))
		}
	})
}
