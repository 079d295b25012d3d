package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hinshun/vt10x"

	"svc/asciicast"
	"svc/internal/waittest"
)

const cols, rows = 40, 8

// story is output that moves the cursor, colours, wraps, scrolls, erases, has split sequences, and uses the alternate
// screen.
var story = []string{
	"\x1b[1mHello\x1b[0m <you> & \"all\"\r\n",
	"\x1b[36mcyan\x1b[0m and \x1b[1;31mred on \x1b[44mblue\x1b[0m, \x1b[4munder\x1b[3mline\x1b[0m\r\n",
	"a line that is longer than the terminal is wide, so it is wrapped\r\n  ind",
	"ented\ttab\x1b[3",
	"8;5;208morange\x1b[0m é ─ ▒\r\n",
	"progress  10%\rprogress 100%\r\n",
	strings.Repeat("scrolls\r\n", 5),
	"\x1b[2;5Hput\x1b[K here\x1b[1;1H\x1b[2Ltwo lines in\x1b[s",
	"\x1b[?1049h\x1b[2J\x1b[3;3H\x1b[7m other screen \x1b[0m\x1b[?25l",
	"\x1b[3;5H\x1b[2P\x1b[1;38;2;10;200;30mdeep\x1b[0m",
	"\x1b[?1049l\x1b[?25h\x1b[5;1H\x1b[Jend",
}

