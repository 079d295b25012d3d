package cli

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// canvas is a terminal's second screen, on which an answer is drawn over the
// one before without a flicker. The first screen is as it was afterwards.
type canvas struct {
	out  io.Writer
	last string // what was drawn last
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

// draw shows a text, with a line about it below, as far as the window goes.
func (c *canvas) draw(text, below string) {
	begin := beginDraw
	if c.last == "" {
		begin = enterCanvas + beginDraw
	}
	cols, rows := size(c.out)
	_, _ = io.WriteString(c.out, begin+layOut(text, below, cols, rows)+endDraw)
	c.last = text
}

// layOut cuts a text to a window and puts a line below it.
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

// forget gives the first screen back and leaves nothing on it. The next draw begins anew.
func (c *canvas) forget() {
	if c.last != "" {
		_, _ = io.WriteString(c.out, leaveCanvas)
		c.last = ""
	}
}

// close gives the first screen back and leaves the last text on it.
func (c *canvas) close() {
	if c.last != "" {
		_, _ = io.WriteString(c.out, leaveCanvas+c.last)
	}
}

// size is a terminal's size in columns and rows, or a common one when it does
// not tell.
func size(stream any) (cols, rows int) {
	if f, ok := stream.(interface{ Fd() uintptr }); ok {
		if cols, rows, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 && rows > 0 {
			return cols, rows
		}
	}
	return 80, 24
}
