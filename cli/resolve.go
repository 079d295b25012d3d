package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"svc"
	"svc/api"
	"svc/safetext"
)

// Users name a record by its id, by a unique prefix of the id, or by the name
// that the noun has besides: a project's slug, a task's number such as
// CHECKOUT-12, a host's name, a run's session. Where a run is expected, a task's
// number refers to its active or newest run.

// candidate is a record that a reference may refer to.
type candidate struct{ id, name, about string }

func (a *app) project(ctx context.Context, c *api.Client, ref string) (svc.Project, error) {
	p, err := c.Project(ctx, ref)
	if svc.CodeOf(err) != svc.CodeNotFound || svc.IsID(ref) || ref == "" {
		return p, orMissing(err, "project", ref)
	}
	return find(ref, "project", c.AllProjects(ctx), func(p svc.Project) candidate { return candidate{p.ID, p.Slug, p.Slug} })
}

func (a *app) host(ctx context.Context, c *api.Client, ref string) (svc.Host, error) {
	h, err := c.Host(ctx, ref)
	if svc.CodeOf(err) != svc.CodeNotFound || svc.IsID(ref) || ref == "" {
		return h, orMissing(err, "host", ref)
	}
	return find(ref, "host", c.AllHosts(ctx), func(h svc.Host) candidate { return candidate{h.ID, h.Name, h.Name} })
}

func (a *app) task(ctx context.Context, c *api.Client, ref string) (svc.WorkItem, error) {
	_, _, isRef := svc.ParseItemRef(ref)
	if svc.IsID(ref) || isRef {
		w, err := c.WorkItem(ctx, ref)
		if svc.CodeOf(err) != svc.CodeNotFound || svc.IsID(ref) {
			return w, orMissing(err, "task", ref)
		}
	}
	return find(ref, "task", c.AllWorkItems(ctx, svc.WorkItemFilter{}), func(w svc.WorkItem) candidate {
		return candidate{w.ID, "", w.Ref() + " " + w.Title}
	})
}

func (a *app) theRun(ctx context.Context, c *api.Client, ref string) (svc.Run, error) {
	if svc.IsID(ref) {
		r, err := c.Run(ctx, ref)
		return r, orMissing(err, "run", ref)
	}
	if _, _, isRef := svc.ParseItemRef(ref); isRef {
		w, err := c.WorkItem(ctx, ref)
		if err == nil {
			return a.newestRun(ctx, c, w)
		}
		if svc.CodeOf(err) != svc.CodeNotFound {
			return svc.Run{}, err
		}
	}
	r, err := find(ref, "run", c.AllRuns(ctx, svc.RunFilter{}), runCandidate)
	if err != nil {
		return svc.Run{}, err
	}
	return c.Run(ctx, r.ID)
}

func runCandidate(r svc.RunSummary) candidate {
	return candidate{r.ID, r.SessionName, fmt.Sprintf("%s %s, %s, %s", r.TaskRef(), r.TaskTitle, r.Provider, r.Status)}
}

// newestRun returns the run that a task refers to: its active run, else its newest. When several are active, it
// returns an error.
func (a *app) newestRun(ctx context.Context, c *api.Client, w svc.WorkItem) (svc.Run, error) {
	active, err := c.Runs(ctx, svc.RunFilter{TaskID: w.ID, Statuses: []svc.RunStatus{svc.RunPending, svc.RunSpawning, svc.RunRunning}}, svc.Page{Limit: mostShown + 1})
	switch {
	case err != nil:
		return svc.Run{}, err
	case len(active.Items) == 1:
		return c.Run(ctx, active.Items[0].ID)
	case len(active.Items) > 1:
		return svc.Run{}, ambiguous("run", w.Ref(), active.Items, runCandidate)
	case w.NewestRun == nil:
		return svc.Run{}, &problem{what: fmt.Sprintf("task %s has no run yet", w.Ref()), next: "`" + a.self() + " run start " + w.Ref() + "` starts one", exit: exitNotFound}
	}
	return c.Run(ctx, w.NewestRun.ID)
}

// find returns the record that ref refers to. A full name takes precedence over a prefix.
func find[T any](ref, noun string, all iter.Seq2[T, error], of func(T) candidate) (T, error) {
	var none T
	if ref == "" {
		return none, usage("`svc "+noun+" list` shows them", "the name of a %s is empty", noun)
	}
	var fits []T
	for item, err := range all {
		if err != nil {
			return none, err
		}
		k := of(item)
		if k.id == ref || k.name == ref {
			return item, nil
		}
		if strings.HasPrefix(k.id, ref) || k.name != "" && strings.HasPrefix(k.name, ref) {
			fits = append(fits, item)
		}
	}
	switch len(fits) {
	case 0:
		return none, missing(noun, ref)
	case 1:
		return fits[0], nil
	}
	return none, ambiguous(noun, ref, fits, of)
}

// mostShown bounds the candidates in an error message.
const mostShown = 10

func ambiguous[T any](noun, ref string, fits []T, of func(T) candidate) error {
	lines := []string{"it may mean"}
	for i, item := range fits {
		if i == mostShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(fits)-mostShown))
			break
		}
		k := of(item)
		lines = append(lines, fmt.Sprintf("%s  %s", k.id, safetext.Line(k.about)))
	}
	return &problem{
		what: fmt.Sprintf("%q fits %d %ss", ref, len(fits), noun), why: strings.Join(lines, "\n"),
		next: "write more of the one that is meant", exit: exitUsage,
	}
}

func missing(noun, ref string) error {
	return &problem{what: fmt.Sprintf("there is no %s %q", noun, ref), next: fmt.Sprintf("`svc %s list` lists the existing ones", noun), exit: exitNotFound}
}

// isNotFound reports whether the error is one of missing.
func isNotFound(err error) bool {
	var known *problem
	return errors.As(err, &known) && known.exit == exitNotFound
}

// orMissing returns the same error as missing when the orchestrator itself has returned "not found".
func orMissing(err error, noun, ref string) error {
	if svc.CodeOf(err) == svc.CodeNotFound {
		return missing(noun, ref)
	}
	return err
}

// collect reads all items of a list.
func collect[T any](all iter.Seq2[T, error]) ([]T, error) {
	var items []T
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// first reads at most n items of a list; 0 means all.
func first[T any](all iter.Seq2[T, error], n int) ([]T, error) {
	var items []T
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		if items = append(items, item); len(items) == n {
			break
		}
	}
	return items, nil
}

// shortRun returns the part of a run's id that is in its session's name.
func shortRun(id string) string { return id[:8] }

// shortRecent returns the end of an id. Ids that were made in the same minute differ only there. (The ids of runs
// begin with random characters, so shortRun can use the beginning.)
func shortRecent(id string) string { return id[len(id)-8:] }

// short returns an id as a table shows it: shortened by cut on a terminal, in full elsewhere.
func (a *app) short(id string, cut func(string) string) string {
	if a.human() && svc.IsID(id) {
		return cut(id)
	}
	return id
}
