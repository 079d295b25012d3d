package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/rundir"
)

// With contain = "bwrap" a host starts no session uncontained: where bubblewrap is missing or does not work,
// the host refuses runs and reports why.

// containBwrap is the value of [worker] contain that turns containment on.
const containBwrap = "bwrap"

// bwrapDirs are the folders in which bubblewrap is searched. PATH is not used: it often names folders in the
// user's home, where a session could have placed another program of that name.
var bwrapDirs = []string{"/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin", "/run/wrappers/bin"}

// bwrapLimit bounds the probe, in case bwrap hangs.
const bwrapLimit = 10 * time.Second

// FindBwrap finds bubblewrap and tests it with a program that does nothing. The error is written for an
// operator and says what to do.
func FindBwrap(ctx context.Context) (path, version string, err error) {
	for _, dir := range bwrapDirs {
		if path = filepath.Join(dir, "bwrap"); executable(path) {
			version, err = tryBwrap(ctx, path)
			return path, version, err
		}
	}
	return "", "", fmt.Errorf("bubblewrap is not installed: there is no bwrap in %s; install it (apt install bubblewrap) or set [worker] contain = \"off\"",
		strings.Join(bwrapDirs, ", "))
}

func tryBwrap(ctx context.Context, path string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, bwrapLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err == nil {
		probe := exec.CommandContext(ctx, path, "--die-with-parent", "--unshare-pid", "--as-pid-1",
			"--dev-bind", "/", "/", "--proc", "/proc", "--perms", "0700", "--tmpfs", "/tmp", "--", "/bin/sh", "-c", ":")
		probe.Env = []string{"PATH=/usr/bin:/bin"}
		var said []byte
		if said, err = probe.CombinedOutput(); err != nil && len(said) > 0 {
			err = errors.New(strings.TrimSpace(string(said)))
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot contain a session here: %w; bubblewrap 0.5 or newer and user namespaces are needed "+
			"(sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces)", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// contained reports whether sessions on this host are contained.
func (w *Worker) contained() bool { return w.opts.Config.Worker.Contain == containBwrap }

// containment returns the value that is reported to the orchestrator.
func (w *Worker) containment() string {
	if w.contained() {
		return containBwrap
	}
	return "off"
}

// canContain returns the path of bubblewrap if this host contains its sessions; otherwise it returns an empty
// path and no error.
func (w *Worker) canContain(ctx context.Context) (path string, err error) {
	if !w.contained() {
		return "", nil
	}
	path, _, err = w.opts.FindBwrap(ctx)
	return path, err
}

// refuseUncontained makes a host that cannot contain its sessions refuse runs from its start on.
func (w *Worker) refuseUncontained(ctx context.Context) {
	_, err := w.canContain(ctx)
	if err == nil || ctx.Err() != nil {
		return
	}
	for range faultsAllowed {
		w.hostFailed(&hostFault{err})
	}
}

// contain returns how the session of a launch is contained; nil: it is not.
func (s *session) contain(ctx context.Context, cwd string) (*rundir.Contain, error) {
	bwrap, err := s.w.canContain(ctx)
	switch {
	case err != nil:
		return nil, &hostFault{err}
	case bwrap == "":
		return nil, nil
	}
	c := &rundir.Contain{
		Bwrap: bwrap, Inside: s.w.opts.InsideArgv, Hide: s.w.hidden(), Empty: privateSockets(),
		Show: resolved([]string{s.a.SessionPath()}),
	}
	// The working copies of other runs are hidden; the run's own copy is shown.
	work := filepath.Join(string(s.w.dir), "work")
	if rest, err := filepath.Rel(work, cwd); err == nil && filepath.IsLocal(rest) && rest != "." {
		own, _, _ := strings.Cut(rest, string(filepath.Separator))
		c.Show = append(c.Show, resolved([]string{filepath.Join(work, own)})...)
	}
	if here := resolved([]string{cwd}); len(here) == 1 && c.Hides(here[0]) {
		return nil, fmt.Errorf("the working directory %s is in a folder of svc, which contained sessions do not see", cwd)
	}
	return c, nil
}

// hidden returns the folders and files that no contained session sees: those of svc (of this worker and of an
// orchestrator on the same host), the sockets of all sessions of this user, and the sockets of service managers
// that would start a program outside the container.
func (w *Worker) hidden() []string {
	paths := append(w.opts.Config.Private(), w.opts.Hide...)
	paths = append(paths, w.runtimeDirs...)
	uid := strconv.Itoa(os.Getuid())
	for _, pattern := range []string{"/tmp/svc-" + uid + "-*", "/run/user/" + uid + "/svc-*", os.Getenv("XDG_RUNTIME_DIR") + "/svc-*"} {
		found, _ := filepath.Glob(pattern) // the patterns are valid
		paths = append(paths, found...)
	}
	paths = append(paths, userManagers("/run", uid)...)
	if os.Getuid() == 0 {
		paths = append(paths, "/run/systemd/private", "/run/dbus/system_bus_socket")
	}
	return resolved(paths)
}

// userManagers returns the sockets of this user's systemd and D-Bus. A socket that appears after a session was
// started, for example when the user signs in, cannot be covered any more. So if one is missing, the folder in
// which it would appear is covered instead.
func userManagers(run, uid string) []string {
	all := filepath.Join(run, "user")
	user := filepath.Join(all, uid)
	sockets := []string{filepath.Join(user, "bus"), filepath.Join(user, "systemd")}
	switch {
	case !isDir(user):
		return []string{all}
	case isDir(filepath.Join(run, "systemd", "system")) && len(resolved(sockets)) < len(sockets):
		return []string{user}
	}
	return sockets
}

// privateSockets returns the folder of tmux's own sockets. A session does not see the user's other tmux servers
// there, and can start its own. The folder is created if it is missing, since one that is created later would
// not be covered.
func privateSockets() []string {
	dir := filepath.Join("/tmp", "tmux-"+strconv.Itoa(os.Getuid()))
	_ = os.Mkdir(dir, 0o700) // it may exist already; if it cannot be made there is nothing to hide
	return resolved([]string{dir})
}

// resolved returns the paths with symbolic links resolved, each once; paths that do not exist are left out.
func resolved(paths []string) (out []string) {
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil && filepath.IsAbs(real) && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}
