package worker

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"svc/tmux"
)

// childrenOf lists the processes that another has started and that live.
func childrenOf(parent int) (children []tmux.Process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// Behind the name in parentheses: the state, then the parent.
		fields := statFields(filepath.Join("/proc", e.Name(), "stat"))
		if len(fields) < 2 || string(fields[1]) != strconv.Itoa(parent) || string(fields[0]) == "Z" {
			continue
		}
		if start, err := tmux.ProcessStart(pid); err == nil {
			children = append(children, tmux.Process{PID: pid, Start: start})
		}
	}
	return children
}

// asleep says whether none of the processes has anything to do now: each of their threads waits.
func asleep(processes []tmux.Process) bool {
	for _, p := range processes {
		threads, err := filepath.Glob("/proc/" + strconv.Itoa(p.PID) + "/task/*/stat")
		if err != nil {
			continue
		}
		for _, thread := range threads {
			fields := statFields(thread)
			if len(fields) > 0 && !bytes.Contains([]byte("SIZX"), fields[0]) {
				return false
			}
		}
	}
	return true
}

// statFields is what follows the name in a process's or thread's record; nil when it is gone.
func statFields(path string) [][]byte {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}
