package engine

import (
	"context"
	"sync"
	"time"

	"svc"
	"svc/hub"
	"svc/wire"
)

// How a log is fetched from its host.
const (
	fetchPoll  = 50 * time.Millisecond
	fetchAgain = 2 * time.Second  // then the request is repeated: the host may have been about to forget the attempt
	fetchStall = 10 * time.Second // if no byte arrives for this long, the fetch ends
)

// goneBook tracks attempts for which a caller waits for data of the host, and whether the host reported that it has
// none.
type goneBook struct {
	mu   sync.Mutex // guards the rest
	gone map[attemptKey]*awaited
}

type awaited struct {
	waiting int
	gone    bool
}

func newGoneBook() *goneBook { return &goneBook{gone: map[attemptKey]*awaited{}} }

func (b *goneBook) wait(k attemptKey) (isGone func() bool, done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.gone[k]
	if g == nil {
		g = &awaited{}
		b.gone[k] = g
	}
	g.waiting++
	isGone = func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return g.gone
	}
	return isGone, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if g.waiting--; g.waiting == 0 {
			delete(b.gone, k)
		}
	}
}

func (b *goneBook) markGone(k attemptKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g := b.gone[k]; g != nil {
		g.gone = true
	}
}

// LogOf fetches the log of an attempt as far as possible. The error means that the local copy is missing or not
// complete: log_gone when nobody has the rest, host_not_connected when the host that may have it is away, unavailable
// when the host does not send it. A log that may still grow is not fetched.
func (e *Engine) LogOf(ctx context.Context, r svc.Run, attempt int) error {
	k := attemptKey{r.ID, attempt}
	have, err := e.Hub.Relay.State(r.ID, attempt)
	if err != nil || have.Complete() || !e.attemptEnded(r, attempt) {
		return err
	}
	link, connected := e.Hub.Uplinks.Of(r.HostOf(attempt))
	if !connected || !link.Has(wire.CapLogRead) {
		return e.judgeLog(ctx, r, attempt, have, connected, false)
	}
	isGone, done := e.logs.wait(k)
	defer done()
	_ = link.Send(wire.LogRead{RunID: r.ID, Attempt: attempt})
	tick := time.NewTicker(fetchPoll)
	defer tick.Stop()
	moved, asked := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		now, err := e.Hub.Relay.State(r.ID, attempt)
		if err != nil || now.Complete() {
			return err
		}
		if now.Size != have.Size {
			have, moved = now, time.Now()
		}
		if min(time.Since(moved), time.Since(asked)) > fetchAgain {
			asked = time.Now()
			_ = link.Send(wire.LogRead{RunID: r.ID, Attempt: attempt})
		}
		if isGone() {
			return e.judgeLog(ctx, r, attempt, now, true, true)
		}
		if time.Since(moved) > fetchStall {
			return svc.Errorf(svc.CodeUnavailable, "the host of run %s does not send the log of attempt %d; try again", r.ID, attempt)
		}
	}
}

// attemptEnded reports whether an attempt writes no more output.
func (e *Engine) attemptEnded(r svc.Run, attempt int) bool {
	return attempt < r.Attempt || attempt == r.Attempt && !r.Status.Active() && r.SessionEndedAt != nil
}

// judgeLog decides whether a log that cannot be fetched is complete. A log of unknown length counts as complete,
// unless the run's row or the journal shows otherwise.
func (e *Engine) judgeLog(ctx context.Context, r svc.Run, attempt int, have hub.LogState, connected, asked bool) error {
	lacks, err := e.lacksLog(ctx, r, attempt, have, asked)
	switch {
	case err != nil || !lacks:
		return err
	case !connected && r.HostOf(attempt) != "":
		return svc.Errorf(svc.CodeHostNotConnected,
			"the log of attempt %d of run %s is not here, and its host is not connected; try again when it is back", attempt, r.ID)
	default:
		return svc.Errorf(svc.CodeLogGone, "the log of attempt %d of run %s is gone: neither the orchestrator nor the host has it", attempt, r.ID)
	}
}

// lacksLog reports whether more was written than is stored here. asked means that the host was asked and has nothing.
func (e *Engine) lacksLog(ctx context.Context, r svc.Run, attempt int, have hub.LogState, asked bool) (bool, error) {
	switch {
	case have.End >= 0:
		return have.End > have.Size, nil
	case attempt == r.Attempt && r.OutputBytes >= 0:
		return r.OutputBytes > have.Size, nil
	case have.Exists || r.LastOutputAt == nil || !asked && e.Hub.Relay.Has(r.ID):
		return false, nil
	}
	return e.hasBegun(ctx, r.ID, attempt)
}
