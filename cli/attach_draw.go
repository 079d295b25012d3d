package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/coder/websocket"

	"svc"
	"svc/safetext"
)

// frame handles a frame from the orchestrator.
func (t *attachment) frame(ctx context.Context, conn *websocket.Conn, f attachFrame) error {
	switch f.Type {
	case "data":
		if drawn := t.output.Append(nil, f.Bytes); t.fits() {
			t.screen.write(drawn)
		}
	case "resize":
		t.cols, t.rows = f.Cols, f.Rows
		return t.refit()
	case "watchers":
		t.list = watcherList{f.Watchers, f.More}
	case "lease_acquired":
		late := t.waiting == nil
		t.holder = true
		if late {
			t.screen.say("you can type now")
		}
		return t.claimSize(ctx, conn)
	case "error":
		switch {
		case f.Code == svc.CodeLeaseHeld:
			t.holder = false
		case t.fits():
			t.screen.say(f.Message)
		}
	}
	return nil
}

// fits reports whether the session's screen fits on this terminal, so that the session's bytes can be written
// unchanged.
func (t *attachment) fits() bool {
	cols, rows := t.screen.size()
	return t.cols <= cols && t.rows <= rows
}

// resized handles a change of the size of the user's terminal.
func (t *attachment) resized(ctx context.Context, conn *websocket.Conn) error {
	if t.holder {
		return t.claimSize(ctx, conn)
	}
	return t.refit()
}

// claimSize gives the session the size of this terminal. Only the holder may call it.
func (t *attachment) claimSize(ctx context.Context, conn *websocket.Conn) error {
	cols, rows := t.screen.size()
	return t.write(ctx, conn, attachFrame{Type: "resize", Cols: min(max(cols, 1), 1000), Rows: min(max(rows, 1), 1000)})
}

// refit switches between the session's own bytes and the letterbox. The letterbox ends with a new connection, which
// begins with the whole screen. The holder needs no new connection: its change of size makes the session draw the
// whole screen.
func (t *attachment) refit() error {
	was := t.boxed
	t.boxed = !t.fits()
	switch {
	case was && !t.boxed && t.holder:
		t.screen.write([]byte("\x1b[0m\x1b[2J"))
	case was && !t.boxed:
		return errReopen
	}
	return nil
}

// letterbox shows a part of a screen that is larger than this terminal: the last rows, cut at the right, and a line
// that says so.
func (t *attachment) letterbox(ctx context.Context) {
	if !t.boxed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, socketPatience)
	defer cancel()
	pane, err := t.c.Pane(ctx, t.run.ID)
	if err != nil {
		return // the next call tries again
	}
	cols, rows := t.screen.size()
	notice := fmt.Sprintf(` %d×%d of %d×%d · detach: Ctrl-\ d `, cols, rows, t.cols, t.rows)
	for _, who := range []string{t.list.typing(), t.list.watching()} {
		if who != "" {
			notice += "· " + string(safetext.Line(who)) + " "
		}
	}
	t.screen.write([]byte(boxed(string(safetext.Colours(pane.Capture)), cols, rows, notice)))
}

// boxed returns what fits of a capture as one write, row by row, so that the terminal does not flicker.
func boxed(capture string, cols, rows int, notice string) string {
	lines := strings.Split(strings.TrimRight(capture, "\n "), "\n")
	if room := max(rows-1, 1); len(lines) > room {
		lines = lines[len(lines)-room:]
	}
	var b strings.Builder
	b.WriteString("\x1b[?2026h\x1b[?25l\x1b[0m\x1b[H")
	for _, line := range lines {
		b.WriteString(ansi.Truncate(line, cols, "") + "\x1b[0m\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	fmt.Fprintf(&b, "\x1b[%d;1H\x1b[7m%s\x1b[0m", rows, ansi.Truncate(notice, cols, ""))
	b.WriteString("\x1b[?2026l")
	return b.String()
}
