package svc

import "unicode/utf8"

// Excerpt is the length of the prompt's excerpt in lists, in characters.
const Excerpt = 200

// RunSummary is a run as it appears in lists. Fields that may be large or secret are left out: those declared below
// hide the fields of Run and are never set.
type RunSummary struct {
	Run
	PromptExcerpt string             `json:"prompt_excerpt" doc:"The first 200 characters of the prompt"`
	Prompt        *string            `json:"prompt,omitempty" hidden:"true"`
	Args          *[]string          `json:"args,omitempty" hidden:"true"`
	Env           *map[string]string `json:"env,omitempty" hidden:"true"`
}

// Summary returns the run as it appears in lists.
func (r Run) Summary() RunSummary {
	excerpt := r.Prompt
	for i, n := 0, 0; i < len(excerpt); n++ {
		if n == Excerpt {
			excerpt = excerpt[:i]
			break
		}
		_, size := utf8.DecodeRuneInString(excerpt[i:])
		i += size
	}
	r.Prompt, r.Args, r.Env = "", nil, nil
	return RunSummary{Run: r, PromptExcerpt: excerpt}
}

// RunCounts is the number of runs with each status, and the number of runs that wait for a person.
type RunCounts struct {
	Pending    int `json:"pending"`
	Spawning   int `json:"spawning"`
	Running    int `json:"running"`
	Exited     int `json:"exited"`
	Failed     int `json:"failed"`
	Stopped    int `json:"stopped"`
	NeedsInput int `json:"needs_input"`
}

// Of returns a pointer to the count of one status.
func (c *RunCounts) Of(s RunStatus) *int {
	switch s {
	case RunPending:
		return &c.Pending
	case RunSpawning:
		return &c.Spawning
	case RunRunning:
		return &c.Running
	case RunExited:
		return &c.Exited
	case RunFailed:
		return &c.Failed
	default:
		return &c.Stopped
	}
}
