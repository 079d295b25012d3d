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

// Errors that callers tell apart with errors.Is. Any other error means that the answer is unknown.
var (
	// ErrNotInstalled means that there is no git binary.
	ErrNotInstalled = errors.New("git is not installed")
	// ErrTooOld means that the git binary is older than MinVersion.
	ErrTooOld = errors.New("git is too old")
	// ErrNotFound means that the revision, branch or object does not exist.
	ErrNotFound = errors.New("not found in the repository")
	// ErrTooLarge means that an output passed the caller's limit and was abandoned.
	ErrTooLarge = errors.New("larger than allowed")
)

const (
	// DefaultTimeout bounds each call of git when Program.Timeout is zero.
	DefaultTimeout = 10 * time.Minute
	// outputDelay is how long the output of a call may stay open after its end.
	outputDelay = 5 * time.Second
	// maxOutput bounds what is read into memory: a million paths.
	maxOutput = 256 << 20
	// maxSaid bounds what is kept of git's own words: their end.
	maxSaid = 4 << 10
	// DefaultMemory is what git may allocate, in bytes, when Program.Memory is zero.
	DefaultMemory = 2 << 30
)

// Program is the git binary. The value holds no resources; copies are equal.
type Program struct {
	// Bin is the git binary, looked up on PATH. Empty means "git".
	Bin string
	// Timeout bounds each call of git. Zero means DefaultTimeout.
	Timeout time.Duration
	// Memory bounds what git may allocate, in bytes, where somebody else could have it read a file of any size as a whole. Zero means DefaultMemory.
	Memory uint64
	// Hold is an open file that every call inherits; nil: none. A lock on it is held until the last of them has ended,
	// also when the caller was killed before.
	Hold *os.File
}

// call is one execution of git.
type call struct {
	args  []string
	env   []string  // besides baseEnv
	conf  []setting // besides own, and above them
	dir   string    // working directory; empty: "/"
	stdin io.Reader
	out   io.Writer // where the output goes; nil: it is returned
	max   int64     // of output; 0: maxOutput. Past it the call is abandoned
	show  io.Writer // gets what git says while it says it; nil: nobody
	// foreign: git reads as a whole what somebody else wrote; it may allocate no more than Program.Memory. The error is ErrTooLarge then.
	foreign bool
	// theirs: the configuration files of the host's user and system are read, and none of ours.
	theirs bool
}

// answer is what a successful call left.
type answer struct {
	out  []byte
	said string // standard error: empty when git had nothing to complain about
}

// exec runs git to its end.
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
	if !c.theirs {
		cmd.Env = append(append(cmd.Env, noFiles...), settings(c.conf)...)
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
	// A session of its own has no terminal to prompt at, and is a process group that ends as a whole.
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
	case to.err != nil: // git has only seen that its output was closed
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

// Failure is what git said when a call failed.
type Failure struct {
	Verb string // the git command
	Said string // its standard error, the last kilobytes
	Err  error
}

// Error is git's own words, without its prefixes.
func (f *Failure) Error() string { return "git " + f.Verb + ": " + f.Line() }

// Unwrap gives the exit status, or what prevented it.
func (f *Failure) Unwrap() error { return f.Err }

// Line is git's own words in one line.
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

// verb is the git command of an argument list.
func verb(args []string) string {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			return arg
		}
	}
	return strings.Join(args, " ")
}

// exitCode is the status git ended with, -1 when it did not end by itself.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// tail keeps the end of what is written to it.
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

// capped refuses what goes past its limit, which ends the writing program too, and remembers why it refused.
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
