package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// maxSide is the largest width or height that tmux accepts.
const maxSide = 10000

// Resize sets the size of the pane, which does not depend on the attached terminals.
func (s Server) Resize(ctx context.Context, pane string, cols, rows int) error {
	if err := checkSize(cols, rows); err != nil {
		return fmt.Errorf("resize pane: %w", err)
	}
	if err := checkPane(pane); err != nil {
		return fmt.Errorf("resize: %w", err)
	}
	_, err := s.run(ctx, []string{"resize-window", "-t", pane, "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows)})
	if err != nil {
		return fmt.Errorf("resize pane: %w", err)
	}
	return nil
}

// ClientsFit reports whether tmux knows that no attached terminal is larger than a size. It learns of a terminal's new
// size from the client in that terminal, a moment later.
func (s Server) ClientsFit(ctx context.Context, cols, rows int) (bool, error) {
	out, err := s.run(ctx, []string{"list-clients", "-F", "#{client_width} #{client_height}"})
	if err != nil {
		return false, fmt.Errorf("list clients: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		var width, height int
		if _, err := fmt.Sscan(line, &width, &height); err != nil {
			return false, fmt.Errorf("list clients: unexpected output %.100q", line)
		}
		if width > cols || height > rows {
			return false, nil
		}
	}
	return true, nil
}

func checkSize(cols, rows int) error {
	if cols < 1 || cols > maxSide || rows < 1 || rows > maxSide {
		return fmt.Errorf("size %dx%d: want sides from 1 to %d", cols, rows, maxSide)
	}
	return nil
}
