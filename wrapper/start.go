package wrapper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"svc/rundir"
)

// failure is why nothing was started.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"` // names what was missing and where; contains no secrets
}

// agent is a started provider.
type agent interface {
	process() int // returns its pid, which is also the id of its process group
	// wait passes signals on until the provider has ended. step is the time of each step in ending a provider
	// whose terminal is gone.
	wait(caught <-chan os.Signal, step time.Duration) rundir.Exit
	root() int // returns the process above all processes of the session; 0: no process can be left
	close()    // ends the rest of a contained session; called after wait and the reaping of leftovers
}

// start starts the provider, contained or not.
func (r *runner) start() (agent, *failure) {
	if term.IsTerminal(0) {
		_ = prepareTerminal() // not essential
	}
	if r.launch.Contain != nil {
		return r.startContained()
	}
	c, failed := r.startHere()
	if failed != nil {
		return nil, failed
	}
	return c, nil
}

// startHere starts the provider as a process group of its own; if there is a terminal, in its foreground.
func (r *runner) startHere() (*child, *failure) {
	if len(r.launch.Argv) == 0 || r.launch.Argv[0] == "" {
		return nil, r.cannot(exitNotFound, "its command is empty")
	}
	if failure := r.checkCwd(); failure != nil {
		return nil, failure
	}
	env := sessionEnv(r.launch, r.env, linkSelf(r.attempt))
	searchPath := lookup(r.launch.Env, "PATH")
	path, err := findProgram(r.launch.Argv[0], r.launch.Cwd, lookup(env, "PATH"))
	if errors.Is(err, fs.ErrPermission) {
		return nil, r.cannot(exitCannotRun, "%s is not executable on %s", path, hostName())
	}
	if err != nil {
		return nil, r.cannot(exitNotFound, "%q was not found on %s (PATH %s)", r.launch.Argv[0], hostName(), searchPath)
	}
	terminal := term.IsTerminal(0)
	files := []uintptr{0, 1, 2}
	if r.launch.Stdin != "" {
		input, err := rundir.OpenOwn(r.launch.Stdin, os.O_RDONLY)
		if err != nil {
			return nil, r.cannot(exitCannotRun, "its prompt cannot be read: %v", err)
		}
		defer input.Close()
		files[0] = input.Fd()
	}
	pid, err := syscall.ForkExec(path, r.launch.Argv, &syscall.ProcAttr{
		Dir: r.launch.Cwd, Env: env, Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: true, Foreground: terminal, Ctty: 0},
	})
	if terminal && errors.Is(err, syscall.ENOTTY) { // not the controlling terminal of this session
		terminal = false
		pid, err = syscall.ForkExec(path, r.launch.Argv, &syscall.ProcAttr{
			Dir: r.launch.Cwd, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setpgid: true},
		})
	}
	switch {
	case errors.Is(err, syscall.E2BIG):
		return nil, r.cannot(exitCannotRun, "its arguments and environment are too large for %s; give a long prompt as a file", hostName())
	case errors.Is(err, syscall.ENOENT): // the program and the directory exist
		return nil, r.cannot(exitNotFound, "the interpreter or loader that %s names is missing on %s", path, hostName())
	case err != nil:
		return nil, r.cannot(exitCannotRun, "%s cannot be executed on %s: %v", path, hostName(), err)
	}
	return &child{pid: pid, terminal: terminal}, nil
}

func (r *runner) checkCwd() *failure {
	info, err := os.Stat(r.launch.Cwd)
	switch {
	case r.launch.Cwd == "":
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return r.cannot(exitNotFound, "its working directory %s does not exist on %s", r.launch.Cwd, hostName())
	case err != nil:
		return r.cannot(exitCannotRun, "its working directory %s cannot be used on %s: %v", r.launch.Cwd, hostName(), err)
	case !info.IsDir():
		return r.cannot(exitCannotRun, "its working directory %s on %s is not a directory", r.launch.Cwd, hostName())
	case unix.Access(r.launch.Cwd, unix.X_OK) != nil:
		return r.cannot(exitCannotRun, "its working directory %s on %s may not be entered by this user", r.launch.Cwd, hostName())
	}
	return nil
}

func (r *runner) cannot(code int, format string, args ...any) *failure {
	return &failure{code, fmt.Sprintf("%s was not started: %s; run `svc provider doctor %s` on this host",
		r.launch.Provider, fmt.Sprintf(format, args...), r.launch.Provider)}
}

// findProgram searches for a program like a shell, but in the session's PATH instead of the wrapper's. Relative
// parts of PATH are skipped, since their meaning depends on the working directory. fs.ErrPermission means that
// path exists but cannot be executed.
func findProgram(name, cwd, searchPath string) (path string, err error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(cwd, name)
		}
		return name, executable(name)
	}
	forbidden := ""
	for _, dir := range filepath.SplitList(searchPath) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		switch err := executable(path); {
		case err == nil:
			return path, nil
		case errors.Is(err, fs.ErrPermission) && forbidden == "":
			forbidden = path
		}
	}
	if forbidden != "" {
		return forbidden, fs.ErrPermission
	}
	return name, fs.ErrNotExist
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode().Perm()&0o111 == 0 || unix.Access(path, unix.X_OK) != nil {
		return fs.ErrPermission
	}
	return nil
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "this host"
	}
	return name
}
