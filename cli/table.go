package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"svc/safetext"
)

const columnGap = 2

// printTable prints aligned columns. On a terminal it shortens the flexible columns so that each row fits on a line;
// elsewhere it shortens nothing.
func printTable[T any](a *app, columns []column[T], items []T) {
	st := a.stylesFor(a.out)
	cells := make([][]string, len(items))
	widths := make([]int, len(columns))
	for c, col := range columns {
		widths[c] = lipgloss.Width(col.head)
		for r, item := range items {
			text := string(safetext.Line(col.cell(item)))
			cells[r] = append(cells[r], text)
			widths[c] = max(widths[c], lipgloss.Width(text))
		}
	}
	if a.human() {
		shrink(widths, columns, width(a.out))
	}
	var heads []safetext.Text
	for c, col := range columns {
		heads = append(heads, st.dim.Render(pad(col.head, widths[c])))
	}
	printRow(a, heads)
	for r, item := range items {
		var row []safetext.Text
		for c, col := range columns {
			toned := plain
			if col.tone != nil {
				toned = col.tone(item)
			}
			row = append(row, st.of(toned).Render(pad(ansi.Truncate(cells[r][c], widths[c], "…"), widths[c])))
		}
		printRow(a, row)
	}
}

func printRow(a *app, cells []safetext.Text) {
	a.out.println(trimRight(joined(cells, strings.Repeat(" ", columnGap))))
}

func joined(texts []safetext.Text, between string) (whole safetext.Text) {
	for i, text := range texts {
		if i > 0 {
			whole += safetext.Line(between)
		}
		whole += text
	}
	return whole
}

func trimRight(text safetext.Text) safetext.Text {
	return safetext.Text(strings.TrimRight(string(text), " "))
}

// shrink makes the flexible columns narrower, the widest first, until a row fits.
func shrink[T any](widths []int, columns []column[T], window int) {
	const least = 8
	for window > 0 {
		total, widest := -columnGap, -1
		for c, w := range widths {
			total += w + columnGap
			if columns[c].flex && w > least && (widest < 0 || w > widths[widest]) {
				widest = c
			}
		}
		if total <= window || widest < 0 {
			return
		}
		widths[widest]--
	}
}

func pad(s string, to int) string { return s + strings.Repeat(" ", max(0, to-lipgloss.Width(s))) }

// of returns the style for a tone.
func (s styles) of(t tone) style {
	switch t {
	case good:
		return s.good
	case warn:
		return s.warn
	case bad:
		return s.bad
	case dim:
		return s.dim
	default:
		return style{lipgloss.NewStyle()}
	}
}

// age formats a duration in one unit.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "in " + age(-d)
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}
