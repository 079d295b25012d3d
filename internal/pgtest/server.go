package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"svc/internal/waittest"
)

// keeper is the shell script that is the server's parent. It lives exactly as long as the server. It ends the server
// when descriptor 3 is closed. That is a pipe whose other end only the test process has, so stop closes it, and the
// kernel does when the test process ends in any way. (A parent-death signal exists on Linux only, and is sent at the
// end of the thread that started the process, not of the process.) The data is not needed any more, so keeper ends
// the server with SIGQUIT, without a checkpoint.
const keeper = `
dir=$1; shift
"$@" 3<&- & server=$!
{ read -r _ <&3; kill -QUIT "$server"; } & watcher=$!
wait "$server"
kill "$watcher" 2>/dev/null
cd / && rm -rf "$dir"
`

// server is a private cluster and the process that serves it.
type server struct {
	dir    string        // has the cluster and the socket; keeper removes it
	hold   *os.File      // the pipe's end that keeps the server alive
	keeper *exec.Cmd     // leader of a process group of its own, so that Ctrl-C does not reach it
	output *output       // the output of the server
	exited chan struct{} // closed when keeper has ended; then the server has ended and the directory is removed
}

// settings make the server start quickly and allow many small connection pools. They also reduce its log, because
// tests cause errors on purpose.
var settings = []string{
	"listen_addresses=",
	"shared_buffers=16MB",
	"max_connections=200",
	"max_wal_size=256MB",
	"synchronous_commit=on",
	"log_min_messages=fatal",
	"log_min_error_statement=panic",
	"timezone=UTC",
}

func startServer() (*server, error) {
	bin, err := serverDir()
	if err != nil {
		return nil, err
	}
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "svc-pgtest-")
	if err != nil {
		return nil, err
	}
	s, err := startIn(dir, bin, account)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func startIn(dir, bin string, account *syscall.Credential) (*server, error) {
	if account != nil {
		if err := os.Chown(dir, int(account.Uid), int(account.Gid)); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	if err := initialize(filepath.Join(bin, "initdb"), data, account); err != nil {
		return nil, err
	}
	s, err := launch(keeper, []string{dir}, filepath.Join(bin, "postgres"), dir, data, account)
	if err != nil {
		return nil, err
	}
	if err := s.await(); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// initialize makes the cluster. It requires no password: the socket is in a directory that only the owner can enter.
func initialize(initdb, data string, account *syscall.Credential) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*waittest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, initdb, "--pgdata", data, "--username", "svc", "--auth", "trust",
		"--encoding", "UTF8", "--no-locale", "--no-sync")
	cmd.Dir = filepath.Dir(data)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account}
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, said)
	}
	return nil
}

// launch starts the server below keeper, a shell script that gets the server's command after its own arguments.
func launch(keeper string, own []string, postgres, dir, data string, account *syscall.Credential) (*server, error) {
	watched, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = watched.Close() }()

	args := append([]string{"-c", keeper, "keeper"}, own...)
	args = append(args, postgres, "-D", data, "-k", dir)
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	if testing.Testing() {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	s := &server{dir: dir, hold: hold, output: &output{}, exited: make(chan struct{})}
	s.keeper = exec.CommandContext(context.Background(), "/bin/sh", args...)
	s.keeper.Dir = dir
	s.keeper.ExtraFiles = []*os.File{watched}
	s.keeper.Stdout, s.keeper.Stderr = s.output, s.output
	s.keeper.SysProcAttr = &syscall.SysProcAttr{Credential: account, Setpgid: true}
	if err := s.keeper.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start postgres: %w", err), hold.Close())
	}
	go func() {
		_ = s.keeper.Wait() // the exit code is that of the script's last command, and means nothing
		close(s.exited)
	}()
	return s, nil
}

// await waits until the server answers.
func (s *server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.url().String())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-retry.C:
		case <-s.exited:
			return fmt.Errorf("postgres ended at its start:\n%s", s.output)
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w\n%s", err, s.output)
		}
	}
}

// stop ends the server and waits until its processes and its directory are gone.
func (s *server) stop() error {
	closed := s.hold.Close()
	select {
	case <-s.exited:
		return closed
	case <-time.After(waittest.Patience):
	}
	killed := syscall.Kill(-s.keeper.Process.Pid, syscall.SIGKILL)
	return errors.Join(errors.New("postgres did not end in time and was killed"), killed, os.RemoveAll(s.dir))
}

// url returns the URL of the database that every cluster has, through the socket.
func (s *server) url() *url.URL {
	return &url.URL{
		Scheme: "postgres", User: url.User("svc"), Path: "/postgres",
		RawQuery: url.Values{"host": {s.dir}, "sslmode": {"disable"}}.Encode(),
	}
}

// unprivileged returns the account that the server runs under: nil for the current one. It is another one only for
// root, because PostgreSQL refuses to run as root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("root cannot run PostgreSQL, and there is neither a user postgres nor nobody")
}

// output collects the output of the server, for the error message of a failed start.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
