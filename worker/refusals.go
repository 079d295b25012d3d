package worker

import (
	"log/slog"
	"sync"
	"time"

	"svc/wire"
)

const (
	refusalEvery = time.Minute // how often refusals with the same code are logged
	mostRefusals = 64          // codes that are counted separately
)

// refusals logs which frames the orchestrator refused: the first with each code at once, then one line a minute with
// their number. After a restore of its database every frame of a run that it no longer knows is refused.
type refusals struct {
	mu   sync.Mutex // guards seen
	seen map[string]*refusedCode
}

type refusedCode struct {
	logged time.Time
	since  int // refusals that were not logged
}

func (r *refusals) note(log *slog.Logger, now time.Time, f *wire.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.seen[f.Code]
	if known == nil {
		if r.seen == nil || len(r.seen) >= mostRefusals {
			r.seen = map[string]*refusedCode{}
		}
		known = &refusedCode{}
		r.seen[f.Code] = known
	} else if now.Sub(known.logged) < refusalEvery {
		known.since++
		return
	}
	log.Warn("the orchestrator refused a frame", "code", f.Code, "message", f.Message, "refused_since_last_line", known.since)
	known.logged, known.since = now, 0
}
