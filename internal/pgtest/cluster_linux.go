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
)

// clusterKeeper is the parent of one life of a cluster's server. Like keeper it ends the server when
// the test process is gone; unlike keeper it leaves the data for the next life.
const clusterKeeper = `
"$@" 3<&- & server=$!
{ read -r _ <&3; kill -QUIT "$server"; } 2>/dev/null & watcher=$!
wait "$server"
kill "$watcher" 2>/dev/null
`

// Cluster is a PostgreSQL server of one test, which may be ended, frozen and started again.
type Cluster struct {
	// DSN is the postgres:// URL of a database in it. It stays the same over restarts.
	DSN string

	tb      testing.TB
	dir     string
	bin     string
	account *syscall.Credential
	server  *server // nil: it is down
}

// NewCluster makes and starts a cluster. It is ended and removed with the test.
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

// Launch starts the server and does not wait until it answers.
func (c *Cluster) Launch() {
	c.tb.Helper()
	s, err := launch(clusterKeeper, nil, filepath.Join(c.bin, "postgres"), c.dir, c.data(), c.account)
	if err != nil {
		c.tb.Fatalf("pgtest: %v", err)
	}
	c.server = s
}

// Crash ends the server at once, without a checkpoint: the next start recovers from its log.
func (c *Cluster) Crash() {
	c.tb.Helper()
	c.end(syscall.SIGQUIT)
}

// Stop ends the server in order, as a restart for an upgrade does: connections are cut, data is written.
func (c *Cluster) Stop() {
	c.tb.Helper()
	c.end(syscall.SIGINT)
}

// end sends the server's main process the signal and waits until it has ended. One that does not end in order, as on a disk that is busy with
// others, is crashed.
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
		case <-time.After(patience):
		}
	}
	c.tb.Fatalf("pgtest: the server does not end:\n%s", c.server.output)
}

// Freeze stops all processes of the server where they are: nothing is refused and nothing answers.
func (c *Cluster) Freeze() { c.signal(syscall.SIGSTOP) }

// Thaw lets them go on.
func (c *Cluster) Thaw() { c.signal(syscall.SIGCONT) }

func (c *Cluster) signal(sig syscall.Signal) {
	c.tb.Helper()
	for _, pid := range c.processes() {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			c.tb.Errorf("pgtest: signal the server: %v", err)
		}
	}
}

// postmaster is the server's first process; none when the server has ended.
func (c *Cluster) postmaster() []int { return children(c.server.keeper.Process.Pid, "postgres") }

// processes is the postmaster and the processes that it started.
func (c *Cluster) processes() []int {
	var all []int
	for _, pid := range c.postmaster() {
		all = append(append(all, pid), children(pid, "")...)
	}
	return all
}

// children lists the live processes that a process started; with a name only those of that program.
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

// Answers tells whether the server takes a connection now.
func (c *Cluster) Answers(ctx context.Context) bool {
	conn, err := pgx.Connect(ctx, c.DSN)
	if err != nil {
		return false
	}
	return conn.Close(ctx) == nil
}
