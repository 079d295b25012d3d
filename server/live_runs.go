package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"svc/api"
	"svc/engine"
)

// Live serves the screen, the log and the terminal of runs. Its handlers read the run's id from the path value "id".
// They require that token and origin were checked, and that the request's context ends when the server shuts down.
type Live struct {
	Runs *engine.Live
	Log  *slog.Logger

	stall time.Duration // maximum duration of one write of a log; 0: writeLimit
}

// Pane responds with the latest screen.
func (l *Live) Pane(w http.ResponseWriter, r *http.Request) {
	s, err := l.Runs.Screen(r.Context(), r.PathValue("id"))
	if err != nil {
		writeError(w, r, err)
		return
	}
	writeJSON(w, r, http.StatusOK, api.Pane{Seq: s.Seq, RunID: s.RunID, Capture: s.Capture, Timestamp: s.Timestamp, Attempt: s.Attempt, Final: s.Final})
}

// PaneWS sends the stored screen at once and then every change. Frames from the client are ignored.
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
