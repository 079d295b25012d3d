package svc

import (
	"slices"
	"strings"
)

// Needs is which items need which others, in one project. A child has its
// ancestors' needs too, while an item is done only by itself.
type Needs struct {
	Of    map[string][]string // the others that each item itself needs
	Paths map[string]string   // of every item in Of, on either side
	Title map[string]string   // likewise
}

// inLine says whether one of two paths leads through the end of the other.
func inLine(path, end string) bool { return path == end || strings.HasPrefix(path, end+"/") }

// Check refuses a need that cannot be met: of the item itself, of an ancestor or
// descendant, or one that closes a circle.
func (n Needs) Check(item, other string) error {
	a, b := n.Paths[item], n.Paths[other]
	if inLine(a, b) || inLine(b, a) {
		return Errorf(CodeNeedInOwnLine, "other: %q cannot need %q: an item needs neither itself nor what is above or below it", n.Title[item], n.Title[other]).
			With("fields", map[string]any{"other": "is in the item's own line"})
	}
	return n.checkFrom("other", a, other)
}

// CheckMove refuses a move after which an item would need its own line or
// itself: n has the paths after the move, and moved is the new path of what
// was moved.
func (n Needs) CheckMove(moved string) error {
	for item, others := range n.Of {
		for _, other := range others {
			a, b := n.Paths[item], n.Paths[other]
			switch {
			case inLine(a, moved) && inLine(a, b):
				return n.movedIntoLine(item, other, "above", "would put an item under one that it needs")
			case inLine(b, moved) && inLine(b, a):
				return n.movedIntoLine(item, other, "below", "would put an item under one that needs it")
			}
		}
	}
	for _, above := range strings.Split(moved, "/") {
		for _, other := range n.Of[above] {
			if err := n.checkFrom("parent_id", moved, other); err != nil {
				return err
			}
		}
	}
	return nil
}

// movedIntoLine refuses a move that would put one of an item and what it needs
// above or below the other.
func (n Needs) movedIntoLine(item, other, where, problem string) error {
	return Errorf(CodeNeedInOwnLine, "parent_id: %q needs %q, which would be %s it; remove that need first", n.Title[item], n.Title[other], where).
		With("fields", map[string]any{"parent_id": problem})
}

// checkFrom refuses that everything at or below a path needs other, when other
// waits for any of it. field is what the caller asked for.
func (n Needs) checkFrom(field, path, other string) error {
	circle := n.search(path, other, []string{other}, map[string]bool{})
	if circle == nil {
		return nil
	}
	circle = append([]string{circle[len(circle)-1]}, circle...)
	words := make([]string, len(circle))
	for i, id := range circle {
		words[i] = n.Title[id]
	}
	return Errorf(CodeNeedCycle, "%s: needs would go in a circle: %s; remove one of them first", field, strings.Join(words, " needs ")).
		With("path", circle).With("fields", map[string]any{field: "would close a circle of needs"})
}

// search follows what at waits for until it comes to the path or below it: the
// ids on the way, or nil.
func (n Needs) search(path, at string, way []string, seen map[string]bool) []string {
	if inLine(n.Paths[at], path) {
		return way
	}
	if seen[at] {
		return nil
	}
	seen[at] = true
	for _, above := range strings.Split(n.Paths[at], "/") {
		for _, next := range n.Of[above] {
			if found := n.search(path, next, append(slices.Clip(way), next), seen); found != nil {
				return found
			}
		}
	}
	return nil
}
