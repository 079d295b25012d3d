package cli

import (
	"cmp"
	"slices"
	"strings"

	"svc"
)

// runOrders are the orders of a list of runs, by the word that --sort takes. Runs that compare equal stay in the
// order of the list: newest first.
var runOrders = map[string]func(a, b svc.Run) int{
	"created": func(a, b svc.Run) int { return cmp.Compare(b.CreatedAt, a.CreatedAt) },
	"started": func(a, b svc.Run) int { return later(a.StartedAt, b.StartedAt) },
	"ended":   func(a, b svc.Run) int { return later(a.EndedAt, b.EndedAt) },
	"output":  func(a, b svc.Run) int { return later(a.LastOutputAt, b.LastOutputAt) },
	"status":  func(a, b svc.Run) int { return cmp.Compare(runRank(a), runRank(b)) },
	"task": func(a, b svc.Run) int {
		return cmp.Or(cmp.Compare(a.ProjectSlug, b.ProjectSlug), cmp.Compare(a.TaskNumber, b.TaskNumber))
	},
	"title": func(a, b svc.Run) int {
		return strings.Compare(strings.ToLower(a.TaskTitle), strings.ToLower(b.TaskTitle))
	},
	"provider": func(a, b svc.Run) int { return strings.Compare(a.Provider, b.Provider) },
}

// runOrderWords are the words of runOrders, in the order of the help text.
var runOrderWords = []string{"created", "started", "ended", "output", "status", "task", "title", "provider"}

// sortRuns orders runs; a word that begins with a minus reverses the order.
func sortRuns(runs []svc.RunSummary, by string) error {
	word, reverse := strings.CutPrefix(by, "-")
	order, ok := runOrders[word]
	if !ok {
		return usage("", "--sort takes %s, with a minus in front to reverse the order", strings.Join(runOrderWords, ", "))
	}
	slices.SortStableFunc(runs, func(a, b svc.RunSummary) int {
		if reverse {
			return order(b.Run, a.Run)
		}
		return order(a.Run, b.Run)
	})
	return nil
}

// later orders the later time first, and nil last.
func later(a, b *svc.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*b, *a)
}

// runRank orders the states of runs: those that need a person come first.
func runRank(r svc.Run) int {
	return slices.Index([]string{"needs you", "running", "stopping", "spawning", "pending", "failed", "stopped", "exited"}, runWord(r))
}
