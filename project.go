package svc

import (
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// ProjectStatus is the status of a project.
type ProjectStatus string

// A project is active until it is archived. An archived project cannot become active again.
const (
	ProjectActive   ProjectStatus = "active"
	ProjectArchived ProjectStatus = "archived"
)

// DoneWhen is what makes a work item done without a manual change.
type DoneWhen string

// Completed: a run reports that it has completed the item, and the item's auto_mark_done is set. Landed: the item's
// work was landed.
const (
	DoneCompleted DoneWhen = "completed"
	DoneLanded    DoneWhen = "landed"
)

// Project is a body of work with its own work items and defaults.
type Project struct {
	ID          string        `json:"id" doc:"UUID"`
	Name        string        `json:"name"`
	Slug        string        `json:"slug" doc:"Unique short name, usable wherever the id is"`
	Description string        `json:"description"`
	Status      ProjectStatus `json:"status" enum:"active,archived"`
	Cwd         string        `json:"cwd" doc:"Default working directory of runs; empty: the worker decides"`
	Provider    string        `json:"provider" doc:"Provider of runs that do not set one; empty: [runs] provider"`
	Model       string        `json:"model" doc:"Model of runs that do not set one, for that provider's tool; empty: [runs] model, then the tool's default"`
	MaxRuns     *int          `json:"max_runs" doc:"How many of its runs may be active at once; null: no limit"`
	DoneWhen    DoneWhen      `json:"done_when" enum:"completed,landed" doc:"What makes an item done automatically: a run that completes it, when auto_mark_done is set, or the landing of its work"`
	// The source of the working copies of its runs; see Source.
	Repo         string    `json:"repo" doc:"Repository that runs get a working copy of: URL, or absolute path on the host; empty: there is none"`
	Base         string    `json:"base" doc:"Branch that working copies begin at; empty: the repository's default"`
	Isolation    Isolation `json:"isolation" enum:"none,clone,worktree" doc:"What a run's working copy is; none: runs work in cwd itself"`
	Setup        string    `json:"setup" doc:"Shell script that is run in each new working copy before the agent starts; empty: none"`
	SetupTimeout string    `json:"setup_timeout" doc:"Time limit of the script, such as 10m"`
	KeepDays     int       `json:"keep_days" doc:"Days after which a landed or discarded working copy is removed"`
	ArchivedAt   *Time     `json:"archived_at" doc:"Null while the project is active"`
	CreatedAt    Time      `json:"created_at"`
	UpdatedAt    Time      `json:"updated_at"`
	Version      int64     `json:"-"`
}

// NewProject holds the fields of a request to create a project.
type NewProject struct {
	Name        string
	Slug        string // empty: generated from the name
	Description string
	Cwd         string
	Provider    string
	Model       string
	MaxRuns     *int     // nil: no limit
	DoneWhen    DoneWhen // empty: DoneCompleted
	Source      SourcePatch
}

// ProjectPatch changes every field that is not nil.
type ProjectPatch struct {
	Name        *string
	Slug        *string
	Description *string
	Cwd         *string
	Provider    *string
	Model       *string
	MaxRuns     *MaxRunsChange
	DoneWhen    *DoneWhen
	Source      SourcePatch
}

// SourcePatch changes every field of a Source that is not nil.
type SourcePatch struct {
	Repo         *string
	Base         *string
	Isolation    *Isolation
	Setup        *string
	SetupTimeout *string
	KeepDays     *int
}

const (
	maxName        = 200
	maxDescription = 64 << 10
	maxCwd         = 4096
	maxProvider    = 100
	maxModel       = 200
)

var slugForm = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// Validate returns a validation error that names every wrong field, or nil.
func (n NewProject) Validate() error {
	patch := ProjectPatch{Name: &n.Name, Description: &n.Description, Cwd: &n.Cwd, Provider: &n.Provider, Model: &n.Model, MaxRuns: &MaxRunsChange{n.MaxRuns}}
	if n.Slug != "" {
		patch.Slug = &n.Slug
	}
	if n.DoneWhen != "" {
		patch.DoneWhen = &n.DoneWhen
	}
	return patch.Validate()
}

// SetSource changes the source of the project's working copies. When the patch does not set the isolation, it follows
// the repository: clone when there is one, none when there is not.
func (p *Project) SetSource(c SourcePatch) error {
	had := p.Repo != ""
	assign(&p.Repo, c.Repo)
	assign(&p.Base, c.Base)
	assign(&p.Setup, c.Setup)
	assign(&p.SetupTimeout, c.SetupTimeout)
	assign(&p.KeepDays, c.KeepDays)
	if has := p.Repo != ""; c.Isolation == nil && has != had {
		p.Isolation = ""
	}
	assign(&p.Isolation, c.Isolation)
	timeout, err := time.ParseDuration(p.SetupTimeout)
	if err != nil && p.SetupTimeout != "" {
		return Invalid("setup_timeout", "must be a duration, as in 10m")
	}
	if c.SetupTimeout != nil && *c.SetupTimeout != "" && timeout == 0 {
		return Invalid("setup_timeout", "must be 1s to 24h")
	}
	if c.KeepDays != nil && *c.KeepDays == 0 {
		return Invalid("keep_days", "must be 1 to %d", maxKeepDays)
	}
	s := Source{Repo: p.Repo, Base: p.Base, Isolation: p.Isolation, Setup: p.Setup, SetupTimeout: timeout, KeepDays: p.KeepDays}.OrDefaults()
	p.Isolation, p.SetupTimeout, p.KeepDays = s.Isolation, shortDuration(s.SetupTimeout), s.KeepDays
	return s.Validate()
}

// shortDuration formats a duration without zero units: 10m, not 10m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if short, ok := strings.CutSuffix(s, zero); ok {
			s = short + zero[:1]
		}
	}
	return s
}

