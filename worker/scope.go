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

	"github.com/google/uuid"

	"svc"
)

// scopes starts each session in a systemd scope of its own, so that the kernel accounts for the processes of a
// run together and can limit them. On hosts without systemd, sessions are started directly.
type scopes struct {
	w     *Worker
	begin func() []string // returns the arguments before the unit's name; nil: this host has no scopes
	once  sync.Once       // limits the warning about a scope that could not be made
}

// scopeProbeLimit bounds the probe, in case the service manager does not answer.
const scopeProbeLimit = 5 * time.Second

func newScopes(w *Worker) *scopes {
	s := &scopes{w: w}
	s.begin = sync.OnceValue(s.probe)
	return s
}

// within returns the command prefix that starts a session of the run in a scope, and the environment that it
// needs. Both are nil when this host has no scopes.
func (s *scopes) within(runID string) (argv, env []string) {
	begin := s.begin()
	if begin == nil {
		return nil, nil
	}
	argv = append(append([]string{}, begin...), "--unit="+unitName(runID))
	settings := s.w.opts.Config.Worker
	if settings.RunMemoryMax != "" {
		argv = append(argv, "-p", "MemoryMax="+settings.RunMemoryMax)
	}
	if settings.RunTasksMax > 0 {
		argv = append(argv, "-p", "TasksMax="+itoa(settings.RunTasksMax))
	}
	// If tmux finds the user's manager, it moves each pane to another scope, which has no limits.
	return append(argv, "--", "env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS"), busEnv()
}

// unitName returns a name for the scope of a session. It ends at random, because systemd refuses a name that is in use:
// an earlier session of the run may still have its scope.
func unitName(runID string) string { return svc.SessionName(runID) + "-" + uuid.NewString()[:8] }

// state returns whether runs have scopes here, as it is reported: on or off.
func (s *scopes) state() string {
	if s.begin() == nil {
		return "off"
	}
	return "on"
}

// failed logs, once, that a scope could not be made; the session is then started without one.
func (s *scopes) failed(err error) {
	s.once.Do(func() {
		s.w.log.Warn("a run was started without a scope, so its limits have no effect; this is logged only once", "error", err)
	})
}

// probe tests, by making one, whether scopes can be made here.
func (s *scopes) probe() []string {
	settings := s.w.opts.Config.Worker
	if settings.Scopes != "auto" {
		return nil
	}
	manager, err := scopeManager()
	if err == nil {
		begin := []string{"systemd-run", manager, "--scope", "--collect", "--quiet", "--no-ask-password"}
		// With OOMPolicy=continue, when memory runs out, the kernel kills the process that uses the most and
		// the rest of the run continues. Otherwise systemd would end the whole scope. Before systemd 253 scopes
		// had no such property and behaved like that anyway.
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

// scopeManager returns the option that selects the service manager for scopes. For root it is the system's
// manager. The scopes of another user end with the user's manager, which ends at the last logout, but a run
// must not. So they are used only if that manager lingers, or if the worker itself ends with it.
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

// belowManager reports whether a process in these control groups belongs to the user's manager.
func belowManager(cgroups, uid string) bool {
	return strings.Contains(cgroups, "/user@"+uid+".service/")
}

// busEnv returns the variables with which systemd-run finds the user's manager. A system unit has neither of
// them.
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
