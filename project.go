package svc

import "regexp"

// ProjectStatus is where a project stands.
type ProjectStatus string

// A project is active until it is archived; it never comes back.
const (
	ProjectActive   ProjectStatus = "active"
	ProjectArchived ProjectStatus = "archived"
)

// Project is a body of work.
type Project struct {
	ID          string        `json:"id" doc:"UUID"`
	Name        string        `json:"name"`
	Slug        string        `json:"slug" doc:"Unique short name, usable wherever the id is"`
	Description string        `json:"description"`
	Status      ProjectStatus `json:"status" enum:"active,archived"`
	Cwd         string        `json:"cwd" doc:"Default working directory of runs; empty: the worker decides"`
	ArchivedAt  *Time         `json:"archived_at" doc:"Null while the project is active"`
	CreatedAt   Time          `json:"created_at"`
	UpdatedAt   Time          `json:"updated_at"`
	Version     int64         `json:"-"`
}

// NewProject is what a caller gives to make one.
type NewProject struct {
	Name        string
	Slug        string // empty: generated from the name
	Description string
	Cwd         string
}

// ProjectPatch changes what is not nil.
type ProjectPatch struct {
	Name        *string
	Slug        *string
	Description *string
	Cwd         *string
}

const (
	maxName        = 200
	maxDescription = 64 << 10
	maxCwd         = 4096
)

var slugForm = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// Validate names every field that is wrong.
func (n NewProject) Validate() error {
	patch := ProjectPatch{Name: &n.Name, Description: &n.Description, Cwd: &n.Cwd}
	if n.Slug != "" {
		patch.Slug = &n.Slug
	}
	return patch.Validate()
}

// Validate names every field that is wrong.
func (p ProjectPatch) Validate() error {
	var bad Problems
	if p.Name != nil {
		bad.line("name", *p.Name, 1, maxName)
	}
	if p.Slug != nil && !slugForm.MatchString(*p.Slug) {
		bad.Add("slug", "must be 1 to 64 of a-z, 0-9 and -")
	}
	if p.Description != nil {
		bad.text("description", *p.Description, maxDescription)
	}
	if p.Cwd != nil {
		bad.line("cwd", *p.Cwd, 0, maxCwd)
	}
	return bad.Err()
}

// CheckOpen refuses a change to an archived project or to anything in it.
func (p Project) CheckOpen() error {
	if p.Status == ProjectArchived {
		return Errorf(CodeProjectArchived, "project %q is archived; nothing in it can be changed", p.Slug)
	}
	return nil
}
