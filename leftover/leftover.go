// Package leftover finds and ends the processes that outlive a session: those that an agent detached from its
// terminal (nohup, setsid), left in the background, or started with another environment.
//
// A process belongs to a session by any of four criteria: it descends from the wrapper, which adopts the
// orphans of its session where the system supports that (Adopt); it is in the wrapper's terminal session; its
// environment names the attempt; or it was found earlier by one of the other criteria. Each single one can
// fail: a parent ends, setsid leaves the terminal session, env -i clears the environment.
package leftover

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"svc/process"
)

// Process is a process with its command name for messages.
type Process struct {
	process.ID
	Command string
}

// Search describes the processes to find. Its zero value finds none.
type Search struct {
	// Root is a process whose descendants belong to the session; Root itself does not. 0: none.
	Root int
	// Leader is the leader of the terminal session whose members belong to the session. It must be alive, or
	// have ended only a moment ago: later its pid may be the id of another terminal session. Zero: none.
	Leader process.ID
	// RunID and Attempt are the values that a process has in its environment. Empty RunID: environments are not
	// read.
	RunID   string
	Attempt int
	// Known are processes that were found earlier.
	Known []Process
	// Keep are the names of programs that may outlive the session with their descendants, such as shared
	// daemons. "*" means every program.
	Keep []string
}

// Find lists the matching processes that live now, without the caller itself.
func (s Search) Find() ([]Process, error) {
	if slices.Contains(s.Keep, "*") {
		return nil, nil
	}
	table, err := Scan()
	if err != nil {
		return nil, err
	}
	belongs := map[int]bool{}
	for _, p := range table.Descendants(s.Root) {
		belongs[p.PID] = true
	}
	for _, p := range s.Known {
		if table.Lives(p.ID) {
			belongs[p.PID] = true
		}
	}
	for pid, p := range table {
		if s.leads(table, p.Session) || s.RunID != "" && !belongs[pid] && carries(pid, s.RunID, s.Attempt) {
			belongs[pid] = true
		}
	}
	delete(belongs, s.Leader.PID)
	var found []Process
	for pid := range belongs {
		if pid != s.Root && pid != os.Getpid() && !table.kept(pid, s.Root, s.Keep) {
			found = append(found, table.process(pid))
		}
	}
	slices.SortFunc(found, func(a, b Process) int { return a.PID - b.PID })
	return found, nil
}

// leads reports whether a terminal session is the leader's, and not that of a later process with the same pid.
func (s Search) leads(t Table, session int) bool {
	leader, lives := t[session]
	return s.Leader.PID != 0 && session == s.Leader.PID && (!lives || leader.ID == s.Leader)
}

// The times of ending leftovers.
const (
	linger    = 500 * time.Millisecond // before the first signal: a hook that is just reporting ends by itself
	findPause = 50 * time.Millisecond
	killLimit = 5 * time.Second // for the kernel to end killed processes
)

// End ends the processes that Find returns: with SIGTERM, and with SIGKILL after the grace, until none is left.
// It calls tell once for each process and signal. It returns the processes that still live when ctx ends, or
// that even SIGKILL has not ended.
func (s Search) End(ctx context.Context, grace time.Duration, tell func(Process, syscall.Signal)) (left []Process, err error) {
	told := map[Process]syscall.Signal{}
	begun := time.Now()
	tick := time.NewTicker(findPause)
	defer tick.Stop()
	for {
		left, err = s.Find()
		passed := time.Since(begun)
		if err != nil || len(left) == 0 || passed > linger+grace+killLimit {
			return left, err
		}
		s.Known = append(s.Known, left...) // the other criteria may fail later
		for _, p := range left {
			switch {
			case passed < linger:
			case passed < linger+grace:
				if told[p] == 0 {
					told[p] = syscall.SIGTERM
					tell(p, syscall.SIGTERM)
					_ = p.Signal(syscall.SIGTERM) // after an error the next Find returns it again
					_ = p.Signal(syscall.SIGCONT) // a suspended process cannot act on SIGTERM
				}
			default:
				if told[p] != syscall.SIGKILL {
					told[p] = syscall.SIGKILL
					tell(p, syscall.SIGKILL)
				}
				_ = p.Signal(syscall.SIGKILL)
			}
		}
		select {
		case <-ctx.Done():
			return left, ctx.Err()
		case <-tick.C:
		}
	}
}

// Table has every process that lived at one moment, by pid, without zombies.
type Table map[int]process.Stat

// Scan reads all processes.
func Scan() (Table, error) {
	all, err := process.All()
	if err != nil {
		return nil, err
	}
	table := make(Table, len(all))
	for _, p := range all {
		table[p.PID] = p
	}
	return table, nil
}

// Lives reports whether the table has this process.
func (t Table) Lives(p process.ID) bool {
	now, lives := t[p.PID]
	return lives && now.ID == p
}

// Descendants lists the children of a process, their children and so on.
func (t Table) Descendants(root int) (found []Process) {
	if root == 0 {
		return nil
	}
	children := map[int][]int{}
	for pid, p := range t {
		children[p.Parent] = append(children[p.Parent], pid)
	}
	seen := map[int]bool{root: true} // the scan is not atomic, so the parents may form a loop
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, pid := range children[next[0]] {
			if !seen[pid] {
				seen[pid] = true
				found = append(found, t.process(pid))
				next = append(next, pid)
			}
		}
	}
	return found
}

func (t Table) process(pid int) Process {
	p := t[pid]
	return Process{ID: p.ID, Command: p.Command}
}

// kept reports whether a process, or one of its ancestors below root, is a program that may stay.
func (t Table) kept(pid, root int, keep []string) bool {
	for range 100 { // deeper than the process tree of any daemon
		p, lives := t[pid]
		if len(keep) == 0 || !lives || pid <= 1 || pid == root {
			return false
		}
		if slices.Contains(keep, p.Command) || slices.Contains(keep, filepath.Base(programOf(pid))) {
			return true
		}
		pid = p.Parent
	}
	return false
}

// carriesIn reports whether an environment names the attempt.
func carriesIn(environ []string, runID string, attempt int) bool {
	return slices.Contains(environ, "SVC_RUN_ID="+runID) && slices.Contains(environ, "SVC_ATTEMPT="+strconv.Itoa(attempt))
}
