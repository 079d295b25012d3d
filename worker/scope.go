package worker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc"
)

// scopes starts each session in a systemd scope of its own, so that the kernel accounts for a run as a
// whole and can limit it. Where there is no systemd, sessions are started directly.
type scopes struct {
	w     *Worker
	begin func() []string // the words before a unit's name; nil: there are no scopes here
	once  sync.Once       // for the warning about a scope that could not be made
}

// scopeProbeLimit is for a manager that does not answer.
const scopeProbeLimit = 5 * time.Second

func newScopes(w *Worker) *scopes {
	s := &scopes{w: w}
	s.begin = sync.OnceValue(s.probe)
	return s
}

// within is the command that starts a session of the run, and what it needs in its environment. Nothing:
// without a scope.
func (s *scopes) within(runID string) (argv, env []string) {
	begin := s.begin()
	if begin == nil {
		return nil, nil
	}
	// A name of its own for each start: one that is taken would be refused.
	argv = append(append([]string{}, begin...), "--unit="+svc.SessionName(runID)+"-"+svc.NewID()[:8])
	settings := s.w.opts.Config.Worker
	if settings.RunMemoryMax != "" {
		argv = append(argv, "-p", "MemoryMax="+settings.RunMemoryMax)
	}
	if settings.RunTasksMax > 0 {
		argv = append(argv, "-p", "TasksMax="+itoa(settings.RunTasksMax))
	}
	// A tmux that finds the user's manager moves its panes to scopes of their own, which have no limits.
	return append(argv, "--", "env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS"), busEnv()
}

// word reports whether runs have scopes here: on or off.
func (s *scopes) word() string {
	if s.begin() == nil {
		return "off"
	}
	return "on"
}

// failed is told once that a scope was refused; the session is then started without.
func (s *scopes) failed(err error) {
	s.once.Do(func() {
		s.w.log.Warn("a run was started without a scope, and its limits do not hold; said once", "error", err)
	})
}

// probe finds out whether scopes can be made here, by making one.
func (s *scopes) probe() []string {
	settings := s.w.opts.Config.Worker
	if settings.Scopes != "auto" {
		return nil
	}
	manager, err := scopeManager()
	if err == nil {
		begin := []string{"systemd-run", manager, "--scope", "--collect", "--quiet", "--no-ask-password"}
		// When memory runs out, the kernel ends the greediest process and the rest of the run goes on, not
		// the whole scope. Before systemd 253 scopes had no such property, and did just that.
		for _, words := range [][]string{append(begin[:len(begin):len(begin)], "-p", "OOMPolicy=continue"), begin} {
			if err = tryScope(s.w.ctx, words); err == nil {
				return words
			}
		}
	}
	if settings.RunMemoryMax != "" || settings.RunTasksMax > 0 {
		s.w.log.Warn("run_memory_max and run_tasks_max have no effect: runs have no scopes here", "error", err)
	} else {
		s.w.log.Debug("runs have no scopes here", "error", err)
	}
	return nil
}

func tryScope(ctx context.Context, words []string) error {
	ctx, cancel := context.WithTimeout(ctx, scopeProbeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], append(words[1:len(words):len(words)], "--", "true")...)
	cmd.Env = append(os.Environ(), busEnv()...)
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("systemd-run: %w %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// scopeManager says whose manager makes the scopes: root's are the machine's. Those of a user end with
// the user's manager, which ends at the last logout; a run must not. So they are used only where
// that manager stays, or where the worker itself ends with it.
func scopeManager() (flag string, err error) {
	if os.Geteuid() == 0 {
		return "--system", nil
	}
	me, err := user.Current()
	if err != nil {
		return "", err
	}
	cgroups, _ := os.ReadFile("/proc/self/cgroup")
	_, notLingering := os.Stat(filepath.Join("/var/lib/systemd/linger", me.Username))
	if !belowManager(string(cgroups), me.Uid) && notLingering != nil {
		return "", fmt.Errorf("the manager of user %s ends with the last logout (loginctl enable-linger keeps it)", me.Username)
	}
	return "--user", nil
}

// belowManager reports whether a process of these control groups belongs to the user's manager.
func belowManager(cgroups, uid string) bool {
	return strings.Contains(cgroups, "/user@"+uid+".service/")
}

// busEnv is where systemd-run finds the user's manager. A unit of the machine has neither variable.
func busEnv() []string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = "/run/user/" + strconv.Itoa(os.Geteuid())
	}
	env := []string{"XDG_RUNTIME_DIR=" + dir}
	if bus := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); bus != "" {
		env = append(env, "DBUS_SESSION_BUS_ADDRESS="+bus)
	}
	return env
}
