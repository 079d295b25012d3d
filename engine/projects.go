package engine

import (
	"context"

	"svc"
	"svc/store"
)

// CreateProject creates a project. A slug from the caller must be free; a generated slug gets a number if it is
// taken.
func (e *Engine) CreateProject(ctx context.Context, n svc.NewProject) (svc.Project, error) {
	if err := n.Validate(); err != nil {
		return svc.Project{}, err
	}
	return once(ctx, e.Store.Write, func(tx *store.Tx) (svc.Project, error) {
		slug, err := freeSlug(ctx, tx, n)
		if err != nil {
			return svc.Project{}, err
		}
		p := svc.Project{ID: svc.NewID(), Name: n.Name, Slug: slug, Description: n.Description, Status: svc.ProjectActive,
			Cwd: n.Cwd, Provider: n.Provider, Model: n.Model, MaxRuns: n.MaxRuns, DoneWhen: svc.DoneCompleted, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
		if n.DoneWhen != "" {
			p.DoneWhen = n.DoneWhen
		}
		if err := p.SetSource(n.Source); err != nil {
			return p, err
		}
		if err := tx.InsertProject(ctx, p); err != nil {
			return p, err
		}
		tx.Emit(svc.TopicProjectCreated, projectEvent(p))
		return p, nil
	})
}

func freeSlug(ctx context.Context, tx *store.Tx, n svc.NewProject) (string, error) {
	if n.Slug != "" {
		taken, err := tx.SlugTaken(ctx, n.Slug)
		if err == nil && taken {
			err = slugTaken(n.Slug)
		}
		return n.Slug, err
	}
	base := svc.Slug(n.Name)
	slug := base
	for i := 2; ; i++ {
		taken, err := tx.SlugTaken(ctx, slug)
		if err != nil || !taken {
			return slug, err
		}
		slug = svc.SlugAgain(base, i)
	}
}

func slugTaken(slug string) error {
	return svc.Errorf(svc.CodeConflict, "the slug %q is taken; choose another", slug).With("field", "slug")
}

// Project reads a project by id or slug.
func (e *Engine) Project(ctx context.Context, idOrSlug string) (svc.Project, error) {
	return e.Store.Project(ctx, idOrSlug)
}

// Projects returns a page of all projects, ordered by name.
func (e *Engine) Projects(ctx context.Context, page svc.Page) (svc.List[svc.Project], error) {
	return e.Store.Projects(ctx, page)
}

// UpdateProject changes the fields that the patch names.
func (e *Engine) UpdateProject(ctx context.Context, idOrSlug string, patch svc.ProjectPatch, match Match) (svc.Project, error) {
	var p svc.Project
	err := e.Store.WriteRepeatable(ctx, func(tx *store.Tx) (err error) {
		if p, err = tx.LockProject(ctx, idOrSlug); err != nil {
			return err
		}
		if err := firstErr(patch.Validate, p.CheckOpen, func() error { return checkMatch(match, p.Version) }); err != nil {
			return err
		}
		if patch.Slug != nil && *patch.Slug != p.Slug {
			if taken, err := tx.SlugTaken(ctx, *patch.Slug); err != nil {
				return err
			} else if taken {
				return slugTaken(*patch.Slug)
			}
		}
		before := p
		assign(&p.Name, patch.Name)
		assign(&p.Slug, patch.Slug)
		assign(&p.Description, patch.Description)
		assign(&p.Cwd, patch.Cwd)
		assign(&p.Provider, patch.Provider)
		assign(&p.Model, patch.Model)
		assign(&p.DoneWhen, patch.DoneWhen)
		if patch.MaxRuns != nil && !sameLimit(patch.MaxRuns.Max, p.MaxRuns) {
			p.MaxRuns = patch.MaxRuns.Max
		}
		if patch.Source != (svc.SourcePatch{}) {
			if err := p.SetSource(patch.Source); err != nil {
				return err
			}
		}
		if p == before {
			return nil
		}
		if err := tx.UpdateProject(ctx, &p); err != nil {
			return err
		}
		tx.Emit(svc.TopicProjectUpdated, projectEvent(p))
		return nil
	}, store.ProjectRow(idOrSlug))
	if err == nil {
		e.claims.up() // the limit may allow more runs now
	}
	return p, err
}

// ArchiveProject archives a project for good. To archive it again changes nothing.
func (e *Engine) ArchiveProject(ctx context.Context, idOrSlug string, match Match) (svc.Project, error) {
	var p svc.Project
	err := e.Store.WriteRepeatable(ctx, func(tx *store.Tx) (err error) {
		if p, err = tx.LockProject(ctx, idOrSlug); err != nil {
			return err
		}
		if err := checkMatch(match, p.Version); err != nil {
			return err
		}
		if p.Status == svc.ProjectArchived {
			return nil
		}
		now := tx.Now
		p.Status, p.ArchivedAt = svc.ProjectArchived, &now
		if err := tx.UpdateProject(ctx, &p); err != nil {
			return err
		}
		tx.Emit(svc.TopicProjectArchived, projectEvent(p))
		return nil
	}, store.ProjectRow(idOrSlug))
	return p, err
}

func projectEvent(p svc.Project) map[string]any {
	return map[string]any{"project_id": p.ID, "name": p.Name, "slug": p.Slug, "status": p.Status, "max_runs": p.MaxRuns}
}

func assign[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// firstErr runs checks and returns the first error.
func firstErr(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}
