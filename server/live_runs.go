package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"svc"
	"svc/api"
	"svc/hub"
)

// RunSource finds runs; the engine is one.
type RunSource interface {
	// Run is the run with this id, or an error of code not_found.
	Run(ctx context.Context, id string) (svc.Run, error)
}

// Live serves what is live of a run: its screen, its log and its terminal. Its
// handlers take the run's id from the path value "id" and expect that token
// and origin were checked, and that the request's context ends when the server
// shuts down.
type Live struct {
	Runs   RunSource
	Panes  *hub.Panes
	Relay  *hub.Relay
	Attach *hub.Attachments
	Log    *slog.Logger
	// FetchLog brings the log of an attempt that is over here, as far as anyone has it; its error says that it
	// is not whole. Nil: what is here is all there is.
	FetchLog func(ctx context.Context, r svc.Run, attempt int) error

	// FetchScreen brings the last screen of a run that is over here, if its host has it. Nil: what is here is all there is.
	FetchScreen func(ctx context.Context, r svc.Run)

	// Events is what the journal has behind a seq, oldest first, and up to which seq that is all of it: the markers of
	// recordings. Nil: there are none.
	Events func(ctx context.Context, f svc.EventFilter, after int64) (events []svc.Event, until int64, err error)

	stall time.Duration // how long one write of a log may take; 0: writeLimit
}

// Pane answers with the latest screen.
func (l *Live) Pane(w http.ResponseWriter, r *http.Request) {
	run, err := l.Runs.Run(r.Context(), r.PathValue("id"))
	if err != nil {
		writeError(w, r, err)
		return
	}
	if l.FetchScreen != nil {
		l.FetchScreen(r.Context(), run)
	}
	s, ok, err := l.Panes.Latest(run.ID)
	switch {
	case err != nil:
		writeError(w, r, err)
	case !ok:
		writeError(w, r, svc.Errorf(svc.CodeNoSnapshot, "run %s has no screen yet; it comes with its first output", run.ID))
	default:
		writeJSON(w, r, http.StatusOK, api.Pane{Seq: s.Seq, RunID: s.RunID, Capture: s.Capture, Timestamp: s.Timestamp, Attempt: s.Attempt, Final: s.Final})
	}
}

// PaneWS sends the cached screen at once and then every change, to a viewer
// that has nothing to say.
func (l *Live) PaneWS(w http.ResponseWriter, r *http.Request) {
	run, err := l.Runs.Run(r.Context(), r.PathValue("id"))
	if err == nil {
		err = upgradable(r)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	watch, err := l.Panes.Watch(run.ID)
	if err != nil {
		writeError(w, r, err)
		return
	}
	defer watch.Close()
	s := accept(w, r)
	if s == nil {
		return
	}
	if l.FetchScreen != nil {
		go l.FetchScreen(r.Context(), run)
	}
	err = s.serve(r.Context(), socketEnds{
		next: func(ctx context.Context) ([]byte, error) {
			snapshot, err := watch.Next(ctx)
			if err != nil {
				return nil, err
			}
			return snapshot.JSON(), nil
		},
		take: func([]byte) error { return nil },
	})
	s.close(err)
	l.Log.Debug("pane socket ended", "run_id", run.ID, "reason", err)
}
