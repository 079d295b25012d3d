package api

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"svc"
)

// followedLog is a log that is requested again from the byte at which it broke off.
type followedLog struct {
	ctx  context.Context //nolint:containedctx // of the call that the reader belongs to
	c    *Client
	id   string
	o    LogOptions
	body io.ReadCloser
	from string // the start position of the first response
	read int64  // bytes of the log after from that were read or skipped
}

// Read reads the next bytes. It returns io.EOF when the session has ended, and an error when the orchestrator refuses
// to continue.
func (f *followedLog) Read(p []byte) (int, error) {
	for {
		n, err := f.body.Read(p)
		f.read += int64(n)
		switch {
		case n > 0 || err == nil:
			return n, nil
		case errors.Is(err, io.EOF) || svc.CodeOf(err) == svc.CodeLogGone:
			return 0, err
		case f.ctx.Err() != nil:
			return 0, f.ctx.Err()
		}
		if err := f.again(err); err != nil {
			return 0, err
		}
	}
}

// Close closes the current response.
func (f *followedLog) Close() error { return f.body.Close() }

// again opens the log after the last byte that was read, with retries until the orchestrator can be reached.
func (f *followedLog) again(err error) error {
	_ = f.body.Close() // it broke off
	o := f.o
	o.Tail, o.From, o.Skip = nil, f.from, f.read
	for wait := reconnectFirst; ; wait = min(2*wait, reconnectMost) {
		if f.o.Lost != nil {
			f.o.Lost(err)
		}
		select {
		case <-f.ctx.Done():
			return f.ctx.Err()
		case <-time.After(wait/2 + rand.N(wait/2)): //nolint:gosec // jitter is no secret
		}
		var body io.ReadCloser
		if body, _, err = f.c.openLog(f.ctx, f.id, o); err == nil {
			f.body = body
			if f.o.Lost != nil {
				f.o.Lost(nil)
			}
			return nil
		}
		if f.ctx.Err() != nil {
			return f.ctx.Err()
		}
		if refused(err) {
			return err
		}
	}
}
