package leftover_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"svc/leftover"
	"svc/process"
)

// start runs a shell script that prints "index pid" lines, and returns pids of them. Its standard input stays
// open.
func start(t *testing.T, script string, pids int, env ...string) (root int, found []int) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range append(found, -cmd.Process.Pid) { // the processes in other sessions, and the group
			if pid != 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		_ = in.Close()
		_ = cmd.Wait()
	})
	found = make([]int, pids)
	lines := bufio.NewScanner(out)
	for range pids {
		var index, pid int
		if !lines.Scan() {
			t.Fatal("the script has ended")
		}
		if _, err := fmt.Sscan(lines.Text(), &index, &pid); err != nil {
			t.Fatal(err)
		}
		found[index] = pid
	}
	return cmd.Process.Pid, found
}

func pidsOf(t *testing.T, s leftover.Search) (pids []int) {
	t.Helper()
	found, err := s.Find()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		pids = append(pids, p.PID)
	}
	return pids
}

const sleeper = `echo 0 $$; exec sleep 600`

func TestProcessesAreFoundByEachSign(t *testing.T) {
	t.Parallel()
	run := fmt.Sprintf("run-%d-%d", os.Getpid(), time.Now().UnixNano())
	root, pids := start(t, `(setsid sh -c '`+sleeper+`' & wait) & read line`, 1, "SVC_RUN_ID="+run, "SVC_ATTEMPT=2")
	known, err := process.Of(pids[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		search leftover.Search
		want   bool
	}{
		"tree":                {leftover.Search{Root: root}, true},
		"environment":         {leftover.Search{RunID: run, Attempt: 2}, true},
		"another attempt":     {leftover.Search{RunID: run, Attempt: 3}, false},
		"known":               {leftover.Search{Known: []leftover.Process{{ID: known}}}, true},
		"its pid used again":  {leftover.Search{Known: []leftover.Process{{ID: process.ID{PID: known.PID, Start: known.Start + 1}}}}, false},
		"its own session":     {leftover.Search{Leader: known}, false}, // the leader itself is not a leftover
		"kept":                {leftover.Search{Root: root, Keep: []string{"sleep"}}, false},
		"all kept":            {leftover.Search{Root: root, Keep: []string{"*"}}, false},
		"another one is kept": {leftover.Search{Root: root, Keep: []string{"slee"}}, true},
		"nothing":             {leftover.Search{}, false},
	} {
		if got := slices.Contains(pidsOf(t, c.search), pids[0]); got != c.want {
			t.Errorf("%s: found %v, want %v", name, got, c.want)
		}
	}
}

func TestAChildOfAKeptProgramIsKept(t *testing.T) {
	t.Parallel()
	daemon := t.TempDir() + "/daemon"
	if err := os.WriteFile(daemon, []byte("#!/bin/sh\necho 0 $$\nsh -c 'echo 1 $$; sleep 600; true'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, pids := start(t, daemon+` & read line`, 2)
	if got := pidsOf(t, leftover.Search{Root: root, Keep: []string{"daemon"}}); len(got) != 0 {
		t.Errorf("found %v, want none", got)
	}
	got := pidsOf(t, leftover.Search{Root: root})
	for _, want := range pids {
		if !slices.Contains(got, want) {
			t.Errorf("found %v, want the daemon and what it started: %v", got, pids)
		}
	}
}

func TestAStubbornProcessIsKilledAfterTheGrace(t *testing.T) {
	t.Parallel()
	root, pids := start(t, `setsid sh -c 'trap "" TERM; echo 1 $$; while :; do sleep 0.05; done' & sh -c '`+sleeper+`' & read line`, 2)
	var told []string
	left, err := leftover.Search{Root: root}.End(context.Background(), 2*time.Second, func(p leftover.Process, s syscall.Signal) {
		if slices.Contains(pids, p.PID) {
			told = append(told, fmt.Sprint(p.PID, " ", int(s)))
		}
	})
	if err != nil || len(left) != 0 {
		t.Fatalf("left %v, %v", left, err)
	}
	for _, want := range []string{fmt.Sprint(pids[1], " 15"), fmt.Sprint(pids[1], " 9"), fmt.Sprint(pids[0], " 15")} {
		if !slices.Contains(told, want) {
			t.Errorf("told %q, want %q among them", told, want)
		}
	}
	if slices.Contains(told, fmt.Sprint(pids[0], " 9")) {
		t.Error("a process that heeded SIGTERM was killed")
	}
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	t.Parallel()
	root, pids := start(t, `sh -c '`+sleeper+`' & read line`, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left, err := leftover.Search{Root: root}.End(ctx, time.Hour, func(leftover.Process, syscall.Signal) {})
	if err == nil || !slices.ContainsFunc(left, func(p leftover.Process) bool { return p.PID == pids[0] }) {
		t.Errorf("left %v, %v; want the process and an error", left, err)
	}
}
