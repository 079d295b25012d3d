package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	"svc"
	"svc/config"
	"svc/rundir"
	"svc/wire"
)

// deliver posts the signals of one run in order. It stops at the first one that cannot be delivered now.
func (p *spooler) deliver(ctx context.Context, entries []rundir.Entry) error {
	for _, e := range entries {
		if err := p.deliverOverdue(ctx, key{e.RunID(), e.Attempt()}); err != nil {
			return err
		}
		if err := p.awaitTurn(ctx, e); err != nil {
			return err
		}
		if _, err := os.Stat(e.Path); errors.Is(err, fs.ErrNotExist) {
			continue // its hook delivered it, or an earlier delivery of the spooler
		}
		select {
		case p.slot <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := p.deliverOne(ctx, e)
		<-p.slot
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *spooler) deliverOne(ctx context.Context, e rundir.Entry) error {
	body, err := json.Marshal(e.Frame.Signal) // verbatim: attempt, seq and timestamp as emitted
	if err != nil {
		return fmt.Errorf("encode %s signal: %w", e.Kind(), err)
	}
	token, known := p.tokenOf(e)
	if !known {
		p.w.log.Error("a signal without the run's own token was set aside", "run_id", e.RunID(), "attempt", e.Attempt(), "kind", e.Kind())
		return p.w.dir.Reject(e)
	}
	before, relayAgain := p.relayedBefore(e)
	answer, err := p.w.postSignal(ctx, token, "/api/internal/runs/"+e.RunID()+"/signals", body, before)
	var no *refused
	if errors.As(err, &no) && no.status == http.StatusServiceUnavailable {
		relayAgain()
	}
	switch {
	case err == nil:
		p.w.log.Debug("signal delivered", "run_id", e.RunID(), "attempt", e.Attempt(), "kind", e.Kind(), "answer", string(answer))
		err = p.w.dir.Done(e)
	case errors.As(err, &no) && (no.forGood() || token != p.w.opts.Token && no.status == http.StatusUnauthorized):
		p.w.log.Error("a signal was refused for good and set aside",
			"run_id", e.RunID(), "attempt", e.Attempt(), "kind", e.Kind(), "error", err)
		err = p.w.dir.Reject(e)
	default:
		return fmt.Errorf("deliver %s signal of attempt %d: %w", e.Kind(), e.Attempt(), err)
	}
	if err != nil {
		return err
	}
	p.forget(e.Path)
	p.w.clearLate(p.w.dir.Attempt(e.RunID(), e.Attempt()))
	if terminal(e) {
		if s := p.w.session(e.RunID(), e.Attempt()); s != nil {
			s.endReported()
		}
	}
	return nil
}

// repeatAfter is how long a signal waits for its answer before it is sent a second time.
const repeatAfter = 4 * time.Second

// postSignal posts a signal like postAs. If it is not answered for repeatAfter, it is sent again on another connection, and
// the first success counts: the path of the first may be broken, or lead to an orchestrator that is frozen, which takes
// connections but answers nothing. The orchestrator counts a signal once, however often it comes.
func (w *Worker) postSignal(ctx context.Context, token config.Secret, path string, body []byte, headers ...http.Header) ([]byte, error) {
	type answer struct {
		body []byte
		err  error
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, 2)
	send := func() {
		got, err := w.postAs(ctx, token, path, body, headers...)
		answers <- answer{got, err}
	}
	sending.Go(send)
	again := time.NewTimer(repeatAfter)
	defer again.Stop()
	for open := 1; ; {
		select {
		case <-again.C:
			open++
			sending.Go(send)
		case a := <-answers:
			if open--; a.err == nil || open == 0 {
				return a.body, a.err
			}
		}
	}
}

// tokenOf returns the token that a signal is delivered with. What a session reports is sent with the run's own
// token, which the signal must carry. The worker's token is used only for what the worker has verified itself:
// the start and the end, which wait until they are true (awaitTurn). It returns false when the signal does not
// carry the run's token although it must.
func (p *spooler) tokenOf(e rundir.Entry) (config.Secret, bool) {
	s := p.w.session(e.RunID(), e.Attempt())
	vouched := p.w.dir.OwnWord(e) && (terminal(e) || e.Kind() == svc.SignalStarted)
	if s != nil && s.tokenHash != "" && svc.SecretHash(e.Token) != s.tokenHash && !vouched {
		return "", false
	}
	if e.Token == "" || e.Frame.Source == svc.FromWrapper {
		return p.w.opts.Token, true
	}
	return config.Secret(e.Token), true
}

// forGood reports whether the same signal would be refused again. Only a refusal by the orchestrator itself is
// permanent: an answer without its envelope has no code.
func (r *refused) forGood() bool { return r.status < 500 && wire.Refusal{Code: r.code}.ForGood() }

// gatePoll is how often a report that is held back checks whether it may be sent.
const gatePoll = 50 * time.Millisecond

// awaitTurn holds the reports of the start and of the end back until they are true for every reader.
func (p *spooler) awaitTurn(ctx context.Context, e rundir.Entry) error {
	switch {
	case terminal(e):
		return p.awaitLog(ctx, e)
	case e.Kind() == svc.SignalStarted:
		return p.awaitSession(ctx, e)
	}
	return nil
}

// sessionHold is how long the report of the start waits at most.
const sessionHold = 3 * time.Second

// awaitSession holds the report of the start back until the session can be reached. The wrapper starts before
// tmux has reported the session, and a client that reads that a run is running may type into it.
func (p *spooler) awaitSession(ctx context.Context, e rundir.Entry) error {
	limit := time.NewTimer(sessionHold)
	defer limit.Stop()
	tick := time.NewTicker(gatePoll)
	defer tick.Stop()
	for {
		if s := p.w.session(e.RunID(), e.Attempt()); s == nil || s.where().process.PID != 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C: // a session that has ended, or whose terminal is gone
			return nil
		case <-tick.C:
		}
	}
}

// awaitLog holds the report of the end back until the orchestrator has the log, so that a client that reads
// that a run has finished can read all of its log. Logs are sent on the uplink, so awaitLog also waits for an
// uplink. The report is sent without the log only when the orchestrator answers but has taken none of the log
// for LogHold.
func (p *spooler) awaitLog(ctx context.Context, e rundir.Entry) error {
	tick := time.NewTicker(gatePoll)
	defer tick.Stop()
	defer p.gate(e.RunID(), false)
	var on *link
	var since time.Time
	for !p.mayReport(e) {
		s, l := p.w.session(e.RunID(), e.Attempt()), p.w.uplink()
		if l != on {
			on, since = l, time.Now()
		}
		// A large log must not keep the host from its first heartbeat.
		p.gate(e.RunID(), s != nil && (!s.isConcluded() || time.Since(since) > p.w.opts.LogHold))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
