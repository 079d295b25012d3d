package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hinshun/vt10x"

	"svc/asciicast"
)

// film is the sequence of screens of a recording.
type film struct {
	frames []frame
	length time.Duration // including the time for which the last screen stays
}

// frame is a screen and the time at which it appears. It stays until the next one.
type frame struct {
	at     time.Duration
	rows   [][]vt10x.Glyph
	cursor place // -1, -1: the cursor is hidden
}

type place struct{ x, y int }

// A frame that is followed by another one within shortest is too short to be seen. The last frame stays for lastStay.
const (
	shortest = 50 * time.Millisecond
	lastStay = 4 * time.Second
)

// filmOf plays a recording on a terminal and records its screens. It shortens pauses to idle.
func filmOf(cast *asciicast.Reader, idle time.Duration) (film, error) {
	terminal := vt10x.New(vt10x.WithSize(cast.Header.Width, cast.Header.Height))
	f := film{frames: []frame{screenOf(terminal, 0)}}
	before, now := time.Duration(-1), time.Duration(0) // the time in the recording, and in the film, which begins with the first output
	for {
		e, err := cast.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return f, err
		}
		if e.Kind != asciicast.Output && e.Kind != asciicast.Resize {
			continue
		}
		if before >= 0 {
			now += min(e.At-before, idle)
		}
		before = e.At
		switch e.Kind {
		case asciicast.Output:
			_, err = io.WriteString(terminal, e.Data)
		case asciicast.Resize:
			cols, rows, ok := asciicast.ParseSize(e.Data)
			if !ok {
				return f, fmt.Errorf("%q is no size", e.Data)
			}
			terminal.Resize(cols, rows)
		}
		if err != nil {
			return f, err
		}
		f.add(screenOf(terminal, now))
	}
	f.length = f.frames[len(f.frames)-1].at + lastStay
	return f, nil
}

// add appends a screen. It replaces the last one if that would be shown for less than shortest.
func (f *film) add(next frame) {
	last := &f.frames[len(f.frames)-1]
	if next.at-last.at < shortest {
		next.at = last.at
		*last = next
		return
	}
	f.frames = append(f.frames, next)
}

func screenOf(terminal vt10x.Terminal, at time.Duration) frame {
	cols, rows := terminal.Size()
	f := frame{at: at, rows: make([][]vt10x.Glyph, rows), cursor: place{-1, -1}}
	for y := range f.rows {
		f.rows[y] = make([]vt10x.Glyph, cols)
		for x := range f.rows[y] {
			f.rows[y][x] = terminal.Cell(x, y)
		}
	}
	if terminal.CursorVisible() {
		f.cursor = place{terminal.Cursor().X, terminal.Cursor().Y}
	}
	return f
}

// text returns the text of a frame, without spaces at the ends of lines and without empty lines at the end.
func (f frame) text() string {
	var lines []string
	for _, row := range f.rows {
		lines = append(lines, rowText(row))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func rowText(row []vt10x.Glyph) string {
	var b strings.Builder
	for _, g := range row {
		b.WriteRune(g.Char)
	}
	return strings.TrimRight(b.String(), " ")
}

// size returns the size of the part of the screen that was ever written to.
func (f film) size() (cols, rows int) {
	for _, fr := range f.frames {
		for y, row := range fr.rows {
			if n := used(row); n > 0 {
				cols, rows = max(cols, n), max(rows, y+1)
			}
		}
		cols, rows = max(cols, fr.cursor.x+1), max(rows, fr.cursor.y+1)
	}
	return cols, rows
}

// used returns the number of cells up to and including the last cell of a row that is not blank.
func used(row []vt10x.Glyph) int {
	blank := vt10x.Glyph{Char: ' ', FG: vt10x.DefaultFG, BG: vt10x.DefaultBG}
	for x, g := range slices.Backward(row) {
		if g.Char != blank.Char || g.BG != blank.BG || g.Mode&underline != 0 {
			return x + 1
		}
	}
	return 0
}
