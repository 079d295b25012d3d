package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"svc/process"
)

// Session is what a server holds at one moment.
type Session struct {
	// Server is the tmux server itself.
	Server process.ID
	// Name of the session.
	Name string
	// Pane is the pane's id, such as "%0": the address for all calls about it.
	Pane string
	// Process is the program in the pane. Its Start is zero when it ended before it could be read.
	Process process.ID
	// Dead means that the program has ended; its last screen can still be captured.
	Dead bool
	// Piped means that the output is given to the log's sink; it stays true when the pane is dead.
	// False means that the log has stopped.
	Piped bool
	// Cols and Rows are the pane's size.
	Cols, Rows int
	// Clients is how many terminals are attached.
	Clients int
}

// The name comes last, since it is the only field that may hold any text.
const inspectFormat = "#{pid} #{pane_id} #{pane_pid} #{pane_dead} #{pane_pipe} " +
	"#{pane_width} #{pane_height} #{session_attached} #{session_name}"

// Inspect asks the server what it holds. known is the server that the caller remembers, or the zero
// value. ErrNoServer means that nobody listens on the socket and known is gone too; every other
// error means unknown. The caller compares Server and Process with what it remembers: another
// server may have taken the socket.
func (s Server) Inspect(ctx context.Context, known process.ID) (Session, error) {
	out, err := s.run(ctx, []string{"list-panes", "-a", "-F", inspectFormat})
	if errors.Is(err, ErrNoServer) {
		_, err = s.findOr(known)
		if err == nil {
			err = errors.New("the server came up meanwhile")
		}
	}
	if err != nil {
		return Session{}, fmt.Errorf("inspect session: %w", err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	session, err := parseSession(first)
	if err != nil {
		return Session{}, fmt.Errorf("inspect session: %w", err)
	}
	return session, nil
}

func parseSession(line string) (Session, error) {
	var session Session
	var dead, piped int
	_, err := fmt.Sscanf(line, "%d %s %d %d %d %d %d %d %s",
		&session.Server.PID, &session.Pane, &session.Process.PID, &dead, &piped,
		&session.Cols, &session.Rows, &session.Clients, &session.Name)
	if err != nil {
		return Session{}, fmt.Errorf("unexpected answer of tmux %q", line)
	}
	session.Dead, session.Piped = dead != 0, piped != 0
	if session.Server, err = process.Of(session.Server.PID); err != nil {
		return Session{}, err
	}
	if session.Dead {
		return session, nil // the PID may have been reused
	}
	program, err := process.Of(session.Process.PID)
	switch {
	case err == nil:
		session.Process = program
	case !errors.Is(err, fs.ErrNotExist):
		return Session{}, err
	}
	return session, nil
}

var paneID = regexp.MustCompile(`^%[0-9]+$`)

// checkPane refuses any other kind of target: names match by prefix, ids do not.
func checkPane(pane string) error {
	if !paneID.MatchString(pane) {
		return fmt.Errorf("pane %q: want an id such as %%0", pane)
	}
	return nil
}
