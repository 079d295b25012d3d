package cli

import (
	"io"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
	"golang.org/x/term"

	"svc/safetext"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns the number of columns of a terminal; 0 when the stream is no terminal.
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

// human reports whether the answer goes to a terminal. It then has ages instead of times, and fits the width.
func (a *app) human() bool { return isTerminal(a.out) }

// coloured reports whether a stream gets colours. NO_COLOR and TERM=dumb switch them off, unless --color says
// otherwise.
func (a *app) coloured(s *stream) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(s) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

// styles are the colours that svc uses. A state is never shown by its colour alone.
type styles struct {
	good, warn, bad, dim, bold style
}

// style is one of the styles. The text that it renders is safe to print.
type style struct{ of lipgloss.Style }

// Render returns a line in this style.
func (s style) Render(line string) safetext.Text {
	return safetext.Text(s.of.Render(string(safetext.Line(line))))
}

// styles returns the styles for messages, on standard error.
func (a *app) styles() styles { return a.stylesFor(a.err) }

func (a *app) stylesFor(s *stream) styles {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.Ascii)
	if a.coloured(s) {
		r.SetColorProfile(termenv.ANSI)
	}
	colour := func(c string) style { return style{r.NewStyle().Foreground(lipgloss.Color(c))} }
	return styles{good: colour("2"), warn: colour("3"), bad: colour("1"), dim: style{r.NewStyle().Faint(true)}, bold: style{r.NewStyle().Bold(true)}}
}
