package process

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestACommandMayHoldAnything(t *testing.T) {
	t.Parallel()
	rest := " 3 4 5 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99 10 11"
	for text, want := range map[string]Stat{
		"2 (sh) S" + rest:        {ID: ID{2, 99}, Parent: 3, Session: 5, Command: "sh"},
		"2 (a) Z 7 (b) R" + rest: {ID: ID{2, 99}, Parent: 3, Session: 5, Command: "a) Z 7 (b"},
		"2 (sh) Z" + rest:        {ID: ID{2, 99}, Parent: 3, Session: 5, Command: "sh", Ended: true},
		"2 (sh) Z" + strings.Replace(rest, " 0 1 0 99", " 0 2 0 99", 1): {ID: ID{2, 99}, Parent: 3, Session: 5, Command: "sh"},
	} {
		if got, err := parse([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ")", "2 (sh) S 3", "x (sh) S" + rest, "2 (sh) S" + strings.Replace(rest, "99", "no", 1)} {
		if got, err := parse([]byte(text)); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

func TestAProcessKnowsItsParent(t *testing.T) {
	t.Parallel()
	self, err := Read(os.Getpid())
	if err != nil || self.Parent != os.Getppid() || self.Command == "" || self.Ended {
		t.Errorf("%+v, %v", self, err)
	}
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(p Stat) bool { return p.ID == self.ID }) {
		t.Error("this process is not among all")
	}
}

func TestAProcessHasANumberInItsOwnNamespace(t *testing.T) {
	t.Parallel()
	if got, want := InnerPID(os.Getpid()), os.Getpid(); got != want { // both are the same in one namespace
		t.Errorf("got %d, want %d", got, want)
	}
	if got := InnerPID(1 << 30); got != 0 {
		t.Errorf("a process that there is not has the number %d", got)
	}
}
