package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// wrapperOf matches the command of a wrapper, with the run and the attempt.
var wrapperOf = regexp.MustCompile(` exec run \S*?([0-9a-f]{8}-[0-9a-f-]{27})\.(\d+)/`)

// live is a running session: its wrapper and its tmux server.
type live struct {
	attempt       attempt
	wrapper, tmux int // process ids; 0: not found
}

// sessions returns the running sessions of all hosts.
func (s *site) sessions() []live {
	var found []live
	servers := map[string]int{}
	processes := s.lab.Processes()
	for _, p := range processes {
		if strings.HasPrefix(p.Command, "tmux") {
			if at := strings.Index(p.Command, "/rt/svc-"); at >= 0 {
				socket, _, _ := strings.Cut(p.Command[at+len("/rt/"):], " ")
				servers[filepath.Base(socket)] = p.PID
			}
		}
	}
	for _, p := range processes {
		match := wrapperOf.FindStringSubmatch(p.Command)
		if match == nil || strings.HasPrefix(p.Command, "tmux") {
			continue
		}
		n, _ := strconv.Atoi(match[2])
		found = append(found, live{attempt{match[1], n}, p.PID, servers[match[1][:8]]})
	}
	return found
}

// anySession returns a random running session; false: there is none.
func (s *site) anySession(r *rand.Rand) (live, bool) {
	all := s.sessions()
	if len(all) == 0 {
		return live{}, false
	}
	return all[r.IntN(len(all))], true
}

// killSession kills the wrapper or the tmux server of a session, or both, and records this for the judge:
// the end of the agent cannot be compared with its notes then.
func (s *site) killSession(r *rand.Rand) fault {
	l, ok := s.anySession(r)
	if !ok {
		return fault{}
	}
	what := []string{"wrapper", "tmux", "wrapper and tmux"}[r.IntN(3)]
	return fault{name: what + " of a session killed", target: "session", begin: func() {
		s.mu.Lock()
		s.kills[l.attempt] = what
		s.mu.Unlock()
		if what != "tmux" {
			s.kill(l.wrapper, syscall.SIGKILL)
		}
		if what != "wrapper" {
			s.kill(l.tmux, syscall.SIGKILL)
		}
	}}
}

// freezeSession freezes a session's wrapper or tmux server for a while. Nothing may be lost by that.
func (s *site) freezeSession(r *rand.Rand) fault {
	l, ok := s.anySession(r)
	if !ok {
		return fault{}
	}
	pid := []int{l.wrapper, l.tmux}[r.IntN(2)]
	return fault{
		name: "wrapper or tmux of a session frozen", target: "session", most: 5 * time.Second,
		begin: func() { s.kill(pid, syscall.SIGSTOP) },
		end:   func() { s.kill(pid, syscall.SIGCONT) },
	}
}

// kill sends a signal to a process that may have ended. A pid of 0 is ignored.
func (s *site) kill(pid int, sig syscall.Signal) {
	if pid == 0 {
		return
	}
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		s.t.Errorf("signal %d: %v", pid, err)
	}
}

// fillDisk fills the disk of a host or of the orchestrator completely.
func (s *site) fillDisk(name, dir string) fault {
	if !s.disks {
		return fault{}
	}
	ballast := filepath.Join(dir, "ballast")
	var from time.Time
	what := "disk of a host full"
	if name == "orchestrator" {
		what = "disk of the orchestrator full"
	}
	return fault{
		name: what, target: filepath.Base(dir) + " disk", most: 5 * time.Second,
		begin: func() {
			from = time.Now()
			if err := fill(ballast); !errors.Is(err, syscall.ENOSPC) {
				s.t.Errorf("fill the disk of %s: %v", name, err)
			}
		},
		end: func() {
			s.remove(ballast)
			s.mu.Lock()
			s.full = append(s.full, outage{name, from, time.Now()})
			s.mu.Unlock()
		},
	}
}

// fill writes until the disk is full, and returns the last error.
func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	for size := 1 << 20; size > 0; {
		if _, err = file.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	return err
}

// breakDatabase stops, kills or freezes the PostgreSQL server. With SQLite there is no server.
func (s *site) breakDatabase(r *rand.Rand) fault {
	c := s.cluster
	if c == nil {
		return fault{}
	}
	switch r.IntN(3) {
	case 0:
		return fault{name: "database restarted", target: "database", most: 3 * time.Second, begin: c.Stop, end: c.Launch}
	case 1:
		return fault{name: "database killed", target: "database", most: 3 * time.Second, begin: c.Crash, end: c.Launch}
	default:
		return fault{name: "database frozen", target: "database", most: 10 * time.Second, begin: c.Freeze, end: c.Thaw}
	}
}

// jump is a change of the orchestrator's clock.
type jump struct {
	at     time.Time
	offset time.Duration
}

// moveClock sets the orchestrator's clock ahead or back, and later corrects it.
func (s *site) moveClock(r *rand.Rand) fault {
	if s.clock == "" {
		return fault{}
	}
	offset := []time.Duration{-time.Hour, -10 * time.Second, 10 * time.Second, time.Hour}[r.IntN(4)]
	return fault{
		name: "clock moved", target: "clock", most: 15 * time.Second,
		begin: func() { s.setClock(offset) },
		end:   func() { s.setClock(0) },
	}
}

func (s *site) setClock(offset time.Duration) {
	beside := s.clock + ".new"
	err := os.WriteFile(beside, []byte(fmt.Sprint(int64(offset/time.Second))), 0o600)
	if err == nil {
		err = os.Rename(beside, s.clock)
	}
	if err != nil {
		s.t.Error(err)
	}
	s.jumps = append(s.jumps, jump{time.Now(), offset})
}
