package engine

import (
	"sync"

	"svc"
	"svc/place"
)

// fullBook stores when projects were last full. The dispatch timeout of their runs counts from that time: a wait that
// a limit imposes does not count. What a restart forgets only makes the timeout later.
type fullBook struct {
	mu   sync.Mutex
	last map[string]svc.Time // guarded by mu; by project
}

// note records the full projects that a claim pass has read.
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

// until returns when a project was last seen full, but at least began, the start of this process: earlier times are
// not stored.
func (b *fullBook) until(projectID string, began svc.Time) svc.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.last[projectID], began)
}
