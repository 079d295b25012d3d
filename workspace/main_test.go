package workspace

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"svc"
)

// TestMain runs a task instead of the tests if the environment has one, for tests that kill a process in the middle
// of an operation.
func TestMain(m *testing.M) {
	if task := os.Getenv("WORKSPACE_TEST_TASK"); task != "" {
		os.Exit(perform(task))
	}
	checks := "10"
	if os.Getenv("SVC_TEST_LONG") != "" {
		checks = "300"
	}
	asked := func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "rapid.checks") }
	if !slices.ContainsFunc(os.Args, asked) {
		if err := flag.Set("rapid.checks", checks); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// task is one operation for a process of its own.
type task struct {
	Dir        string
	Git        string // the binary
	ID, Branch string
	Source     svc.Source
	Do         string // prepare, checkpoint, remove, land
	Land       svc.LandOrder
	Die        Step // the step at which it kills itself; empty: git kills it
}

func perform(text string) int {
	var do task
	if err := json.Unmarshal([]byte(text), &do); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	h := Host{Dir: do.Dir, at: func(step Step) {
		if step == do.Die {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}}
	h.Git.Bin = do.Git
	var err error
	switch do.Do {
	case "prepare":
		_, err = h.Prepare(context.Background(), Order{ID: do.ID, Branch: do.Branch, Source: do.Source, Env: os.Environ()})
	case "checkpoint":
		_, _, err = h.Checkpoint(context.Background(), do.ID)
	case "remove":
		err = h.Remove(context.Background(), do.ID, Parting{Landed: 1})
	case "land":
		_, err = h.Land(context.Background(), do.ID, do.Land)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
