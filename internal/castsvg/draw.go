package main

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hinshun/vt10x"
)

// The attributes of a glyph. The library vt10x does not export their names.
const (
	underline = 1 << 1
	bold      = 1 << 2
	italic    = 1 << 4
)

// Sizes, in pixels. A cell has the width of most fixed-width fonts of this size; glyphs are scaled to it.
const (
	fontSize   = 14
	cellWidth  = 8.4
	cellHeight = 18
	margin     = 16
	titleBar   = 34
)

// The palette of a theme: text, background, bar, cursor, then the sixteen colours. The sixteen have a contrast of 4.5 or more
// with the background, except those that are meant to be faint.
var (
	light = [20]string{
		"#1f2328", "#ffffff", "#f0f2f5", "#8c959f",
		"#1f2328", "#b3261e", "#116329", "#7a5200", "#0550ae", "#7d2ba6", "#0b6b75", "#57606a",
		"#57606a", "#b3261e", "#116329", "#7a5200", "#0550ae", "#7d2ba6", "#0b6b75", "#1f2328",
	}
	dark = [20]string{
		"#e6edf3", "#0d1117", "#1c2128", "#7d8590",
		"#6e7681", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#c9d1d9",
		"#8b949e", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#76e3ea", "#ffffff",
	}
)

// draw returns a picture of a film. It has one element for each line of text and for each position of the cursor,
// which is visible for the time of that line or position.
func draw(f film, title string) []byte {
	cols, rows := f.size()
	width, height := float64(cols)*cellWidth+2*margin, rows*cellHeight+titleBar+margin
	var body bytes.Buffer
	shows := f.shows()
	for _, s := range shows {
		s.draw(&body)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n<style>\n", escape(title))
	style(&out, f.length, shows)
	fmt.Fprintf(&out, "</style>\n<rect class=\"b\" x=\".5\" y=\".5\" width=\"%.0f\" height=\"%d\" rx=\"8\"/>\n", width-1, height-1)
	fmt.Fprintf(&out, `<path class="h" d="M1 %d V9 a8 8 0 0 1 8 -8 H%.0f a8 8 0 0 1 8 8 V%d z"/>`+"\n", titleBar-8, width-9, titleBar-8)
	fmt.Fprintf(&out, `<text class="t" x="%.0f" y="%d">%s</text>`+"\n", width/2, titleBar-16, escape(title))
	fmt.Fprintf(&out, "<g transform=\"translate(%d %d)\">\n", margin, titleBar)
	out.Write(body.Bytes())
	out.WriteString("</g>\n</svg>\n")
	return out.Bytes()
}

// span is a period of time in a film.
type span struct{ from, to time.Duration }

// show is a row of glyphs, or the cursor, in a span.
type show struct {
	span
	name  string // the name of its animation; empty: it is always visible
	last  bool   // it is visible at the end
	y     int
	row   []vt10x.Glyph
	place place // the position of the cursor, when row is nil
}

// shows returns the rows and cursor positions of all frames, each with the span over which it does not change. The
// shows of a row follow each other in time.
func (f film) shows() (all []show) {
	open := map[int]*show{} // by row; -1: the cursor
	begin := func(y int, at time.Duration, s show) {
		if was := open[y]; was != nil {
			was.to = at
			all = append(all, *was)
			delete(open, y)
		}
		if s.row != nil || s.place.x >= 0 {
			s.from, s.y = at, y
			open[y] = &s
		}
	}
	_, tallest := f.size()
	for _, fr := range f.frames {
		for y := range tallest {
			var row []vt10x.Glyph
			if y < len(fr.rows) {
				row = fr.rows[y][:used(fr.rows[y])]
			}
			if was := open[y]; was == nil && len(row) > 0 || was != nil && !slices.Equal(was.row, row) {
				begin(y, fr.at, show{row: slices.Clip(row), place: place{-1, -1}})
			}
		}
		if was := open[-1]; was == nil && fr.cursor.x >= 0 || was != nil && was.place != fr.cursor {
			begin(-1, fr.at, show{place: fr.cursor})
		}
	}
	for _, s := range open {
		s.to, s.last = f.length, true
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b show) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.y, b.y))
	})
	names := map[span]string{}
	for i := range all {
		s := &all[i]
		if s.from == 0 && s.last {
			continue
		}
		if names[s.span] == "" {
			names[s.span] = fmt.Sprintf("k%d", len(names))
		}
		s.name = names[s.span]
	}
	return all
}

func (s show) draw(out io.Writer) {
	attributes := ""
	if s.name != "" {
		attributes = fmt.Sprintf(` class="s" style="animation-name:%s"`, s.name)
		if s.last {
			attributes = fmt.Sprintf(` class="s l" style="animation-name:%s"`, s.name)
		}
	}
	if s.row == nil {
		fmt.Fprintf(out, "<g%s><rect class=\"c\" x=\"%s\" y=\"%d\" width=\"%s\" height=\"%d\"/></g>\n",
			attributes, pixels(s.place.x), s.place.y*cellHeight, pixels(1), cellHeight)
		return
	}
	fmt.Fprintf(out, "<g%s>", attributes)
	for from := 0; from < len(s.row); {
		to := from + 1
		for to < len(s.row) && sameLook(s.row[from], s.row[to]) {
			to++
		}
		drawRun(out, s.row[from:to], from, s.y)
		from = to
	}
	fmt.Fprintln(out, "</g>")
}

