package live

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// scene is a sequence of bytes that a program writes to its terminal. It is always the same.
type scene struct {
	raw   bool // the terminal is in raw mode; otherwise it replaces each LF by CR LF
	bytes func() []byte
}

// terminal returns the bytes that the terminal receives when a program writes the scene.
func (s scene) terminal() []byte {
	if s.raw {
		return s.bytes()
	}
	return bytes.ReplaceAll(s.bytes(), []byte("\n"), []byte("\r\n"))
}

var scenes = map[string]scene{
	"many lines":      {bytes: manyLines},
	"long lines":      {bytes: longLines},
	"wide characters": {bytes: wideCharacters},
	"random bytes":    {bytes: randomBytes, raw: true},
	"full screen":     {bytes: fullScreen, raw: true},
}

func manyLines() []byte {
	var b bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&b, "line %d of many\n", i)
	}
	return b.Bytes()
}

// longLines returns three lines of 1 MiB each.
func longLines() []byte {
	var b bytes.Buffer
	for _, c := range []string{"x", "0123456789abcdef", "é"} {
		b.WriteString(strings.Repeat(c, (1<<20)/len(c)))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// wideCharacters returns lines with characters of two columns, of none, and of several code points,
// so that a line wraps in the middle of a character.
func wideCharacters() []byte {
	var b bytes.Buffer
	for i := range 3000 {
		b.WriteString(strings.Repeat("漢字かな한글", i%40))
		b.WriteString(strings.Repeat("e\u0301👩\u200d👩\u200d👧🇫🇷\u200b", i%7))
		fmt.Fprintf(&b, " %d\n", i)
	}
	return b.Bytes()
}

// randomBytes returns all byte values and then random bytes: invalid characters, unfinished
// sequences, and any command for a terminal.
func randomBytes() []byte {
	random := rand.New(rand.NewPCG(7, 11))
	b := make([]byte, 0, 300_000)
	for i := range 256 {
		b = append(b, byte(i))
	}
	for len(b) < cap(b) {
		b = append(b, byte(random.Uint32()))
	}
	return b
}

// fullScreen returns output like that of a process monitor: it switches to the alternate screen,
// draws many frames with cursor addressing and colours, and switches back.
func fullScreen() []byte {
	var b bytes.Buffer
	b.WriteString("\x1b[?1049h\x1b[?25l\x1b[2J")
	for frame := range 120 {
		for row := 1; row <= 50; row++ {
			fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[38;5;%dm\x1b[48;2;%d;%d;0m%6d %s\x1b[K\x1b[0m", row, row%7+1, (frame+row)%256, row, frame,
				frame*row, strings.Repeat("▓", (frame+row)%60))
		}
	}
	b.WriteString("\x1b[?25h\x1b[?1049l")
	return b.Bytes()
}

// drawing returns the bytes that draw a full screen with colours. drawnRows returns its visible text.
func drawing() []byte {
	var b bytes.Buffer
	b.WriteString("\x1b[?1049h\x1b[2J")
	for row := 50; row >= 1; row-- {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[1;3%dmrow %02d\x1b[0m 漢字 %s", row, row%8, row, strings.Repeat("=", row))
	}
	return b.Bytes()
}

// drawingEnd is written last. It changes the first row.
const drawingEnd = "\x1b[1;1H\x1b[2K\x1b[32mit is over\x1b[0m"

func drawnRows(over bool) string {
	var rows []string
	for row := 1; row <= 50; row++ {
		rows = append(rows, fmt.Sprintf("row %02d 漢字 %s", row, strings.Repeat("=", row)))
	}
	if over {
		rows[0] = "it is over"
	}
	return strings.Join(rows, "\n")
}
