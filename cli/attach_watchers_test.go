package cli

import "testing"

func TestTheFirstLineOfAnAttachmentNamesWhoElseIsThere(t *testing.T) {
	t.Parallel()
	you := attachWatcher{Name: "me", You: true}
	mine := attachWatcher{Name: "me", You: true, Holds: true}
	ann := attachWatcher{Name: "ann", Holds: true}
	watching := func(names ...string) (list []attachWatcher) {
		for _, n := range names {
			list = append(list, attachWatcher{Name: n})
		}
		return list
	}
	for name, c := range map[string]struct {
		people []attachWatcher
		more   int
		viewer bool
		want   string
	}{
		"alone":                        {people: []attachWatcher{mine}},
		"one watches":                  {people: append(watching("ben"), mine), want: "ben watches"},
		"two watch":                    {people: append(watching("ben", "carl"), mine), want: "ben and carl watch"},
		"three watch":                  {people: append(watching("ben", "carl", "dora"), mine), want: "ben, carl and dora watch"},
		"many watch":                   {people: append(watching("a", "b", "c", "d", "e"), mine), more: 7, want: "a, b, c and 9 more watch"},
		"one watches twice":            {people: append(watching("ben", "ben"), mine), want: "ben watches"},
		"another types":                {people: []attachWatcher{ann, you}, want: "ann is typing, and you may when they leave"},
		"another types, one watches":   {people: append(watching("ben"), ann, you), want: "ann is typing, and you may when they leave; ben watches"},
		"an orchestrator of before":    {want: "someone else is typing, and you may when they leave"},
		"a viewer watches another":     {people: []attachWatcher{ann, you}, viewer: true, want: "ann is typing"},
		"a viewer is alone":            {people: []attachWatcher{you}, viewer: true, want: "nobody is typing"},
		"a viewer is not the only one": {people: append(watching("ben"), you), viewer: true, want: "nobody is typing; ben watches"},
	} {
		at := &attachment{list: watcherList{c.people, c.more}, viewer: c.viewer}
		if got := at.sharing(at.list.mine()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