func sameLook(a, b vt10x.Glyph) bool { return a.FG == b.FG && a.BG == b.BG && a.Mode == b.Mode }

// style writes the rules of the picture: both themes, and when each show is visible.
func style(out io.Writer, length time.Duration, shows []show) {
	fmt.Fprintf(out, "svg{%s}\n@media(prefers-color-scheme:dark){svg{%s}}\n", variables(light), variables(dark))
	fmt.Fprintf(out, "text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:var(--f);white-space:pre}\n", fontSize)
	fmt.Fprint(out, ".b{fill:var(--b);stroke:var(--c)}.h{fill:var(--h)}.c{fill:var(--c)}.t{text-anchor:middle;font-size:12px;fill:var(--f)}\n")
	fmt.Fprintf(out, ".s{visibility:hidden;animation-duration:%dms;animation-timing-function:step-end;animation-iteration-count:infinite}.l{visibility:visible}\n", length.Milliseconds())
	fmt.Fprint(out, "@media(prefers-reduced-motion:reduce){.s{animation:none!important}}\n")
	done := map[string]bool{"": true}
	for _, s := range shows {
		if done[s.name] {
			continue
		}
		done[s.name] = true
		fmt.Fprintf(out, "@keyframes %s{", s.name)
		if s.from > 0 {
			fmt.Fprint(out, "0%{visibility:hidden}")
		}
		fmt.Fprintf(out, "%s{visibility:visible}", percent(s.from, length))
		if !s.last {
			fmt.Fprintf(out, "%s{visibility:hidden}", percent(s.to, length))
		}
		fmt.Fprint(out, "100%{visibility:", map[bool]string{true: "visible", false: "hidden"}[s.last], "}}\n")
	}
}

func variables(theme [20]string) string {
	var b bytes.Buffer
	for i, name := range []string{"f", "b", "h", "c"} {
		fmt.Fprintf(&b, "--%s:%s;", name, theme[i])
	}
	for i, colour := range theme[4:] {
		fmt.Fprintf(&b, "--%d:%s;", i, colour)
	}
	return b.String()
}

func percent(at, length time.Duration) string {
	return fmt.Sprintf("%.4f%%", 100*float64(at)/float64(length))
}

// drawRun draws consecutive glyphs with the same look. Glyphs that are only spaces have no text.
func drawRun(out io.Writer, row []vt10x.Glyph, x, y int) {
	first := row[0]
	if first.BG != vt10x.DefaultBG {
		fmt.Fprintf(out, `<rect x="%s" y="%d" width="%s" height="%d" fill="%s"/>`, pixels(x), y*cellHeight, pixels(len(row)), cellHeight, colour(first.BG))
	}
	text := make([]rune, len(row))
	for i, g := range row {
		text[i] = g.Char
	}
	if first.Mode&underline == 0 && len(bytes.TrimSpace([]byte(string(text)))) == 0 {
		return
	}
	look := ""
	if first.FG != vt10x.DefaultFG {
		look += "fill:" + colour(first.FG) + ";"
	}
	if first.Mode&bold != 0 {
		look += "font-weight:bold;"
	}
	if first.Mode&italic != 0 {
		look += "font-style:italic;"
	}
	if first.Mode&underline != 0 {
		look += "text-decoration:underline;"
	}
	if look != "" {
		look = ` style="` + look + `"`
	}
	fmt.Fprintf(out, `<text xml:space="preserve" x="%s" y="%d" textLength="%s"%s>%s</text>`, pixels(x), y*cellHeight+fontSize, pixels(len(row)), look, escape(string(text)))
}

func pixels(cells int) string { return fmt.Sprintf("%.1f", float64(cells)*cellWidth) }

// colour returns a colour of a glyph: one of the theme's, or one of the 240 fixed ones.
func colour(c vt10x.Color) string {
	switch {
	case c == vt10x.DefaultFG:
		return "var(--f)"
	case c == vt10x.DefaultBG:
		return "var(--b)"
	case c < 16:
		return fmt.Sprintf("var(--%d)", c)
	case c < 232:
		part := func(n vt10x.Color) vt10x.Color {
			if n == 0 {
				return 0
			}
			return 55 + 40*n
		}
		c -= 16
		return fmt.Sprintf("#%02x%02x%02x", part(c/36), part(c/6%6), part(c%6))
	case c < 256:
		grey := 8 + 10*(c-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
	return fmt.Sprintf("#%06x", uint32(c)&0xffffff)
}

// escape escapes text for XML. Characters that XML does not allow, such as an escape character, become U+FFFD.
func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // writing to a buffer never fails
	return b.String()
}
