package cli

import (
	"io"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
	"golang.org/x/term"
)

// isTerminal says whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the number of columns of a terminal; 0 when it is none.
func width(stream any) int {
	f, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return 0
	}
	cols, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return cols
}

// human says whether the answer is read by a person: then it has ages instead
// of times, and fits the window.
func (a *app) human() bool { return isTerminal(a.out) }

// coloured says whether a stream gets colours. NO_COLOR and TERM=dumb forbid
// them, unless the flag says otherwise.
func (a *app) coloured(stream io.Writer) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(stream) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

// styles are the few colours there are. State is never told by colour alone.
type styles struct {
	good, warn, bad, dim, bold lipgloss.Style
}

// styles are those for messages, on standard error.
func (a *app) styles() styles { return a.stylesFor(a.err) }

func (a *app) stylesFor(stream io.Writer) styles {
	r := lipgloss.NewRenderer(stream)
	r.SetColorProfile(termenv.Ascii)
	if a.coloured(stream) {
		r.SetColorProfile(termenv.ANSI)
	}
	colour := func(c string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(c)) }
	return styles{good: colour("2"), warn: colour("3"), bad: colour("1"), dim: r.NewStyle().Faint(true), bold: r.NewStyle().Bold(true)}
}
