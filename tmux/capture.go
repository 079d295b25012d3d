package tmux

import (
	"bytes"
	"context"
	"fmt"
)

// CaptureOpts says how a screen is wanted.
type CaptureOpts struct {
	// Colors keeps colours and attributes as SGR sequences (ESC [ … m). Without it the text is plain.
	Colors bool
}

// Screen is the visible part of a pane.
type Screen struct {
	// Text has exactly Rows rows, separated by newlines, with none at the end; blank rows are kept,
	// also the last ones. Blanks at the end of a row are left out unless they can be seen (by their
	// background, for example). A wide character stands once and takes two columns. With colours,
	// attributes go on from row to row, and a final reset ends them.
	Text string
	// Cols and Rows are the size of the pane.
	Cols, Rows int
	// CursorCol and CursorRow count from zero.
	CursorCol, CursorRow int
	// CursorHidden means that no cursor is to be drawn: the program hid it, or has ended.
	CursorHidden bool
}

const captureFormat = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag} #{pane_dead}"

// Capture reads the visible screen, also that of a dead pane. Text and cursor are of one moment.
func (s Server) Capture(ctx context.Context, pane string, opts CaptureOpts) (Screen, error) {
	if err := checkPane(pane); err != nil {
		return Screen{}, fmt.Errorf("capture: %w", err)
	}
	out, err := s.run(ctx,
		[]string{"display-message", "-p", "-t", pane, captureFormat},
		// Always with escapes: without them, line drawing comes as the letters that encode it.
		[]string{"capture-pane", "-p", "-e", "-N", "-t", pane})
	if err != nil {
		return Screen{}, fmt.Errorf("capture pane: %w", err)
	}
	facts, text, _ := bytes.Cut(out, []byte("\n"))
	var screen Screen
	var cursor, dead int
	_, err = fmt.Sscanf(string(facts), "%d %d %d %d %d %d",
		&screen.Cols, &screen.Rows, &screen.CursorCol, &screen.CursorRow, &cursor, &dead)
	if err != nil {
		return Screen{}, fmt.Errorf("capture pane: unexpected answer of tmux %q", facts)
	}
	screen.CursorHidden = cursor == 0 || dead != 0 // tmux hides that of a dead pane, but not always at once
	screen.Text = cleanCapture(string(bytes.TrimSuffix(text, []byte("\n"))), opts.Colors)
	return screen, nil
}
