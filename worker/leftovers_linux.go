package worker

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"svc/tmux"
)

// processesOf reads the environment that each process was started with. Those of other users are not
// readable, and not ours.
func processesOf(runID string, attempt int) ([]leftover, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []leftover
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		start, err := tmux.ProcessStart(pid)
		if err != nil {
			continue // it has ended
		}
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		// A quick look first: splitting every environment of a host is slow.
		if err != nil || !bytes.Contains(environ, []byte("SVC_RUN_ID="+runID)) ||
			!carries(strings.Split(string(environ), "\x00"), runID, attempt) {
			continue
		}
		command, _ := os.ReadFile("/proc/" + e.Name() + "/comm") // a name for the log; it may have ended
		found = append(found, leftover{tmux.Process{PID: pid, Start: start}, strings.TrimSpace(string(command))})
	}
	return found, nil
}
