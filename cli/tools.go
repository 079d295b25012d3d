package cli

import (
	"context"
	"os"
	"strings"

	"svc"
	"svc/config"
	"svc/provider"
)

// foundTool is an agent's command-line tool that this machine has and for which there is a preset.
type foundTool struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Added   bool   `json:"added"`  // it was put into the catalog just now
	Reason  string `json:"reason"` // why it does not work; empty: it does
}

// adoptTools looks for the tools of all presets on the PATH that a worker has, and adds those to the catalog that it lacks.
// Entries that are there stay as they are.
func (a *app) adoptTools(ctx context.Context, cfg *config.Config) ([]foundTool, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := a.searchPath(self)
	found := []foundTool{}
	for _, name := range provider.PresetNames() {
		if _, err := (provider.Entry{ID: name, Bin: name}).Find(path); err != nil {
			continue // not installed
		}
		_, err := provider.Add(cfg.CatalogPath, name)
		if err != nil && svc.CodeOf(err) != svc.CodeConflict {
			return found, err
		}
		tool := foundTool{ID: name, Added: err == nil}
		catalog, err := provider.Load(cfg.CatalogPath)
		if err != nil {
			return found, err
		}
		entry, err := catalog.Entry(name)
		if err != nil {
			return found, err
		}
		report := provider.Probe(ctx, entry, path)
		tool.Version, tool.Reason = report.Version, report.Reason
		found = append(found, tool)
	}
	return found, ctx.Err()
}

// working are the ids of the tools that answered.
func working(tools []foundTool) []string {
	var ids []string
	for _, t := range tools {
		if t.Reason == "" {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// preferredTool is the tool of a new project when there are several: without it the first command would ask which one is meant.
func preferredTool(ids []string) string {
	if len(ids) < 2 {
		return ""
	}
	return ids[0]
}

// toolWords is one line about what was found.
func toolWords(tools []foundTool) string {
	var words []string
	for _, t := range tools {
		switch {
		case t.Reason != "":
			words = append(words, t.ID+" (does not work)")
		case strings.Contains(t.Version, t.ID) || t.Version == "":
			words = append(words, t.ID)
		default:
			words = append(words, t.ID+" "+t.Version)
		}
	}
	return strings.Join(words, ", ")
}
