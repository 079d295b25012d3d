package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Errors that callers distinguish with errors.Is. After any other error the state is unknown.
var (
	// ErrNotInstalled means that there is no tmux binary.
	ErrNotInstalled = errors.New("tmux is not installed")
	// ErrNoServer means that no process listens on the socket: the session does not exist.
	ErrNoServer = errors.New("no tmux server")
	// ErrSocketLost means that the server lives but its socket file is gone. RestoreSocket can repair that.
	ErrSocketLost = errors.New("tmux server lives without its socket")
	// ErrRunning means that Start found a server that already listens on the socket.
	ErrRunning = errors.New("a tmux server already listens on the socket")
	// ErrSocketPath means that the socket's path is relative or longer than the system allows.
	ErrSocketPath = errors.New("unusable tmux socket path")
	// ErrPaneDead means that the program in the pane has ended, so that input is not possible.
	ErrPaneDead = errors.New("the program in the pane has ended")
)

// MaxSocketPath is the longest socket path in bytes: 107 on Linux, 103 on macOS.
const MaxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// outputDelay is how long the output of a call may stay open after its end. The server also holds the output,
// and on a busy machine it may write the answer only seconds later.
const outputDelay = 5 * time.Second

// DefaultTimeout bounds each call of tmux when Server.Timeout is zero.
const DefaultTimeout = 10 * time.Second

// Server addresses one tmux server, whether it runs or not. The value holds no resources and may be copied. Its
// methods may be called concurrently, except that Start, Kill and RestoreSocket for one socket must not
// overlap.
type Server struct {
	// Socket is the absolute path of the server's socket, in a directory that only the user may enter: every
	// process that can connect to it controls the session.
	Socket string
	// Bin is the tmux binary, looked up on PATH. Empty means "tmux".
	Bin string
	// Timeout bounds each call of tmux. Zero means DefaultTimeout.
	Timeout time.Duration
}

// Version returns the version that the tmux binary prints, such as "3.3a". It needs no socket.
func (s Server) Version(ctx context.Context) (string, error) {
	out, err := s.exec(ctx, call{args: []string{"-V"}})
	if err != nil {
		return "", fmt.Errorf("tmux version: %w", err)
	}
	_, version, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
	if !ok {
		return "", fmt.Errorf("tmux version: unexpected answer %q", out)
	}
	return version, nil
}

// call is one execution of the tmux binary.
type call struct {
	within []string // the command that executes the binary; none: it is executed directly
	args   []string
	stdin  []byte
	dir    string
	env    []string
	// mixed sends error messages to the pipe of the output, which saves a pipe and the goroutine that reads it.
	// Use it for a frequent command that prints something only when it succeeds.
	mixed bool
}

// run sends the commands to the server as one list, which the server executes without interruption. If it
// fails, it finds out from the socket whether the server is missing.
func (s Server) run(ctx context.Context, commands ...[]string) ([]byte, error) {
	return s.send(ctx, call{}, commands...)
}

func (s Server) send(ctx context.Context, c call, commands ...[]string) ([]byte, error) {
	if err := s.checkSocket(); err != nil {
		return nil, err
	}
	c.args = append(s.flags(), commandList(commands)...)
	out, err := s.exec(ctx, c)
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrNotInstalled) {
		return out, err
	}
	if _, cause := s.find(); errors.Is(cause, ErrNoServer) || errors.Is(cause, ErrSocketLost) {
		return out, fmt.Errorf("%w (%w)", cause, err)
	}
	return out, err
}

// flags returns the options of every call: the socket, no configuration file, UTF-8 in every locale.
func (s Server) flags() []string {
	return []string{"-S", s.Socket, "-f", "/dev/null", "-u"}
}

func (s Server) exec(ctx context.Context, c call) ([]byte, error) {
	timeout := s.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	var stdout, stderr bytes.Buffer
	argv := append(append(slices.Clone(c.within), s.bin()), c.args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = mergeEnv(baseEnv(), c.env)
	cmd.Dir = c.dir
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.mixed {
		cmd.Stderr = &stdout
	}
	cmd.WaitDelay = outputDelay
	err := cmd.Run()
	switch {
	case err == nil:
		return stdout.Bytes(), nil
	case ctx.Err() != nil:
		return stdout.Bytes(), fmt.Errorf("run %s: %w", argv[0], ctx.Err())
	case cmd.Process == nil && len(c.within) == 0 && missingBinary(err, s.bin()):
		return nil, fmt.Errorf("%w (%w)", ErrNotInstalled, err)
	case c.mixed && stdout.Len() > 0:
		return nil, fmt.Errorf("%s: %w", strings.TrimSpace(stdout.String()), err)
	case stderr.Len() > 0:
		return stdout.Bytes(), fmt.Errorf("%s: %w", strings.TrimSpace(stderr.String()), err)
	}
	return stdout.Bytes(), fmt.Errorf("run %s: %w", argv[0], err)
}

func (s Server) bin() string {
	if s.Bin == "" {
		return "tmux"
	}
	return s.Bin
}

func (s Server) checkSocket() error {
	if !filepath.IsAbs(s.Socket) {
		return fmt.Errorf("%w: %q is not absolute", ErrSocketPath, s.Socket)
	}
	if len(s.Socket) > MaxSocketPath {
		return fmt.Errorf("%w: %q has %d bytes, the system allows %d",
			ErrSocketPath, s.Socket, len(s.Socket), MaxSocketPath)
	}
	return nil
}

// missingBinary reports whether the binary is missing, and not the working directory, which causes the same
// error.
func missingBinary(err error, bin string) bool {
	if errors.Is(err, exec.ErrNotFound) {
		return true
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, lookErr := exec.LookPath(bin)
	return lookErr != nil
}

// commandList joins commands with tmux's separator and escapes their arguments.
func commandList(commands [][]string) []string {
	var list []string
	for i, command := range commands {
		if i > 0 {
			list = append(list, ";")
		}
		for _, arg := range command {
			list = append(list, escapeArg(arg))
		}
	}
	return list
}

// escapeArg escapes an argument that ends in a semicolon, after which tmux would start a new command.
func escapeArg(arg string) string {
	if text, ok := strings.CutSuffix(arg, ";"); ok {
		return text + `\;`
	}
	return arg
}