// Source returns the source of the project's working copies.
func (p Project) Source() Source {
	timeout, _ := time.ParseDuration(p.SetupTimeout) // validated when it was set
	return Source{Repo: p.Repo, Base: p.Base, Isolation: p.Isolation, Setup: p.Setup, SetupTimeout: timeout, KeepDays: p.KeepDays}.OrDefaults()
}

// Isolates reports whether each run of the project gets a working copy of its own.
func (p Project) Isolates() bool {
	return p.Isolation == IsolationClone || p.Isolation == IsolationWorktree
}

// CwdInCopy converts a working directory to a path relative to the working copy. A directory inside the repository
// becomes the same directory in the copy. ok is false when cwd is elsewhere; rel is then the root of the copy.
func (p Project) CwdInCopy(cwd string) (rel string, ok bool) {
	switch {
	case cwd == "":
		return "", true
	case filepath.IsLocal(cwd):
		return filepath.Clean(cwd), true
	case p.Source().IsPath() && filepath.IsAbs(cwd):
		rel, err := filepath.Rel(p.Repo, cwd)
		if err != nil || !filepath.IsLocal(rel) {
			return "", false
		}
		if rel == "." {
			rel = ""
		}
		return rel, true
	default:
		return "", false
	}
}

// Validate returns a validation error that names every wrong field, or nil.
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
	if p.Provider != nil {
		bad.line("provider", *p.Provider, 0, maxProvider)
	}
	if p.Model != nil {
		bad.line("model", *p.Model, 0, maxModel)
	}
	p.MaxRuns.check(&bad)
	if p.DoneWhen != nil {
		oneOf(&bad, "done_when", *p.DoneWhen, DoneCompleted, DoneLanded)
	}
	return bad.Err()
}

// Defaults returns the values that runs of the project use when the request leaves them out.
func (p Project) Defaults() RunDefaults {
	cwd := p.Cwd
	if p.Isolates() {
		cwd, _ = p.CwdInCopy(p.Cwd)
	}
	return RunDefaults{Provider: p.Provider, Model: p.Model, Cwd: cwd}
}

// CheckOpen returns an error when the project is archived: then nothing in it may be changed.
func (p Project) CheckOpen() error {
	if p.Status == ProjectArchived {
		return Errorf(CodeProjectArchived, "project %q is archived; nothing in it can be changed", p.Slug)
	}
	return nil
}

func assign[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
