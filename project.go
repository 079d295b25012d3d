package svc

import (
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// ProjectStatus is where a project stands.
type ProjectStatus string

// A project is active until it is archived; it never comes back.
const (
	ProjectActive   ProjectStatus = "active"
	ProjectArchived ProjectStatus = "archived"
)

// DoneWhen says what makes a work item done by itself.
type DoneWhen string

// Completed: a run says that it has completed it, where the item's auto_mark_done allows. Landed: its work was landed.
const (
	DoneCompleted DoneWhen = "completed"
	DoneLanded    DoneWhen = "landed"
)

// Project is a body of work.
type Project struct {
	ID          string        `json:"id" doc:"UUID"`
	Name        string        `json:"name"`
	Slug        string        `json:"slug" doc:"Unique short name, usable wherever the id is"`
	Description string        `json:"description"`
	Status      ProjectStatus `json:"status" enum:"active,archived"`
	Cwd         string        `json:"cwd" doc:"Default working directory of runs; empty: the worker decides"`
	Provider    string        `json:"provider" doc:"Provider of runs that name none; empty: [runs] provider"`
	Model       string        `json:"model" doc:"Model of runs that name none, for that provider's tool; empty: [runs] model, then the tool's own"`
	MaxRuns     *int          `json:"max_runs" doc:"How many of its runs may be active at once; null: no limit"`
	DoneWhen    DoneWhen      `json:"done_when" enum:"completed,landed" doc:"What makes an item done by itself: a run that completes it, where auto_mark_done is set, or the landing of its work"`
	// What the working copies of its runs are made of; see Source.
	Repo         string    `json:"repo" doc:"Repository that runs get a working copy of: URL, or absolute path on the host; empty: there is none"`
	Base         string    `json:"base" doc:"Branch that working copies begin at; empty: the repository's default"`
	Isolation    Isolation `json:"isolation" enum:"none,clone,worktree" doc:"What a run's working copy is; none: runs work in cwd itself"`
	Setup        string    `json:"setup" doc:"Shell script that is run in each new working copy before the agent starts; empty: none"`
	SetupTimeout string    `json:"setup_timeout" doc:"How long the script may take, as in 10m"`
	KeepDays     int       `json:"keep_days" doc:"Days after which a landed or discarded working copy is removed"`
	ArchivedAt   *Time     `json:"archived_at" doc:"Null while the project is active"`
	CreatedAt    Time      `json:"created_at"`
	UpdatedAt    Time      `json:"updated_at"`
	Version      int64     `json:"-"`
}

// NewProject is what a caller gives to make one.
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

// ProjectPatch changes what is not nil.
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

// SourcePatch changes what is not nil of what working copies are made of.
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

// Validate names every field that is wrong.
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

// SetSource changes what the project's working copies are made of. What nobody says follows the repository: with one, runs get
// clones; without one, nothing.
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

// shortDuration is a duration as people write it: 10m and not 10m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if short, ok := strings.CutSuffix(s, zero); ok {
			s = short + zero[:1]
		}
	}
	return s
}

// Source is what the project's working copies are made of.
func (p Project) Source() Source {
	timeout, _ := time.ParseDuration(p.SetupTimeout) // it was checked when it was set
	return Source{Repo: p.Repo, Base: p.Base, Isolation: p.Isolation, Setup: p.Setup, SetupTimeout: timeout, KeepDays: p.KeepDays}.OrDefaults()
}

// Isolates says whether runs of the project get a working copy of their own.
func (p Project) Isolates() bool {
	return p.Isolation == IsolationClone || p.Isolation == IsolationWorktree
}

// CwdInCopy is a folder as runs with a working copy name it: relative to the copy. A folder of the repository itself means the same one in
// the copy. False: it lies elsewhere, and the answer is the copy's own folder.
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

// Defaults is what runs of the project use when they do not say.
func (p Project) Defaults() RunDefaults {
	cwd := p.Cwd
	if p.Isolates() {
		cwd, _ = p.CwdInCopy(p.Cwd)
	}
	return RunDefaults{Provider: p.Provider, Model: p.Model, Cwd: cwd}
}

// CheckOpen refuses a change to an archived project or to anything in it.
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
