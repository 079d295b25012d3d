package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"svc/process"
)

// DefaultCols and DefaultRows are the size of a pane whose Spec has none.
const (
	DefaultCols = 220
	DefaultRows = 50
)

// DefaultHistory is how many lines of scrollback a pane keeps when its Spec has no History.
const DefaultHistory = 2000

// Spec describes a session to start.
type Spec struct {
	// Name is the session's name: letters, digits, "-" and "_".
	Name string
	// Argv is the program and its arguments, executed directly. They are visible to every user of the host, so
	// they must not contain secrets. All together must be shorter than about 16,000 bytes.
	Argv []string
	// Dir is the working directory. It must exist.
	Dir string
	// Env entries, "NAME=value", are added to PATH, HOME, LANG, COLORTERM and TERM, the only variables that the
	// program gets otherwise. They replace these, except TERM, which describes tmux's terminal.
	Env []string
	// Within is a command that gets the call of tmux as its last arguments and executes it in its own process,
	// such as systemd-run --scope; it gets Env too. Empty means that tmux is executed directly.
	Within []string
	// Cols and Rows are the size of the pane. Zero means DefaultCols and DefaultRows.
	Cols, Rows int
	// History is the number of scrollback lines. Zero means DefaultHistory.
	History int
	// LogFile is the file to which every byte is appended that the program writes to its terminal; it is
	// created with mode 0600. Empty means no log, unless there is a Sink. See the package comment about a
	// program that ends right after a large output.
	LogFile string
	// Sink is the program that gets the output on its standard input, instead of a plain "cat >> LogFile", for
	// example to limit the file. It must write until its input ends. It is a child of the tmux server and
	// outlives the caller.
	Sink []string
}

var sessionName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (spec Spec) check() error {
	switch {
	case !sessionName.MatchString(spec.Name):
		return fmt.Errorf("session name %q: want letters, digits, - and _", spec.Name)
	case len(spec.Argv) == 0 || spec.Argv[0] == "":
		return errors.New("no program to run")
	}
	return checkSize(spec.Cols, spec.Rows)
}

// Start starts the server with its one session, verifies that it exists and returns it. A stale socket file is
// removed; a live server is never touched (ErrRunning, ErrSocketLost). After an error nothing runs.
//
// A program that cannot be executed is not an error: the result is a dead pane with the reason on its screen
// and exit code 126 or 127.
func (s Server) Start(ctx context.Context, spec Spec) (Session, error) {
	spec.Cols, spec.Rows = orDefault(spec.Cols, DefaultCols), orDefault(spec.Rows, DefaultRows)
	spec.History = orDefault(spec.History, DefaultHistory)
	if err := spec.check(); err != nil {
		return Session{}, fmt.Errorf("start session: %w", err)
	}
	if err := s.clearSocket(); err != nil {
		return Session{}, fmt.Errorf("start session %s: %w", spec.Name, err)
	}
	if err := createLog(spec.LogFile); err != nil {
		return Session{}, fmt.Errorf("start session %s: %w", spec.Name, err)
	}
	session, err := s.create(ctx, spec)
	if err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return Session{}, fmt.Errorf("start session %s: %w", spec.Name,
			errors.Join(err, s.Kill(cleanup, process.ID{})))
	}
	return session, nil
}

// clearSocket makes sure that new-session starts a new server and does not connect to an existing one.
func (s Server) clearSocket() error {
	server, err := s.find()
	switch {
	case err == nil:
		return fmt.Errorf("%w %s (pid %d)", ErrRunning, s.Socket, server.PID)
	case errors.Is(err, ErrNoServer):
		return s.removeSocket()
	}
	return err
}

// create runs the command list that makes the session and then verifies the session: with a low limit of open
// files, new-session reports success without a session.
func (s Server) create(ctx context.Context, spec Spec) (Session, error) {
	out, err := s.send(ctx, call{within: spec.Within, dir: spec.Dir, env: spec.Env}, startCommands(spec)...)
	late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil // the call has timed out, but the server may start
	if err != nil && !late && !errors.Is(err, exec.ErrWaitDelay) {       // ErrWaitDelay: the call succeeded, only its output is lost
		return Session{}, err
	}
	// Read before Inspect: the start time of a program that ends at once is lost as soon as tmux has waited for
	// it. Without output, the result of Inspect is used: the program may be running already.
	pid, answerErr := strconv.Atoi(strings.TrimSpace(string(out)))
	program, _ := process.Of(pid)
	session, err := s.inspectNew(ctx)
	if err != nil {
		return Session{}, fmt.Errorf("tmux made no session, it answered %q: %w", out, err)
	}
	if answerErr != nil {
		pid, program = session.Process.PID, session.Process
	}
	if session.Name != spec.Name || session.Process.PID != pid {
		return Session{}, fmt.Errorf("tmux made session %q with pid %d, want %q with pid %d",
			session.Name, session.Process.PID, spec.Name, pid)
	}
	if session.Cols != spec.Cols || session.Rows != spec.Rows {
		return Session{}, fmt.Errorf("tmux made a pane of %dx%d, want %dx%d",
			session.Cols, session.Rows, spec.Cols, spec.Rows)
	}
	if !session.Piped {
		return Session{}, errors.New("the log's sink has ended")
	}
	session.Process = program
	return session, nil
}

