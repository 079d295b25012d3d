package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/tmux"
	"svc/wire"
)

// stroke is what one element of a request types: bytes, or a key for which tmux sends the sequence that the
// program expects.
type stroke struct {
	bytes string
	key   tmux.Key // empty: the bytes
}

// named maps the keys with a name to what they type.
var named = map[string]stroke{
	"Escape": {bytes: tmux.Escape}, "Tab": {bytes: "\t"}, "Space": {bytes: " "}, "Backspace": {bytes: "\x7f"},
	"Up": {key: tmux.Up}, "Down": {key: tmux.Down}, "Left": {key: tmux.Left}, "Right": {key: tmux.Right},
}

// parseKeys converts the elements of a request into strokes, or returns an error for the first element that is
// not allowed. This check is the worker's: no other keys reach a session by such a request. names is false for
// a peer without named keys; then a key's name is typed as a word.
func parseKeys(keys []string, names bool) ([]stroke, error) {
	if len(keys) == 0 {
		return nil, errors.New("there is no key to send")
	}
	strokes := make([]stroke, len(keys))
	for i, key := range keys {
		var err error
		if strokes[i], err = parseKey(key, names); err != nil {
			return nil, err
		}
	}
	return strokes, nil
}

func parseKey(key string, names bool) (stroke, error) {
	allowed := "letters and digits, Enter or Ctrl+C"
	if names {
		allowed = "letters and digits, Enter, Ctrl and a letter, " + strings.Join(wire.NamedKeys, ", ") + ", or text: and what is to be typed"
		if s, ok := named[key]; ok {
			return s, nil
		}
		if c := wire.CtrlKey(key); c != 0 {
			return stroke{bytes: string(rune(c - '@'))}, nil
		}
		if text, ok := strings.CutPrefix(key, wire.KeyText); ok {
			return stroke{bytes: text}, checkText(text)
		}
	}
	switch {
	case key == "Enter":
		return stroke{bytes: tmux.Enter}, nil
	case key == "Ctrl+C":
		return stroke{bytes: tmux.CtrlC}, nil
	case alphanumeric(key):
		return stroke{bytes: key}, nil
	}
	return stroke{}, fmt.Errorf("key %.60q is not allowed: use %s", key, allowed)
}

// checkText accepts only text without control characters, so that no byte of it acts as a key.
func checkText(text string) error {
	switch {
	case text == "":
		return errors.New("key \"text:\" is not allowed: there is nothing to type after it")
	case !utf8.ValidString(text) || strings.IndexFunc(text, unicode.IsControl) >= 0:
		return fmt.Errorf("key %.60q is not allowed: its text has control characters", wire.KeyText+text)
	}
	return nil
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

// takeKeys answers a request to type into a session. Requests for one session are executed in their order. A
// repeated request types nothing and gets the result of the first one.
func (w *Worker) takeKeys(l *link, f *wire.Keys) {
	if !w.keys.begin(f.RequestID, l) {
		return
	}
	strokes, err := parseKeys(f.Keys, l.can(wire.CapKeys2))
	if err != nil {
		w.keysResult(l, f.RequestID, err)
		return
	}
	s := w.session(f.RunID, f.Attempt)
	if s == nil {
		w.keysResult(l, f.RequestID, fmt.Errorf("attempt %d of this run has no session on this host", f.Attempt))
		return
	}
	s.typing.do(func() { w.keysResult(l, f.RequestID, s.typeKeys(w.ctx, strokes)) })
}

func (w *Worker) keysResult(l *link, requestID string, err error) {
	w.answerKeys(l, &wire.KeysResult{RequestID: requestID}, err)
}

// answerKeys sets the result's outcome from err and sends it.
func (w *Worker) answerKeys(l *link, result *wire.KeysResult, err error) {
	if result.OK = err == nil; err != nil {
		result.Error = err.Error()
	}
	w.keys.end(result, l)
}

func (s *session) typeKeys(ctx context.Context, strokes []stroke) error {
	return s.input(ctx, func(p place) error { return press(ctx, p.server, p.pane, strokes) })
}

// input calls write with the place of a live session, and restores a deleted socket first.
func (s *session) input(ctx context.Context, write func(place) error) error {
	p := s.awaitPlace(ctx)
	if !p.live {
		return errors.New(notRunning)
	}
	err := s.reach(ctx, p, func() error { return write(p) })
	if errors.Is(err, tmux.ErrPaneDead) || errors.Is(err, tmux.ErrNoServer) {
		return errors.New("the session has ended")
	}
	return err
}

// escapePause is the pause after an Escape: programs treat bytes that follow at once as the rest of an escape
// sequence.
const escapePause = 150 * time.Millisecond

// press types strokes in order. It sends adjacent strokes of the same kind together.
func press(ctx context.Context, server tmux.Server, pane string, strokes []stroke) error {
	for len(strokes) > 0 {
		n := 1
		for n < len(strokes) && (strokes[n].key == "") == (strokes[0].key == "") && strokes[n-1].bytes != tmux.Escape {
			n++
		}
		var text []string
		var keys []tmux.Key
		for _, s := range strokes[:n] {
			text, keys = append(text, s.bytes), append(keys, s.key)
		}
		var err error
		if strokes[0].key == "" {
			err = server.SendKeys(ctx, pane, text...)
		} else {
			err = server.PressKeys(ctx, pane, keys...)
		}
		if err != nil {
			return err
		}
		last := strokes[n-1]
		if strokes = strokes[n:]; last.bytes == tmux.Escape && len(strokes) > 0 {
			select {
			case <-time.After(escapePause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}
