package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
)

const columnGap = 2

// printTable prints aligned columns. On a terminal the flexible ones are cut so
// that a row is a line; elsewhere nothing is cut.
func printTable[T any](a *app, columns []column[T], items []T) {
	st := a.stylesFor(a.out)
	cells := make([][]string, len(items))
	widths := make([]int, len(columns))
	for c, col := range columns {
		widths[c] = lipgloss.Width(col.head)
		for r, item := range items {
			text := oneLine(col.cell(item))
			cells[r] = append(cells[r], text)
			widths[c] = max(widths[c], lipgloss.Width(text))
		}
	}
	if a.human() {
		shrink(widths, columns, width(a.out))
	}
	var heads []string
	for c, col := range columns {
		heads = append(heads, st.dim.Render(pad(col.head, widths[c])))
	}
	printRow(a, heads)
	for r, item := range items {
		var row []string
		for c, col := range columns {
			text := pad(ansi.Truncate(cells[r][c], widths[c], "…"), widths[c])
			if col.tone != nil {
				text = st.of(col.tone(item)).Render(text)
			}
			row = append(row, text)
		}
		printRow(a, row)
	}
}

func printRow(a *app, cells []string) {
	fmt.Fprintln(a.out, strings.TrimRight(strings.Join(cells, strings.Repeat(" ", columnGap)), " "))
}

// shrink takes from the flexible columns, the widest first, until a row fits.
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

// oneLine keeps what others wrote from moving the cursor or breaking the table.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, s)
}

// of is the style of a tone.
func (s styles) of(t tone) lipgloss.Style {
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
		return lipgloss.NewStyle()
	}
}

// age is a time span in one unit, the way people say it.
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
