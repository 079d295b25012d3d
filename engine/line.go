package engine

import (
	"context"
	"slices"

	"svc"
	"svc/place"
	"svc/store"
)

// waitLine is all pending runs at one moment.
type waitLine struct {
	runs     map[string]store.PendingRun
	projects map[string]place.Project
	order    []string // ids of runs that only capacity holds back, in the order of placement
	held     []string // ids of the others, longest waiting first
}

func (e *Engine) readLine(ctx context.Context, r store.Reader) (*waitLine, error) {
	pending, err := r.PendingRuns(ctx)
	if err != nil {
		return nil, err
	}
	l := &waitLine{runs: make(map[string]store.PendingRun, len(pending))}
	var ids []string
	for _, p := range pending {
		l.runs[p.ID] = p
		ids = append(ids, p.ProjectID)
	}
	slices.Sort(ids)
	projects, err := r.QueueProjects(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	l.projects = seenByPlacement(projects)
	now := e.now()
	free := map[string][]place.Waiting{}
	slices.SortFunc(pending, func(a, b store.PendingRun) int { return int(min(max(a.PendingSince-b.PendingSince, -1), 1)) })
	for _, p := range pending {
		if p.Blocked || len(l.gate(p.ID).Holds(now)) > 0 {
			l.held = append(l.held, p.ID)
			continue
		}
		free[p.ProjectID] = append(free[p.ProjectID], place.Waiting(p.QueuedRun))
	}
	l.order = place.Order(free, l.projects)
	return l, nil
}

// gate returns what may hold a run back, except its unmet needs.
func (l *waitLine) gate(id string) place.Gate {
	r := l.runs[id]
	return place.Gate{NotBefore: r.NotBefore, BackOff: r.BackOff, Busy: r.Busy, Follows: r.Follows, Project: l.projects[r.ProjectID]}
}

// QueuedRuns returns a page of the pending runs that pass the filter, in the order of placement; runs that are held back
// come last. A cursor names the last run of the previous page and its position, in case that run has been placed
// meanwhile.
func (e *Engine) QueuedRuns(ctx context.Context, f svc.RunFilter, page svc.Page) (out svc.List[svc.RunSummary], err error) {
	out.Items = []svc.RunSummary{}
	err = e.Store.View(ctx, func(r store.Reader) error {
		line, err := e.readLine(ctx, r)
		if err != nil {
			return err
		}
		ids := slices.Concat(line.order, line.held)
		begin, err := store.QueuePlace(ids, page.Cursor)
		if err != nil {
			return err
		}
		bytes := 0
		for out.NextCursor == nil && len(out.Items) < page.Limit && begin < len(ids) {
			part := ids[begin:min(begin+svc.DefaultLimit, len(ids))] // few at a time: a page ends early when the runs are large
			found, err := r.RunSummaries(ctx, part)
			if err != nil {
				return err
			}
			for i, id := range part {
				if run, ok := found[id]; ok && f.Match(run) {
					e.lookAt(&run)
					summary := run.Summary()
					text, err := svc.JSON(summary)
					if err != nil {
						return err
					}
					out.Items, bytes = append(out.Items, summary), bytes+len(text)
				}
				if len(out.Items) == page.Limit || page.Bytes > 0 && bytes > page.Bytes {
					if at := begin + i; at+1 < len(ids) {
						next := store.QueueCursor(at, id)
						out.NextCursor = &next
					}
					break
				}
			}
			begin += len(part)
		}
		return nil
	})
	return out, err
}
