// Package docs is the manual: the pages of this folder, embedded so that the binary can show them.
package docs

import "embed"

//go:embed api.md config.md operations.md providers.md upgrade.md waiting.md
var pages embed.FS

// Topic is a page that `svc help` shows.
type Topic struct{ Name, About string }

// Topics lists the pages, the most frequently used first.
var Topics = []Topic{
	{"config", "Every setting, its default and where it can be set"},
	{"waiting", "The queue: in which order runs go, and what holds them back"},
	{"providers", "The catalog of agents, key by key"},
	{"operations", "Running it: backups, hosts, retention, metrics"},
	{"upgrade", "How to upgrade, and how to go back"},
	{"api", "The HTTP API"},
}

// Text returns the page of a topic.
func (t Topic) Text() string {
	text, err := pages.ReadFile(t.Name + ".md")
	if err != nil {
		panic("docs: there is no page " + t.Name) // a topic without a page
	}
	return string(text)
}
