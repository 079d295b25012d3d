package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc"
	"svc/tmux"
	"svc/wire"
)

// takePaste answers a request to paste a text into a session and to submit it. It is queued behind earlier
// input of that session. A repeated request pastes nothing and gets the result of the first one.
func (w *Worker) takePaste(l *link, f *wire.Paste) {
	if !w.keys.begin(f.RequestID, l) {
		return
	}
	if err := (svc.NewMessage{Text: f.Text, When: svc.MessageNow}).Validate(); err != nil {
		w.keysResult(l, f.RequestID, err)
		return
	}
	s := w.session(f.RunID, f.Attempt)
	if s == nil {
		w.keysResult(l, f.RequestID, fmt.Errorf("attempt %d of this run has no session on this host", f.Attempt))
		return
	}
	s.typing.do(func() {
		unknown, err := s.paste(w.ctx, f.Text)
		w.answerKeys(l, &wire.KeysResult{RequestID: f.RequestID, Unknown: unknown}, err)
	})
}

// submitPause is the pause between a paste and Enter: some programs treat an Enter that follows at once as a
// line end of the pasted text.
const submitPause = 300 * time.Millisecond

// paste sends a text to the session's program as one paste, and then Enter. If it returns an error, unknown
// reports that a part of the text may have reached the program.
func (s *session) paste(ctx context.Context, text string) (unknown bool, err error) {
	err = s.input(ctx, func(p place) error {
		err := p.server.Paste(ctx, p.pane, text)
		unknown = !errors.Is(err, tmux.ErrPaneDead) && !errors.Is(err, tmux.ErrNoServer)
		if err != nil {
			return err
		}
		select {
		case <-time.After(submitPause):
		case <-ctx.Done():
			return ctx.Err()
		}
		return p.server.SendKeys(ctx, p.pane, tmux.Enter)
	})
	return unknown && err != nil, err
}
