package engine

import (
	"sync"

	"svc"
	"svc/place"
)

// fullBook knows when projects were last full. The dispatch timeout of their
// runs counts from then on: what a limit imposes is not held against a run. What
// a restart loses counts in the runs' favour.
type fullBook struct {
	mu   sync.Mutex
	last map[string]svc.Time // guarded by mu; by project
}

// note takes what a claim pass saw.
func (b *fullBook) note(projects map[string]place.Project, now svc.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		b.last = map[string]svc.Time{}
	}
	for id, p := range projects {
		if p.Full() {
			b.last[id] = now
		}
	}
}

// until is when a project was last seen full; what was before this process
// began is not known.
func (b *fullBook) until(projectID string, began svc.Time) svc.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.last[projectID], began)
}
