package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"svc/api"
)

const (
	replayEvents = 100_000
	replayTurns  = 5
)

// replay measures one client that reads the whole journal over HTTP.
func replay(ctx context.Context, r *report) (err error) {
	g, err := newOwnRig(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if err := g.journal(ctx, replayEvents, ""); err != nil {
		return err
	}
	c, err := startChild(ctx, "replayer")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var rates []float64
	for range replayTurns {
		var took time.Duration
		if err := c.order(g.url, &took); err != nil {
			return err
		}
		rates = append(rates, replayEvents/took.Seconds())
	}
	r.atLeast("replay of 100,000 events to one client", median(rates), 50_000, " events/s")
	return nil
}

// replayer is the child process with the client.
func replayer(ctx context.Context, p pipe) error {
	for {
		var url string
		if err := p.ask(&url); err != nil {
			return err
		}
		took, err := readJournal(ctx, url)
		if err != nil {
			return err
		}
		if err := p.tell(took); err != nil {
			return err
		}
	}
}

// readJournal reads the journal from its first event and checks that no event is missing.
func readJournal(ctx context.Context, url string) (time.Duration, error) {
	began := time.Now()
	conn, err := dialStream(ctx, url, api.HeaderLastEventID+": 0\r\n")
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, 64<<10)
	for n := 0; n < replayEvents; {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, fmt.Errorf("after %d events: %w", n, err)
		}
		if after, ok := bytes.CutPrefix(line, idField); ok {
			n++
			if want := fmt.Sprint(n); string(bytes.TrimSpace(after)) != want {
				return 0, fmt.Errorf("got event %q, want %s", after, want)
			}
		}
	}
	return time.Since(began), nil
}
