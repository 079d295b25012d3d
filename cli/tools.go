package cli

import (
	"context"
	"os"
	"strings"

	"svc"
	"svc/config"
	"svc/provider"
)

// foundTool is an agent's command-line tool that is installed on this machine and for which there is a preset.
type foundTool struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Added   bool   `json:"added"`  // this call has added it to the catalog
	Reason  string `json:"reason"` // why it does not work; empty: it does
}

// adoptTools looks for the tools of all presets on the PATH that a worker has, and adds the missing ones to the
// catalog. Existing entries stay as they are.
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

// working returns the ids of the tools that work.
func working(tools []foundTool) []string {
	var ids []string
	for _, t := range tools {
		if t.Reason == "" {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// preferredTool returns the default provider of a new project when several tools are installed. Without a default,
// the first `svc run start` would require --provider.
func preferredTool(ids []string) string {
	if len(ids) < 2 {
		return ""
	}
	return ids[0]
}

// toolWords lists the tools in one line.
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
