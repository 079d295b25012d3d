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

// Session is the content of a server at one moment.
type Session struct {
	// Server is the tmux server itself.
	Server process.ID
	// Name is the session's name.
	Name string
	// Pane is the pane's id, such as "%0", which all calls for the pane need.
	Pane string
	// Process is the program in the pane. Its Start is zero if the program ended before it could be read.
	Process process.ID
	// Dead is set when the program has ended; its last screen can still be captured.
	Dead bool
	// Piped is set while the output goes to the log's sink; it stays set when the pane is dead. False means
	// that the log has stopped.
	Piped bool
	// Cols and Rows are the pane's size.
	Cols, Rows int
	// Clients is the number of attached terminals.
	Clients int
}

// The name comes last, since it is the only field that may contain any text.
const inspectFormat = "#{pid} #{pane_id} #{pane_pid} #{pane_dead} #{pane_pipe} " +
	"#{pane_width} #{pane_height} #{session_attached} #{session_name}"

// Inspect returns the server's session. known is the server that the caller has recorded, or the zero value.
// ErrNoServer means that no process listens on the socket and that known has ended too; after every other error
// the state is unknown. The caller must compare Server and Process with its record: another server may have
// taken the socket.
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

// checkPane rejects every target but a pane id: tmux matches names by prefix, but ids exactly.
func checkPane(pane string) error {
	if !paneID.MatchString(pane) {
		return fmt.Errorf("pane %q: want an id such as %%0", pane)
	}
	return nil
}
