package worker

import (
	"context"
	"errors"
	"fmt"

	"svc/tmux"
	"svc/wire"
)

// judgeKeys turns the elements of a request into what is typed, or names the
// first element that is not allowed. The worker is the judge: nothing that
// could be more than a word, Enter or an interrupt reaches a session this way.
func judgeKeys(keys []string) ([]string, error) {
	if len(keys) == 0 {
		return nil, errors.New("there is no key to send")
	}
	typed := make([]string, len(keys))
	for i, key := range keys {
		switch {
		case key == "Enter":
			typed[i] = tmux.Enter
		case key == "Ctrl+C":
			typed[i] = tmux.CtrlC
		case alphanumeric(key):
			typed[i] = key
		default:
			return nil, fmt.Errorf("key %.60q is not allowed: use letters and digits, Enter or Ctrl+C", key)
		}
	}
	return typed, nil
}

func alphanumeric(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}

// takeKeys answers a request to type into a session. Requests for one session
// are answered in their order, and a request that comes again types nothing.
func (w *Worker) takeKeys(l *link, f *wire.Keys) {
	if !w.keys.begin(f.RequestID, l) {
		return
	}
	if _, err := judgeKeys(f.Keys); err != nil {
		w.keysResult(l, f, err)
		return
	}
	s := w.session(f.RunID, f.Attempt)
	if s == nil {
		w.keysResult(l, f, fmt.Errorf("attempt %d of this run has no session on this host", f.Attempt))
		return
	}
	s.typing.do(func() { w.keysResult(l, f, s.typeKeys(w.ctx, f.Keys)) })
}

func (w *Worker) keysResult(l *link, f *wire.Keys, err error) {
	result := &wire.KeysResult{RequestID: f.RequestID, OK: err == nil}
	if err != nil {
		result.Error = err.Error()
	}
	w.keys.end(result, l)
}

func (s *session) typeKeys(ctx context.Context, keys []string) error {
	typed, err := judgeKeys(keys)
	if err != nil {
		return err
	}
	p := s.where()
	if !p.live {
		return errors.New("the session is not running")
	}
	err = s.reach(ctx, p, func() error { return p.server.SendKeys(ctx, p.pane, typed...) })
	if errors.Is(err, tmux.ErrPaneDead) || errors.Is(err, tmux.ErrNoServer) {
		return errors.New("the session has ended")
	}
	return err
}
