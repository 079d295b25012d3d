package pgtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"svc/internal/waittest"
)

// clusterKeeper is the shell script that is the parent of a cluster's server, for one start of it. Like keeper, it
// ends the server when the test process is gone. Unlike keeper, it leaves the data for the next start.
const clusterKeeper = `
"$@" 3<&- & server=$!
{ read -r _ <&3; kill -QUIT "$server"; } 2>/dev/null & watcher=$!
wait "$server"
kill "$watcher" 2>/dev/null
`

// Cluster is a PostgreSQL server for one test, which the test may end, freeze and start again.
type Cluster struct {
	// DSN is the postgres:// URL of a database in it. It stays the same over restarts.
	DSN string

	tb      testing.TB
	dir     string
	bin     string
	account *syscall.Credential
	server  *server // nil: the server is not running
}

// NewCluster makes and starts a cluster. It ends and removes the cluster at the end of the test.
func NewCluster(tb testing.TB) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb}
	var err error
	if c.bin, err = serverDir(); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	if c.account, err = unprivileged(); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	if c.dir, err = os.MkdirTemp("", "svc-pgtest-"); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		if c.server != nil {
			c.Thaw()
			c.Crash()
		}
		if err := os.RemoveAll(c.dir); err != nil {
			tb.Errorf("pgtest: remove the cluster: %v", err)
		}
	})
	if c.account != nil {
		if err := os.Chown(c.dir, int(c.account.Uid), int(c.account.Gid)); err != nil {
			tb.Fatalf("pgtest: %v", err)
		}
	}
	if err := initialize(filepath.Join(c.bin, "initdb"), c.data(), c.account); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	c.Launch()
	if err := c.server.await(); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	if err := createEmpty(c.server.url(), "soak"); err != nil {
		tb.Fatalf("pgtest: create database: %v", err)
	}
	own := *c.server.url()
	own.Path = "/soak"
	c.DSN = own.String()
	return c
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Launch starts the server. It does not wait until the server answers.
func (c *Cluster) Launch() {
	c.tb.Helper()
	s, err := launch(clusterKeeper, nil, filepath.Join(c.bin, "postgres"), c.dir, c.data(), c.account)
	if err != nil {
		c.tb.Fatalf("pgtest: %v", err)
	}
	c.server = s
}

// Crash ends the server at once, without a checkpoint: at the next start the server recovers from its log.
func (c *Cluster) Crash() {
	c.tb.Helper()
	c.end(syscall.SIGQUIT)
}

// Stop ends the server in order, as a restart for an upgrade does: the server closes connections and writes its data.
func (c *Cluster) Stop() {
	c.tb.Helper()
	c.end(syscall.SIGINT)
}

// end sends a signal to the server's main process and waits until it has ended. If that takes too long, as on a busy
// disk, end crashes the server.
func (c *Cluster) end(sig syscall.Signal) {
	c.tb.Helper()
	for _, how := range []syscall.Signal{sig, syscall.SIGQUIT} {
		for _, pid := range c.postmaster() {
			if err := syscall.Kill(pid, how); err != nil && !errors.Is(err, syscall.ESRCH) {
				c.tb.Fatalf("pgtest: end the server: %v", err)
			}
		}
		select {
		case <-c.server.exited:
			_ = c.server.hold.Close()
			c.server = nil
			return
		case <-time.After(waittest.Patience):
		}
	}
	c.tb.Fatalf("pgtest: the server does not end:\n%s", c.server.output)
}

// Freeze suspends all processes of the server: it refuses no connection and answers nothing.
func (c *Cluster) Freeze() { c.signal(syscall.SIGSTOP) }

// Thaw resumes all processes of the server.
func (c *Cluster) Thaw() { c.signal(syscall.SIGCONT) }

func (c *Cluster) signal(sig syscall.Signal) {
	c.tb.Helper()
	for _, pid := range c.processes() {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			c.tb.Errorf("pgtest: signal the server: %v", err)
		}
	}
}

// postmaster returns the PID of the server's main process; none when the server has ended.
func (c *Cluster) postmaster() []int { return children(c.server.keeper.Process.Pid, "postgres") }

// processes returns the PIDs of the postmaster and of the processes that it started.
func (c *Cluster) processes() []int {
	var all []int
	for _, pid := range c.postmaster() {
		all = append(append(all, pid), children(pid, "")...)
	}
	return all
}

// children returns the PIDs of the live children of a process; with a name, only those of that program.
func children(parent int, name string) (pids []int) {
	out, err := exec.CommandContext(context.Background(), "pgrep", "-P", strconv.Itoa(parent)).Output()
	if err != nil {
		return nil // there are none
	}
	for _, field := range bytes.Fields(out) {
		pid, err := strconv.Atoi(string(field))
		if err != nil {
			continue
		}
		comm, err := os.ReadFile("/proc/" + string(field) + "/comm")
		if err == nil && (name == "" || string(bytes.TrimSpace(comm)) == name) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Answers reports whether the server accepts a connection now.
func (c *Cluster) Answers(ctx context.Context) bool {
	conn, err := pgx.Connect(ctx, c.DSN)
	if err != nil {
		return false
	}
	return conn.Close(ctx) == nil
}
