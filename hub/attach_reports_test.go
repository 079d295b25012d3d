package hub

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

func TestATerminalsOwnWordsAreToldFromKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, input string
		report      bool
	}{
		{"primary device attributes", "\x1b[?62;22c", true},
		{"secondary device attributes", "\x1b[>84;0;0c", true},
		{"version", "\x1bP>|XTerm(370)\x1b\\", true},
		{"place of the cursor", "\x1b[12;40R", true},
		{"status", "\x1b[0n", true},
		{"size of the window", "\x1b[8;50;220t", true},
		{"mode", "\x1b[?2026;2$y", true},
		{"keyboard flags", "\x1b[?0u", true},
		{"background colour", "\x1b]11;rgb:0000/0000/0000\x07", true},
		{"foreground colour", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\", true},
		{"focus", "\x1b[I", true},
		{"several at once", "\x1b[?62;22c\x1b[>84;0;0c\x1bP>|XTerm(370)\x1b\\", true},
		{"nothing", "", false},
		{"a letter", "y", false},
		{"enter", "\r", false},
		{"escape", "\x1b", false},
		{"an arrow", "\x1b[A", false},
		{"an arrow with control", "\x1b[1;5C", false},
		{"delete", "\x1b[3~", false},
		{"a key of the keyboard protocol", "\x1b[97;5u", false},
		{"alt and P", "\x1bP", false},
		{"a click", "\x1b[<0;10;5M", false},
		{"a paste", "\x1b[200~yes\x1b[201~", false},
		{"a report and a key", "\x1b[?62;22cy", false},
	} {
		if got := onlyReports([]byte(c.input)); got != c.report {
			t.Errorf("%s: a report is %v, want %v", c.name, got, c.report)
		}
	}
}

func TestATerminalThatAnswersTmuxHasNotTyped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("a", runA)
		version := "\x1b[>84;0;0c"
		_ = s.sends("a", input(version))
		if len(s.typed) != 0 {
			t.Errorf("told %v though no one typed", s.typed)
		}
		got := slices.DeleteFunc(s.link().take(), func(f string) bool { return !strings.HasPrefix(f, "input") })
		if !slices.Equal(got, []string{"input " + version}) {
			t.Errorf("the worker got %q, want what the terminal said", got)
		}
		_ = s.sends("a", input("y"))
		if len(s.typed) != 1 {
			t.Errorf("told %v after a key", s.typed)
		}
	})
}
