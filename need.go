package svc

import (
	"slices"
	"strings"
)

// Needs is the graph of needs between the items of one project. An item also has the needs of its ancestors. Whether
// an item is done does not depend on its ancestors or children.
type Needs struct {
	Of    map[string][]string // for each item the items that it needs itself
	Paths map[string]string   // the path of every item that is in Of as a key or as a value
	Title map[string]string   // the title of the same items
}

// atOrBelow reports whether path is end or lies below it.
func atOrBelow(path, end string) bool { return path == end || strings.HasPrefix(path, end+"/") }

// Check returns an error for a need that cannot be met: of the item itself, of an ancestor or a descendant, or one
// that closes a circle.
func (n Needs) Check(item, other string) error {
	a, b := n.Paths[item], n.Paths[other]
	if atOrBelow(a, b) || atOrBelow(b, a) {
		return Errorf(CodeNeedInOwnLine, "other: %q cannot need %q: an item needs neither itself nor what is above or below it", n.Title[item], n.Title[other]).
			With("fields", map[string]any{"other": "is in the item's own line"})
	}
	return n.checkFrom("other", a, other)
}

// CheckMove returns an error for a move after which an item would need itself, an ancestor or a descendant. n must
// have the paths after the move; moved is the new path of the moved item.
func (n Needs) CheckMove(moved string) error {
	for item, others := range n.Of {
		for _, other := range others {
			a, b := n.Paths[item], n.Paths[other]
			switch {
			case atOrBelow(a, moved) && atOrBelow(a, b):
				return n.movedIntoLine(item, other, "above", "would put an item under one that it needs")
			case atOrBelow(b, moved) && atOrBelow(b, a):
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

// movedIntoLine returns the error for a move after which an item would be above or below an item that it needs.
func (n Needs) movedIntoLine(item, other, where, problem string) error {
	return Errorf(CodeNeedInOwnLine, "parent_id: %q needs %q, which would be %s it; remove that need first", n.Title[item], n.Title[other], where).
		With("fields", map[string]any{"parent_id": problem})
}

// checkFrom returns an error when the items at and below path are to need other, and other already waits for one of
// them. field is the field of the request.
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

// search follows the needs of at, and of its ancestors, until it reaches path or an item below it. It returns the ids
// on the way, or nil.
func (n Needs) search(path, at string, way []string, seen map[string]bool) []string {
	if atOrBelow(n.Paths[at], path) {
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
