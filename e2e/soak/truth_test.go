package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// truth are the notes that an agent wrote about itself, outside of svc.
type truth struct {
	Starts   []string  // the hosts that started it
	From, To time.Time // of its first and its last note
	Lines    int       // the number of lines that it has certainly printed
	Progress []string  // progress messages that were reported and accepted
	Asked    []string  // questions that were reported and accepted
	Keys     []string  // lines that it read from its terminal
	Failed   bool      // it was about to report a failure
	Exit     *int      // the exit code; nil: the script did not reach its end
}

// line returns one line of an agent's output as its terminal shows it.
func line(a attempt, n int) string { return fmt.Sprintf("line %d of %s", n, a) }

// printed returns the first n lines of an agent's output as its terminal receives them.
func printed(a attempt, n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString(line(a, i))
		b.WriteString("\r\n")
	}
	return b.String()
}

// readTruth reads the notes of every agent.
func readTruth(t *testing.T, dir string) map[attempt]truth {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[attempt]truth{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		run, number, _ := strings.Cut(e.Name(), ".")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("the file name %s of an agent's notes has no attempt", e.Name())
		}
		all[attempt{run, n}] = parseTruth(string(text))
	}
	return all
}

// parseTruth parses the notes of one agent. Each line has a time in nanoseconds, a word and its value.
func parseTruth(text string) truth {
	var t truth
	for l := range strings.Lines(text) {
		if !strings.HasSuffix(l, "\n") {
			continue // the agent was killed while it wrote this line
		}
		at, rest, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " ")
		word, value, _ := strings.Cut(rest, " ")
		ns, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			continue
		}
		if t.To = time.Unix(0, ns); t.From.IsZero() {
			t.From = t.To
		}
		switch word {
		case "start":
			t.Starts = append(t.Starts, value)
		case "out":
			t.Lines, _ = strconv.Atoi(value)
		case "progress":
			t.Progress = append(t.Progress, value)
		case "asked":
			t.Asked = append(t.Asked, value)
		case "key":
			t.Keys = append(t.Keys, value)
		case "failed":
			t.Failed = true
		case "exit":
			if code, err := strconv.Atoi(value); err == nil {
				t.Exit = &code
			}
		}
	}
	return t
}
