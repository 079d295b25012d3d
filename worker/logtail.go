package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"svc"
	"svc/rundir"
	"svc/wire"
)

// The polling intervals of a log: short while it grows, longer after it has been quiet for a while.
const (
	tailBusy  = 100 * time.Millisecond
	tailQuiet = 250 * time.Millisecond
	quietFrom = 20 // polls without new bytes
	// tornLooks is for how many polls an incomplete character at the end waits for its remaining bytes.
	tornLooks = 10
)

// run relays the log until ctx ends.
func (r *relay) run(ctx context.Context, uplink func() *link, warn func(error)) {
	idle, torn, complaint := 0, 0, ""
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		case <-r.wake:
		}
		idle++
		for l := uplink(); l != nil && ctx.Err() == nil; {
			n, err := r.step(l, torn >= tornLooks)
			if errors.Is(err, errTorn) {
				torn++
				break
			}
			if err != nil && err.Error() != complaint {
				complaint = err.Error()
				warn(err)
			}
			if n == 0 || err != nil {
				break
			}
			idle, torn = 0, 0
		}
		if l := uplink(); l != nil {
			r.sayEnd(l)
		}
		if idle < quietFrom {
			wait.Reset(tailBusy)
		} else {
			wait.Reset(tailQuiet)
		}
	}
}

// errTorn means that the unsent bytes are only the beginning of a character.
var errTorn = errors.New("the rest of a character is still to come")

// step sends one chunk if it may, and returns its length in bytes. force also sends an incomplete character.
func (r *relay) step(l *link, force bool) (int64, error) {
	size := r.size()
	if err := r.wasCut(size); err != nil {
		return 0, err
	}
	offset, most := r.next(l, size)
	if most <= 0 {
		return 0, nil
	}
	raw, err := r.read(offset, most)
	if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, rundir.ErrForeign) {
		if missing := r.lose(max(fileSize(r.path)-r.base, 0)); missing > 0 {
			return 0, fmt.Errorf("the log on this host has lost its last %d bytes: %w", missing, err)
		}
	}
	if err != nil {
		return 0, err
	}
	final := r.final(offset + int64(len(raw)))
	if !force && !final {
		raw = wire.WholeCharacters(raw)
		if len(raw) == 0 {
			return 0, errTorn
		}
	}
	times, to := r.timesOf(l, offset, offset+int64(len(raw)))
	raw = raw[:to-offset]
	n := int64(len(raw))
	if r.sending(l, offset, to) {
		chunk := r.chunk(l, offset, raw)
		chunk.Times = times
		l.out.push(laneLog, chunk, func() {
			chunk.Release()
			r.written(l)
		})
	}
	return n, nil
}

// timesOf returns when the bytes between two offsets were written. A chunk may carry a limited number of times,
// so it may only be sent up to the returned offset. A peer without log_ack gets no times.
func (r *relay) timesOf(l *link, from, to int64) ([]wire.LogTime, int64) {
	if !l.can(wire.CapLogAck) {
		return nil, to
	}
	return r.times.between(from, to)
}

// errCut means that a log is shorter than it was: its session owns the file and has truncated it.
var errCut = errors.New("the log was truncated: a part that was relayed is missing")

// wasCut returns errCut, once, when a log is shorter than what was relayed of it. The relay stays at its
// offset: relayed bytes stay at the orchestrator, and bytes that are written in their place are not sent.
func (r *relay) wasCut(size int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.cut
	r.cut = r.phase == phaseOpen && size < r.acked
	if r.cut && !before {
		return errCut
	}
	return nil
}

// sayEnd sends the log's final length when it is due, and a log_gone when a part of the log is missing on this
// host.
func (r *relay) sayEnd(l *link) {
	end, gone, now := r.tellEnd(l)
	if !now {
		return
	}
	l.out.push(laneLog, &wire.LogEnd{RunID: r.runID, Attempt: r.attempt, Bytes: end}, nil)
	if gone && l.can(wire.CapLogRead) {
		l.out.push(laneLog, &wire.LogGone{RunID: r.runID, Attempt: r.attempt}, nil)
	}
}

func (r *relay) read(offset, most int64) ([]byte, error) {
	f, err := rundir.OpenOwn(r.path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && r.file != nil && !os.SameFile(info, r.file) {
		err = fmt.Errorf("%w: another file is in the place of the log", rundir.ErrForeign)
	}
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	r.file = info
	raw := wire.NewLogText(int(most))
	n, err := f.ReadAt(raw, r.base+offset)
	if err != nil && (!errors.Is(err, io.EOF) || n == 0) {
		return nil, fmt.Errorf("read log at %d: %w", r.base+offset, err)
	}
	return raw[:n], nil
}

// final reports whether offset is the end of an ended attempt.
func (r *relay) final(offset int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end >= 0 && offset >= r.end
}

func (r *relay) chunk(l *link, offset int64, raw []byte) *wire.LogChunk {
	c := &wire.LogChunk{RunID: r.runID, Timestamp: svc.TimeOf(r.now()), Attempt: r.attempt, Bytes: len(raw)}
	if l.can(wire.CapLogAck) {
		c.Offset = &offset
	}
	if utf8.Valid(raw) {
		c.Text = raw
		return c
	}
	c.Text, c.Data = wire.LogText(replaceInvalid(raw)), raw
	return c
}

// replaceInvalid replaces each byte that is not part of a character by U+FFFD.
func replaceInvalid(raw []byte) string {
	var b strings.Builder
	for len(raw) > 0 {
		c, n := utf8.DecodeRune(raw)
		b.WriteRune(c) // utf8.RuneError is U+FFFD
		raw = raw[n:]
	}
	return b.String()
}
