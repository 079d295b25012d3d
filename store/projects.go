package store

import (
	"context"
	"fmt"

	"svc"
)

const projectColumns = "id, name, slug, description, status, cwd, provider, model, max_runs, repo, base, isolation, setup, setup_timeout, keep_days, done_when, archived_at, created_at, updated_at, version"

func scanProject(row scanner) (svc.Project, error) {
	var p svc.Project
	err := row.Scan(&p.ID, &p.Name, &p.Slug, &p.Description, &p.Status, &p.Cwd, &p.Provider, &p.Model, &p.MaxRuns, &p.Repo, &p.Base, &p.Isolation, &p.Setup,
		&p.SetupTimeout, &p.KeepDays, &p.DoneWhen, &p.ArchivedAt, &p.CreatedAt, &p.UpdatedAt, &p.Version)
	return p, err
}

// Project reads a project by id or slug.
func (r Reader) Project(ctx context.Context, idOrSlug string) (svc.Project, error) {
	column := "slug"
	if svc.IsID(idOrSlug) {
		column = "id" // a project whose slug looks like an id is found only by its id
	}
	return readOne(ctx, r.q, scanProject, "project", idOrSlug,
		"SELECT "+projectColumns+" FROM projects WHERE "+column+" = $1", idOrSlug)
}

// LockProject reads and locks a project that this unit changes, or in which it
// changes items: units that change the same project run one after the other.
func (tx *Tx) LockProject(ctx context.Context, idOrSlug string) (svc.Project, error) {
	column := "slug"
	if svc.IsID(idOrSlug) {
		column = "id"
	}
	return readOne(ctx, tx.q, scanProject, "project", idOrSlug,
		"SELECT "+projectColumns+" FROM projects WHERE "+column+" = $1"+tx.d.forUpdate, idOrSlug)
}

// Projects returns a page of all projects, by name.
func (r Reader) Projects(ctx context.Context, page svc.Page) (svc.List[svc.Project], error) {
	var w where
	if page.Cursor != "" {
		var name, id string
		if err := readCursor("projects", page.Cursor, &name, &id); err != nil {
			return svc.List[svc.Project]{}, err
		}
		w.add("(name, id) > (?, ?)", name, id)
	}
	found, cut, err := collectUpTo(ctx, r.q, page.Bytes, scanProject, fmt.Sprintf("SELECT %s FROM projects%s ORDER BY name, id LIMIT %d",
		projectColumns, w.sql(), page.Limit+1), w.args...)
	if err != nil {
		return svc.List[svc.Project]{}, fmt.Errorf("list projects: %w", err)
	}
	return paged(found, cut, page.Limit, func(p svc.Project) string { return cursor("projects", p.Name, p.ID) }), nil
}

// SlugTaken reports whether a project, archived or not, has the slug.
func (r Reader) SlugTaken(ctx context.Context, slug string) (bool, error) {
	var n int
	err := r.q.QueryRowContext(ctx, "SELECT count(*) FROM projects WHERE slug = $1", slug).Scan(&n)
	return n > 0, err
}

// InsertProject adds a project.
func (tx *Tx) InsertProject(ctx context.Context, p svc.Project) error {
	_, err := tx.exec(ctx, "INSERT INTO projects ("+projectColumns+") VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20)",
		p.ID, p.Name, p.Slug, p.Description, p.Status, p.Cwd, p.Provider, p.Model, p.MaxRuns, p.Repo, p.Base, p.Isolation, p.Setup, p.SetupTimeout, p.KeepDays,
		p.DoneWhen, p.ArchivedAt, p.CreatedAt, p.UpdatedAt, p.Version)
	if err != nil {
		return fmt.Errorf("insert project: %w", err)
	}
	return nil
}

// UpdateProject writes a project that was read in this unit.
func (tx *Tx) UpdateProject(ctx context.Context, p *svc.Project) error {
	p.UpdatedAt = tx.Now
	n, err := tx.exec(ctx, `UPDATE projects SET name = $1, slug = $2, description = $3, status = $4, cwd = $5, provider = $6, model = $7, archived_at = $8,
		repo = $9, base = $10, isolation = $11, setup = $12, setup_timeout = $13, keep_days = $14, max_runs = $15, done_when = $16, updated_at = $17, version = version + 1
		WHERE id = $18 AND version = $19`,
		p.Name, p.Slug, p.Description, p.Status, p.Cwd, p.Provider, p.Model, p.ArchivedAt,
		p.Repo, p.Base, p.Isolation, p.Setup, p.SetupTimeout, p.KeepDays, p.MaxRuns, p.DoneWhen, p.UpdatedAt, p.ID, p.Version)
	return changed("project", p.ID, &p.Version, n, err)
}

// changed checks the result of a compare-and-set on the version, and increments
// *version.
func changed(noun, id string, version *int64, rows int64, err error) error {
	if err != nil {
		return fmt.Errorf("update %s %s: %w", noun, id, err)
	}
	if rows != 1 {
		return svc.Errorf(svc.CodeConflict, "%s %s was changed by another request meanwhile; try again", noun, id).Because(errStale)
	}
	*version++
	return nil
}
