package cli

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// canvas is a terminal's alternate screen. Each answer is drawn over the one before, without a flicker. The normal
// screen is unchanged afterwards.
type canvas struct {
	out  io.Writer
	last string // the text that was drawn last; empty: the normal screen is shown
}

// Escape sequences of a terminal.
const (
	enterCanvas = "\x1b[?1049h\x1b[?25l"
	leaveCanvas = "\x1b[?25h\x1b[?1049l"
	beginDraw   = "\x1b[?2026h\x1b[H"
	endDraw     = "\x1b[J\x1b[?2026l"
	endLine     = "\x1b[0m\x1b[K"
)

func newCanvas(out io.Writer) *canvas { return &canvas{out: out} }

// draw shows as much of a text as fits on the terminal, with the line below under it.
func (c *canvas) draw(text, below string) {
	begin := beginDraw
	if c.last == "" {
		begin = enterCanvas + beginDraw
	}
	cols, rows := size(c.out)
	_, _ = io.WriteString(c.out, begin+layOut(text, below, cols, rows)+endDraw)
	c.last = text
}

// layOut cuts a text to the size of a terminal and adds the line below under it.
func layOut(text, below string, cols, rows int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if most := max(rows-2, 1); len(lines) > most {
		below = "… " + below
		lines = lines[:most]
	}
	lines = append(lines, "", below)
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, cols, "…") + endLine
	}
	return strings.Join(lines, "\r\n")
}

// forget switches back to the normal screen and prints nothing on it. draw may be called again afterwards.
func (c *canvas) forget() {
	if c.last != "" {
		_, _ = io.WriteString(c.out, leaveCanvas)
		c.last = ""
	}
}

// close switches back to the normal screen and prints the last text on it.
func (c *canvas) close() {
	if c.last != "" {
		_, _ = io.WriteString(c.out, leaveCanvas+c.last)
	}
}

// size returns a terminal's size in columns and rows, or 80 by 24 when the size cannot be read.
func size(stream any) (cols, rows int) {
	if f, ok := stream.(interface{ Fd() uintptr }); ok {
		if cols, rows, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 && rows > 0 {
			return cols, rows
		}
	}
	return 80, 24
}
