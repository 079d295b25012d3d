package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Errors that callers distinguish with errors.Is. After any other error the answer is unknown.
var (
	// ErrNotInstalled means that there is no git binary.
	ErrNotInstalled = errors.New("git is not installed")
	// ErrTooOld means that the git binary is older than MinVersion.
	ErrTooOld = errors.New("git is too old")
	// ErrNotFound means that the revision, branch or object does not exist.
	ErrNotFound = errors.New("not found in the repository")
	// ErrTooLarge means that an output was larger than the caller's limit, or that git needed more memory than
	// allowed. The call was ended.
	ErrTooLarge = errors.New("larger than allowed")
)

const (
	// DefaultTimeout bounds each call of git when Program.Timeout is zero.
	DefaultTimeout = 10 * time.Minute
	// outputDelay is how long the output of a call may stay open after its end, for example by a process that it has
	// started.
	outputDelay = 5 * time.Second
	// maxOutput bounds the bytes of output that are read into memory. It is enough for a million paths.
	maxOutput = 256 << 20
	// maxSaid bounds the bytes of standard error that are kept; the end is kept.
	maxSaid = 4 << 10
	// DefaultMemory is the number of bytes that git may allocate when Program.Memory is zero.
	DefaultMemory = 2 << 30
)

// Program is the git binary and its limits. The value holds no resources; a copy is equivalent.
type Program struct {
	// Bin is the git binary, searched on PATH. Empty means "git".
	Bin string
	// Timeout bounds each call of git. Zero means DefaultTimeout.
	Timeout time.Duration
	// Memory bounds the bytes that git may allocate in calls that may read a whole file of others, which can have any
	// size. Zero means DefaultMemory.
	Memory uint64
	// Hold is an open file that every call inherits; nil: none. A lock on it stays held until the last git process
	// has ended, even if the caller was killed before.
	Hold *os.File
}

// call is one execution of git.
type call struct {
	args  []string
	env   []string  // added to baseEnv
	conf  []setting // added to ownSettings; these override them
	dir   string    // working directory; empty: "/"
	stdin io.Reader
	out   io.Writer // receives the output; nil: it is returned
	max   int64     // bytes of output; 0: maxOutput. Beyond it the call is ended
	show  io.Writer // receives standard error as git writes it; nil: nothing does
	// foreign: git may read whole files that others wrote. It may allocate at most Program.Memory; beyond that the
	// error is ErrTooLarge.
	foreign bool
	// userConfig: git reads the configuration files of the host's user and system, and none of our settings apply.
	userConfig bool
}

// answer is the result of a successful call.
type answer struct {
	out  []byte
	said string // standard error; empty: git has printed no warning
}

// exec runs git and waits for its end.
func (p Program) exec(ctx context.Context, c call) (answer, error) {
	timeout := p.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	var out bytes.Buffer
	to := &capped{to: &out, left: maxOutput}
	if c.out != nil {
		to.to = c.out
	}
	if c.max != 0 {
		to.left = c.max
	}
	said := &tail{max: maxSaid}
	cmd := exec.CommandContext(ctx, p.bin(), c.args...)
	cmd.Env = append(baseEnv(), c.env...)
	if !c.userConfig {
		cmd.Env = append(append(cmd.Env, noUserConfig...), settings(c.conf)...)
	}
	cmd.Dir = c.dir
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	cmd.Stdin = c.stdin
	cmd.Stdout = to
	cmd.Stderr = said
	if c.show != nil {
		cmd.Stderr = io.MultiWriter(said, c.show)
	}
	// In a session of its own, git has no terminal to prompt at, and its process group can be killed as a whole.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.Hold != nil {
		cmd.ExtraFiles = []*os.File{p.Hold}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputDelay

	err := cmd.Start()
	if err == nil {
		if c.foreign {
			limitMemory(cmd.Process.Pid, cmp.Or(p.Memory, DefaultMemory))
		}
		err = cmd.Wait()
	}
	switch {
	case to.err != nil: // git's own message says only that its output was closed
		return answer{}, fmt.Errorf("git %s: %w", verb(c.args), to.err)
	case err == nil:
		return answer{out.Bytes(), said.String()}, nil
	case ctx.Err() != nil:
		return answer{}, fmt.Errorf("git %s: %w", verb(c.args), ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return answer{}, fmt.Errorf("%w (%w)", ErrNotInstalled, err)
	case c.foreign && strings.Contains(said.String(), "ut of memory"):
		return answer{}, fmt.Errorf("%w (%w)", ErrTooLarge, &Failure{Verb: verb(c.args), Said: said.String(), Err: err})
	case said.Len() > 0:
		return answer{out: out.Bytes()}, &Failure{Verb: verb(c.args), Said: said.String(), Err: err}
	}
	return answer{out: out.Bytes()}, fmt.Errorf("git %s: %w", verb(c.args), err)
}

func (p Program) bin() string {
	if p.Bin == "" {
		return "git"
	}
	return p.Bin
}

// Failure is the error if git exited with an error and a message.
type Failure struct {
	Verb string // the git command
	Said string // its standard error, at most the last kilobytes
	Err  error
}

// Error returns the git command and git's own message.
func (f *Failure) Error() string { return "git " + f.Verb + ": " + f.Line() }

// Unwrap returns the exit status, or the error that prevented one.
func (f *Failure) Unwrap() error { return f.Err }

// Line returns git's own message in one line, without the prefix "fatal: ".
func (f *Failure) Line() string {
	var lines []string
	for line := range strings.Lines(f.Said) {
		line = strings.TrimSpace(line)
		if line = strings.TrimPrefix(line, "fatal: "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// verb returns the git command in an argument list.
func verb(args []string) string {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			return arg
		}
	}
	return strings.Join(args, " ")
}

// exitCode returns git's exit status, or -1 if git did not exit by itself.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// tail keeps the last max bytes that are written to it.
type tail struct {
	max  int
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.max; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) Len() int       { return len(bytes.TrimSpace(t.kept)) }
func (t *tail) String() string { return strings.TrimSpace(string(t.kept)) }

// capped is a writer that fails at the first write beyond its limit, which also ends git, and stores the error.
type capped struct {
	to   io.Writer
	left int64
	err  error
}

func (c *capped) Write(p []byte) (n int, err error) {
	if int64(len(p)) > c.left {
		c.err = ErrTooLarge
		return 0, c.err
	}
	n, c.err = c.to.Write(p)
	c.left -= int64(n)
	return n, c.err
}
