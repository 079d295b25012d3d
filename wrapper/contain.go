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

// A contained session is started in two halves. This wrapper stays outside: it starts bubblewrap, records the
// processes and the end, and ends what is left. "svc exec inside" is the first process of the session's own
// process namespace: it starts the provider on the terminal and passes signals on, as the wrapper does for a
// session that is not contained. When it ends, the kernel ends everything in the namespace; and it ends with
// this wrapper, however that ends. Bubblewrap itself is in the background of the terminal, since Ctrl-C
// would end it.

// The files of the first process besides its terminal.
const (
	insideConn   = 3 // to the wrapper
	insideStderr = 4 // the session's; standard error is bubblewrap's own until it has done its work
)

// insideOrder is what the first process is told.
type insideOrder struct {
	Launch rundir.Launch `json:"launch"`
	Env    []string      `json:"env"` // of the wrapper
	Step   int64         `json:"step_ns"`
}

// insideReport is what it answers: that the provider was started, or not, and later how it ended.
type insideReport struct {
	PID     int          `json:"pid,omitempty"` // in its own namespace
	Failure *failure     `json:"failure,omitempty"`
	Exit    *rundir.Exit `json:"exit,omitempty"`
}

// maxReports bounds what all reports of a session have together, in bytes. Their texts are short.
const maxReports = 1 << 20

// readReports reads what the first process answers. It is inside, with the provider: what comes after the bound is the end.
func readReports(conn io.Reader) *json.Decoder {
	return json.NewDecoder(io.LimitReader(conn, maxReports))
}

// bwrapArgs are bubblewrap's arguments: the machine as it is, but for what is hidden. What is hidden is covered
// by an empty folder, or by a device that cannot be opened. A program could move away a folder that holds a
// covered one and put another in its place, for a later worker to find. So these folders are mounted onto
// themselves: a mount point cannot be renamed. dir is where the program inside begins.
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

// capabilities are what a session of root keeps: what programs of an ordinary container have, but no devices.
// With the others it could take the covers away.
var capabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP",
	"CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SYS_CHROOT", "CAP_AUDIT_WRITE", "CAP_SETFCAP",
}

// outermost are the paths that are not below another one, sorted: those above come first.
func outermost(paths []string) (out []string) {
	for _, path := range slices.Sorted(slices.Values(paths)) {
		if !(rundir.Contain{Hide: out}).Hides(path) {
			out = append(out, path)
		}
	}
	return out
}

// pinned are the folders above the paths that this user could rename, those above first.
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
