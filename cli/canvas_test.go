package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// Whatever is drawn, the terminal never has to scroll or wrap.
func TestWhatIsDrawnFitsTheWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[a-zä界]{0,200}`), 0, 60).Draw(t, "lines")
		cols, rows := rapid.IntRange(10, 120).Draw(t, "cols"), rapid.IntRange(3, 40).Draw(t, "rows")
		drawn := strings.Split(layOut(strings.Join(lines, "\n"), "below", cols, rows), "\r\n")
		if len(drawn) > rows {
			t.Fatalf("%d lines in a window of %d", len(drawn), rows)
		}
		for _, line := range drawn {
			if w := ansi.StringWidth(line); w > cols {
				t.Fatalf("%d columns in a window of %d: %q", w, cols, line)
			}
		}
		if last := drawn[len(drawn)-1]; !strings.Contains(last, "below") {
			t.Fatalf("the line below is %q", last)
		}
	})
}

func TestACanvasGivesTheScreenBackWithTheLastAnswerOnIt(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := newCanvas(&out)
	c.close()
	if out.Len() > 0 {
		t.Errorf("without an answer the terminal is left alone, not told %q", &out)
	}
	c.draw("one\n", "below")
	c.draw("two\n", "below")
	c.close()
	if got := out.String(); strings.Count(got, enterCanvas) != 1 || !strings.HasSuffix(got, leaveCanvas+"two\n") {
		t.Errorf("the terminal was told %q", got)
	}
}