// startCalls is how many times the timeout of one call the new session is queried for. A start that takes long
// on a busy machine is no failure.
const startCalls = 3

// inspectNew queries the new session until the result is certain, since a session in an unknown state must not
// be killed. ErrNoServer is certain only when no process is starting to serve the socket.
func (s Server) inspectNew(ctx context.Context) (Session, error) {
	timeout := s.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout*startCalls)
	defer cancel()
	for {
		coming := starting(s.Socket)
		session, err := s.Inspect(ctx, process.ID{})
		if err == nil || errors.Is(err, ErrNoServer) && !coming {
			return session, err
		}
		select {
		case <-ctx.Done():
			return session, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// unsetAndRun is a shell script that runs its arguments without the variables of insideTmux. With it, every
// program has two or more arguments, so that tmux does not pass a single one to a shell. It also prints why a
// program could not be executed, and waits then, so that tmux reads the message.
var unsetAndRun = "unset " + strings.Join(insideTmux, " ") + `; trap "sleep 0.3" EXIT; exec "$@"`

func startCommands(spec Spec) [][]string {
	target := "=" + spec.Name + ":"
	cols, rows := strconv.Itoa(spec.Cols), strconv.Itoa(spec.Rows)
	commands := serverOptions(spec)
	commands = append(commands, append([]string{
		"new-session", "-d", "-E", "-s", spec.Name, "-x", cols, "-y", rows,
		"-P", "-F", "#{pane_pid}", "--", "/bin/sh", "-c", unsetAndRun, "sh",
	}, spec.Argv...))
	return append(commands,
		[]string{"pipe-pane", "-O", "-t", target, spec.sink()},
		// As a global option before new-session, window-size manual crashes tmux 3.3a.
		[]string{"set-option", "-w", "-t", target, "window-size", "manual"},
		[]string{"set-option", "-w", "-t", target, "remain-on-exit", "on"},
		// Empty, since tmux otherwise scrolls the last screen to write "Pane is dead" below it.
		[]string{"set-option", "-w", "-q", "-t", target, "remain-on-exit-format", ""},
		[]string{"resize-window", "-t", target, "-x", cols, "-y", rows},
	)
}

// serverOptions turns off everything in tmux that a plain terminal does not have: the status line, keys that
// tmux would keep for itself, the wait after Escape, access to the clipboard of an attached terminal, and
// passthrough to that terminal.
func serverOptions(spec Spec) [][]string {
	commands := [][]string{
		{"set-option", "-g", "history-limit", strconv.Itoa(spec.History)},
		{"set-option", "-s", "escape-time", "0"},
		{"set-option", "-s", "set-clipboard", "off"},
		{"set-option", "-s", "-a", "terminal-features", ",xterm-256color:RGB"},
		{"set-option", "-g", "status", "off"},
		{"set-option", "-g", "assume-paste-time", "0"},
		{"set-option", "-g", "prefix", "None"},
		{"set-option", "-g", "prefix2", "None"},
		{"set-option", "-g", "mouse", "off"},
		{"set-option", "-g", "-w", "automatic-rename", "off"},
		{"set-option", "-g", "-w", "allow-passthrough", "off"},
		{"set-option", "-g", "set-titles", "off"},
	}
	for _, table := range []string{"root", "prefix", "copy-mode", "copy-mode-vi"} {
		commands = append(commands, []string{"unbind-key", "-q", "-a", "-T", table})
	}
	return commands
}

// sink returns the shell line that gets the output. It is never empty: without a pipe, tmux does not read the
// remaining output when a program ends.
func (spec Spec) sink() string {
	if len(spec.Sink) > 0 {
		return sinkLine(spec.Sink, "")
	}
	logFile := spec.LogFile
	if logFile == "" {
		logFile = os.DevNull
	}
	cat, err := exec.LookPath("cat") // Env may have a PATH without cat
	if err != nil {
		cat = "/bin/cat"
	}
	return sinkLine([]string{cat}, logFile)
}

// Pipe connects the output of a pane to a new sink after its sink has ended; the sink is that of LogFile and
// Sink of the spec. Output in between is lost. Call it only when Session.Piped is false: an open pipe would be
// closed with its unread content.
func (s Server) Pipe(ctx context.Context, pane string, spec Spec) error {
	if err := checkPane(pane); err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	if _, err := s.run(ctx, []string{"pipe-pane", "-O", "-t", pane, spec.sink()}); err != nil {
		return fmt.Errorf("pipe pane: %w", err)
	}
	return nil
}

func createLog(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	return file.Close()
}

func orDefault(value, fallback int) int {
	if value == 0 {
		return fallback
	}
	return value
}
