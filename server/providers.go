package server

import (
	"cmp"
	"context"
	"net/http"
	"sort"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

func (s *Server) providerRoutes() {
	register(s, huma.Operation{
		OperationID: "list-providers", Method: http.MethodGet, Path: "/providers", Tags: []string{"Providers"},
		Summary:     "List the providers and where each is available",
		Description: "The orchestrator's catalog, then the providers that only workers have. The list is one page.",
	}, func(ctx context.Context, _ *struct{}) (*list[api.Provider], error) {
		hosts, err := s.allHosts(ctx)
		if err != nil {
			return nil, err
		}
		return listed(svc.List[api.Provider]{Items: providers(s.Catalog(), hosts, s.Engine.RunDefaults.Provider)}, nil)
	})
}

// allHosts reads all pages of hosts.
func (s *Server) allHosts(ctx context.Context) ([]svc.Host, error) {
	var all []svc.Host
	page := svc.Page{Limit: svc.MaxLimit}
	for {
		l, err := s.Engine.Hosts(ctx, page)
		if err != nil {
			return nil, err
		}
		all = append(all, l.Items...)
		if l.NextCursor == nil {
			return all, nil
		}
		page.Cursor = *l.NextCursor
	}
}

// providers merges the catalog with the reports of the workers.
func providers(catalog []ProviderInfo, hosts []svc.Host, preferred string) []api.Provider {
	var out []api.Provider
	place := map[string]int{}
	add := func(facts ProviderInfo, known bool) {
		if facts.CompletionSignals == nil {
			facts.CompletionSignals = []string{}
		}
		facts.Conversation = cmp.Or(facts.Conversation, "none")
		place[facts.ID] = len(out)
		out = append(out, api.Provider{ProviderFacts: facts, InCatalog: known, Hosts: map[string]api.ProviderOnHost{}})
	}
	for _, facts := range catalog {
		add(facts, true)
	}
	for _, id := range onlyReported(place, hosts) {
		add(ProviderInfo{ID: id, Name: id}, false)
	}
	for i, p := range out {
		out[i].Tool, out[i].Default = p.ID, p.ID == preferred
		if _, both := place[svc.ToolOf(p.ID)]; both {
			out[i].Tool, out[i].Interactive = svc.ToolOf(p.ID), p.ID != svc.ToolOf(p.ID)
		}
	}
	for _, h := range hosts {
		for id, r := range h.Providers {
			if r.Preset {
				continue // the host's catalog does not have it
			}
			out[place[id]].Hosts[h.ID] = api.ProviderOnHost{
				HostName: h.Name, Available: r.Available, Version: r.Version, Reason: r.Reason, Resumes: r.Resumes, ReportedAt: h.ProvidersAt,
			}
		}
	}
	return out
}

// onlyReported lists, in order, the ids that a worker has reported and that are not in known.
func onlyReported(known map[string]int, hosts []svc.Host) []string {
	seen := map[string]bool{}
	for _, h := range hosts {
		for id, r := range h.Providers {
			if _, has := known[id]; !has && !r.Preset {
				seen[id] = true
			}
		}
	}
	ids := make([]string, 0, len(seen))
	for id := range seen {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}
