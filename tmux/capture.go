package tmux

import (
	"bytes"
	"context"
	"fmt"
)

// CaptureOpts has the options of Capture.
type CaptureOpts struct {
	// Colors keeps colours and attributes as SGR sequences (ESC [ … m). Without it the text is plain.
	Colors bool
}

// Capture returns the visible screen of a pane, also that of a dead one. It has exactly as many rows as the
// pane, separated by newlines, with none at the end; blank rows are kept, also the last ones. Blanks at the end
// of a row are omitted unless they are visible (by their background, for example). A wide character appears
// once and takes two columns. With colours, attributes continue from row to row, and a final reset ends them.
func (s Server) Capture(ctx context.Context, pane string, opts CaptureOpts) (string, error) {
	if err := checkPane(pane); err != nil {
		return "", fmt.Errorf("capture: %w", err)
	}
	// Always with escapes (-e): without them, line drawing appears as the letters that encode it.
	command := []string{"capture-pane", "-p", "-e", "-t", pane}
	if opts.Colors {
		command = append(command, "-N") // blanks at the end of a row may have a background
	}
	out, err := s.send(ctx, call{mixed: true}, command)
	if err != nil {
		return "", fmt.Errorf("capture pane: %w", err)
	}
	text, whole := bytes.CutSuffix(out, []byte("\n"))
	if !whole {
		return "", fmt.Errorf("capture pane: tmux answered with %.60q", out)
	}
	return cleanCapture(string(text), opts.Colors), nil
}
