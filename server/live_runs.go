package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"svc/api"
	"svc/engine"
)

// Live serves what is live of a run: its screen, its log and its terminal. Its
// handlers take the run's id from the path value "id" and expect that token
// and origin were checked, and that the request's context ends when the server
// shuts down.
type Live struct {
	Runs *engine.Live
	Log  *slog.Logger

	stall time.Duration // how long one write of a log may take; 0: writeLimit
}

// Pane answers with the latest screen.
func (l *Live) Pane(w http.ResponseWriter, r *http.Request) {
	s, err := l.Runs.Screen(r.Context(), r.PathValue("id"))
	if err != nil {
		writeError(w, r, err)
		return
	}
	writeJSON(w, r, http.StatusOK, api.Pane{Seq: s.Seq, RunID: s.RunID, Capture: s.Capture, Timestamp: s.Timestamp, Attempt: s.Attempt, Final: s.Final})
}

// PaneWS sends the cached screen at once and then every change, to a viewer
// that has nothing to say.
func (l *Live) PaneWS(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	watch, begin, err := l.Runs.WatchScreen(r.Context(), id)
	if err != nil {
		writeError(w, r, err)
		return
	}
	defer watch.Close()
	if err := upgradable(r); err != nil {
		writeError(w, r, err)
		return
	}
	s := accept(w, r)
	if s == nil {
		return
	}
	end := begin()
	defer end()
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
	end() // before the closing handshake, which may take a while
	s.close(err)
	l.Log.Debug("pane socket ended", "run_id", id, "reason", err)
}