func record(t *testing.T) *asciicast.Reader {
	t.Helper()
	var text bytes.Buffer
	w, err := asciicast.NewWriter(&text, asciicast.Header{Width: cols, Height: rows})
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range story {
		if err := w.Write(asciicast.Event{At: time.Duration(i+1) * time.Second, Kind: asciicast.Output, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	return mustRead(t, text.String())
}

func TestAPictureShowsWhatATerminalShows(t *testing.T) {
	t.Parallel()
	const idle = 500 * time.Millisecond
	f, err := filmOf(record(t), idle)
	if err != nil {
		t.Fatal(err)
	}
	p := readPicture(t, draw(f, "a <title>"))
	screens := terminal(t)
	for i := range story {
		text, styled := screens(strings.Join(story[:i+1], ""))
		if got := p.textAt(time.Duration(i)*idle + time.Millisecond); got != text {
			t.Errorf("after step %d the picture shows\n%s\n, the terminal\n%s", i+1, got, text)
		}
		fr := f.frames[i]
		if got, want := glyphs(fr.rows), glyphsOf(styled); !slices.Equal(got, want) {
			t.Errorf("after step %d it looks like\n%q\n, want\n%q", i+1, got, want)
		}
	}
	if p.length != time.Duration(len(story)-1)*idle+lastStay || p.textAt(p.length-1) != f.frames[len(story)-1].text() {
		t.Errorf("it lasts %v and ends with\n%s", p.length, p.textAt(p.length-1))
	}
	if got, want := p.still, f.frames[len(story)-1].text(); got != want {
		t.Errorf("without motion it shows\n%s\n, want\n%s", got, want)
	}
}

func TestARecordingGivesTheSamePictureEachTime(t *testing.T) {
	t.Parallel()
	var pictures [2][]byte
	for i := range pictures {
		f, err := filmOf(record(t), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		pictures[i] = draw(f, "t")
	}
	if !bytes.Equal(pictures[0], pictures[1]) {
		t.Error("two pictures of a recording differ")
	}
}

func TestASmallerScreenLosesWhatIsBelow(t *testing.T) {
	t.Parallel()
	cast := mustRead(t, `{"version":2,"width":20,"height":4}
[1,"o","1\r\n2\r\n3\r\n4"]
[2,"r","20x2"]
[3,"r","20x6"]
[4,"o","\r\n5"]`)
	f, err := filmOf(cast, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	p := readPicture(t, draw(f, ""))
	for at, want := range []string{0: "1\n2\n3\n4", 1: "3\n4", 2: "3\n4", 3: "3\n4\n5"} {
		if got := p.textAt(time.Duration(at) * time.Second); got != want {
			t.Errorf("after %d s it shows %q, want %q", at, got, want)
		}
	}
	if _, err := filmOf(mustRead(t, `{"version":2,"width":20,"height":4}`+"\n"+`[1,"r","wide"]`), time.Second); err == nil {
		t.Error("a size that is none was taken")
	}
}

func mustRead(t *testing.T, text string) *asciicast.Reader {
	t.Helper()
	cast, err := asciicast.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return cast
}

// The picture in the README shows the demo, and is small.
func TestThePictureOfTheDemo(t *testing.T) {
	t.Parallel()
	svg, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	if len(svg) > 100<<10 {
		t.Errorf("it has %d bytes", len(svg))
	}
	p := readPicture(t, svg)
	for _, words := range []string{"I am the demo agent of svc", "You asked: Show me how a run looks", "[  4%] Reading the project", "[100%] ", "Done. Look at the log"} {
		if !strings.Contains(p.still, words) {
			t.Errorf("it does not end with %q:\n%s", words, p.still)
		}
	}
	if early := p.textAt(p.length / 2); !strings.Contains(early, "Hello!") || strings.Contains(early, "Done.") {
		t.Errorf("in the middle it shows\n%s", early)
	}
}

// picture is a parsed animated picture.
type picture struct {
	length time.Duration
	shows  []pictured
	still  string // the text that is shown without animation
}

// pictured is a part of a picture, and the times at which it is visible.
type pictured struct {
	keys  []key // in the order of time; none: it is always visible
	last  bool
	texts []placed
}

type key struct {
	percent float64
	visible bool
}

type placed struct {
	x, y int
	text string
}

var (
	lengthRule    = regexp.MustCompile(`animation-duration:(\d+)ms`)
	keyframesRule = regexp.MustCompile(`@keyframes (k\d+)\{((?:[\d.]+%\{visibility:\w+\})+)\}`)
	keyRule       = regexp.MustCompile(`([\d.]+)%\{visibility:(\w+)\}`)
)

func readPicture(t *testing.T, svg []byte) (p picture) {
	t.Helper()
	rules := map[string][]key{}
	for _, m := range keyframesRule.FindAllStringSubmatch(string(svg), -1) {
		for _, k := range keyRule.FindAllStringSubmatch(m[2], -1) {
			percent, err := strconv.ParseFloat(k[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			rules[m[1]] = append(rules[m[1]], key{percent, k[2] == "visible"})
		}
	}
	if m := lengthRule.FindSubmatch(svg); m != nil {
		ms, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		p.length = time.Duration(ms) * time.Millisecond
	}
	var root struct {
		Groups []struct {
			Parts []struct {
				Class string `xml:"class,attr"`
				Style string `xml:"style,attr"`
				Texts []struct {
					X    float64 `xml:"x,attr"`
					Y    float64 `xml:"y,attr"`
					Text string  `xml:",chardata"`
				} `xml:"text"`
			} `xml:"g"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(svg, &root); err != nil {
		t.Fatal(err)
	}
	for _, part := range root.Groups[0].Parts {
		s := pictured{keys: rules[strings.TrimPrefix(part.Style, "animation-name:")], last: part.Class != "s"}
		if part.Class != "" && len(s.keys) == 0 {
			t.Errorf("%q has no keyframes", part.Style)
		}
		for _, text := range part.Texts {
			s.texts = append(s.texts, placed{int(math.Round(text.X / cellWidth)), int(text.Y-fontSize) / cellHeight, text.Text})
		}
		p.shows = append(p.shows, s)
	}
	p.still = p.text(func(s pictured) bool { return s.last })
	return p
}

// textAt returns the text that is visible at a time.
func (p picture) textAt(at time.Duration) string {
	percent := 100 * float64(at) / float64(p.length)
	return p.text(func(s pictured) bool {
		visible := len(s.keys) == 0
		for _, k := range s.keys {
			if k.percent <= percent {
				visible = k.visible
			}
		}
		return visible
	})
}

func (p picture) text(visible func(pictured) bool) string {
	var grid [][]rune
	for _, s := range p.shows {
		if !visible(s) {
			continue
		}
		for _, text := range s.texts {
			for len(grid) <= text.y {
				grid = append(grid, nil)
			}
			row := &grid[text.y]
			for i, r := range []rune(text.text) {
				for len(*row) <= text.x+i {
					*row = append(*row, ' ')
				}
				if (*row)[text.x+i] != ' ' {
					return fmt.Sprintf("two texts at row %d, column %d", text.y, text.x+i)
				}
				(*row)[text.x+i] = r
			}
		}
	}
	lines := make([]string, len(grid))
	for y, row := range grid {
		lines[y] = strings.TrimRight(string(row), " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// glyphs returns the glyphs of each row, without trailing blanks.
func glyphs(rows [][]vt10x.Glyph) (all []string) {
	for _, row := range rows {
		all = append(all, fmt.Sprint(row[:used(row)]))
	}
	return all
}

// glyphsOf returns the glyphs of a screen that tmux has captured with its colours.
func glyphsOf(styled string) []string {
	screen := vt10x.New(vt10x.WithSize(cols, rows))
	_, _ = io.WriteString(screen, strings.ReplaceAll(strings.TrimRight(styled, "\n"), "\n", "\r\n"))
	return glyphs(screenOf(screen, 0).rows)
}

// terminal starts tmux as a second terminal, and returns a function that writes output to it and returns its screen,
// as text and with colours.
func terminal(t *testing.T) func(output string) (text, styled string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "svc-tmux-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waittest.Patience)
	tmux := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "TMUX=")
		out, err := cmd.Output()
		if err != nil {
			var failed *exec.ExitError
			errors.As(err, &failed)
			t.Fatalf("tmux %s: %v: %s", args[0], err, failed.Stderr)
		}
		return string(out)
	}
	t.Cleanup(func() {
		tmux("kill-server")
		cancel()
		_ = os.RemoveAll(dir)
	})
	sessions := 0
	return func(output string) (text, styled string) {
		t.Helper()
		sessions++
		name := fmt.Sprintf("s%d", sessions)
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(output), 0o600); err != nil {
			t.Fatal(err)
		}
		// The last sequence requests the position of the cursor. Its answer means that everything before it was drawn.
		const program = `stty raw -echo; cat "$1"; printf '\033[6n'; IFS= read -r -d R answer; tmux wait-for -S "$2"; exec sleep 600`
		tmux("new-session", "-d", "-s", name, "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "bash", "-c", program, "bash", file, name)
		tmux("wait-for", name)
		styled = tmux("capture-pane", "-p", "-e", "-N", "-t", name)
		lines := strings.Split(tmux("capture-pane", "-p", "-t", name), "\n")
		for i, line := range lines {
			lines[i] = strings.TrimRight(line, " ")
		}
		return strings.TrimRight(strings.Join(lines, "\n"), "\n"), styled
	}
}
