package cli

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/term"

	"svc/safetext"
)

// screen is the user's own terminal while it shows a session.
type screen struct {
	in, out *os.File
	before  *term.State
	once    sync.Once
}

const (
	// enter switches to the alternate screen and clears it.
	enter = "\x1b[?1049h\x1b[0m\x1b[2J\x1b[H"
	// leave resets every mode that a session may have switched on: mouse, focus and paste
	// reports, key modes, scroll region, character set, colours, hidden cursor.
	leave = "\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1004l\x1b[?2004l" +
		"\x1b[>4;0m\x1b[?1l\x1b>\x1b[?6l\x1b[?7h\x1b[r\x1b(B\x1b[0m\x1b[0 q\x1b[?1049l\x1b[?25h"
)

// raw puts the terminal into raw mode, so that every key is passed on unchanged.
func (s *screen) raw() (err error) {
	if s.before, err = term.MakeRaw(int(s.in.Fd())); err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	return nil
}

// show switches to the alternate screen.
func (s *screen) show() { s.write([]byte("\r" + enter)) }

// restore puts the terminal back into its former state. It may be called more than once.
func (s *screen) restore() {
	s.once.Do(func() {
		s.write([]byte(leave))
		_ = term.Restore(int(s.in.Fd()), s.before) // fails only when the terminal is gone
	})
}

// write draws. It ignores errors: when the terminal is gone, reading from it fails too.
func (s *screen) write(b []byte) { _, _ = s.out.Write(b) }

func (s *screen) size() (cols, rows int) {
	cols, rows, err := term.GetSize(int(s.out.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return 80, 24
	}
	return cols, rows
}

// say shows a line at the bottom, until the session draws over it.
func (s *screen) say(text string) {
	_, rows := s.size()
	s.write(fmt.Appendf(nil, "\a\x1b7\x1b[%d;1H\x1b[0m\x1b[7m %s \x1b[0m\x1b8", rows, safetext.Line(text)))
}
