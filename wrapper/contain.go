package wrapper

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"svc/rundir"
)

// A contained session is started in two steps. The wrapper stays outside: it starts bubblewrap, records the
// processes and the end, and ends leftovers. "svc exec inside" is the first process of the session's own
// process namespace: it starts the provider on the terminal and passes signals on, as the wrapper does for a
// session that is not contained. When it ends, the kernel ends every process of the namespace; and it ends with
// the wrapper, in whatever way the wrapper ends. Bubblewrap itself runs in the background of the terminal,
// since Ctrl-C would end it.

// The additional file descriptors of the first process.
const (
	insideConn   = 3 // the connection to the wrapper
	insideStderr = 4 // the session's standard error; descriptor 2 is a pipe for bubblewrap's messages
)

// insideOrder is the wrapper's request to the first process.
type insideOrder struct {
	Launch rundir.Launch `json:"launch"`
	Env    []string      `json:"env"` // of the wrapper
	Step   int64         `json:"step_ns"`
}

// insideReport is an answer of the first process: first that the provider was started or why not, later how it
// ended.
type insideReport struct {
	PID     int          `json:"pid,omitempty"` // in its own namespace
	Failure *failure     `json:"failure,omitempty"`
	Exit    *rundir.Exit `json:"exit,omitempty"`
}

// maxReports bounds all reports of a session together, in bytes. Their texts are short.
const maxReports = 1 << 20

// readReports returns a decoder for the reports of the first process. That process runs in the container with
// the provider, so its reports are bounded; input beyond the bound reads as EOF.
func readReports(conn io.Reader) *json.Decoder {
	return json.NewDecoder(io.LimitReader(conn, maxReports))
}

// bwrapArgs returns bubblewrap's arguments: all files of the machine, except the hidden ones. Hidden paths are
// covered by an empty folder, or by a device that cannot be opened. A program could rename a folder that
// contains a covered one and put another in its place, which a later worker would use. So these folders are
// mounted onto themselves, since a mount point cannot be renamed. dir is the working directory of the program
// inside.
func bwrapArgs(c rundir.Contain, program, dir string) []string {
	args := []string{"--die-with-parent", "--unshare-pid", "--as-pid-1"}
	if os.Geteuid() == 0 {
		args = append(args, "--cap-drop", "ALL")
		for _, name := range capabilities {
			args = append(args, "--cap-add", name)
		}
	}
	args = append(args, "--dev-bind", "/", "/", "--proc", "/proc")
	hidden := outermost(c.Hide)
	empty := outermost(c.Empty)
	for _, dir := range pinned(append(slices.Clone(hidden), empty...)) {
		args = append(args, "--dev-bind", dir, dir)
	}
	var folders []string
	for _, path := range hidden {
		switch info, err := os.Stat(path); {
		case err != nil:
		case info.IsDir():
			args = append(args, "--perms", "0700", "--tmpfs", path)
			folders = append(folders, path)
		default:
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	for _, path := range empty {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			args = append(args, "--perms", "0700", "--tmpfs", path)
		}
	}
	for _, path := range c.Show {
		args = append(args, "--dev-bind", path, path)
	}
	if c.Hides(program) {
		args = append(args, "--ro-bind", program, program)
	}
	for _, path := range folders {
		args = append(args, "--remount-ro", path)
	}
	return append(append(args, "--chdir", dir, "--"), c.Inside...)
}

// capabilities are the capabilities that a session of root keeps: those of an ordinary container, without
// device access. With the others it could unmount the covers.
var capabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP",
	"CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SYS_CHROOT", "CAP_AUDIT_WRITE", "CAP_SETFCAP",
}

// outermost returns the paths that are not below another one, sorted, so that parents come first.
func outermost(paths []string) (out []string) {
	for _, path := range slices.Sorted(slices.Values(paths)) {
		if !(rundir.Contain{Hide: out}).Hides(path) {
			out = append(out, path)
		}
	}
	return out
}

// pinned returns the folders above the paths that this user could rename, parents first.
func pinned(paths []string) (dirs []string) {
	for _, path := range paths {
		for dir := filepath.Dir(path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
			if unix.Access(filepath.Dir(dir), unix.W_OK) == nil {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
