package svc_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc"
)

// fitsNaively matches a glob by trying every length for each star.
func fitsNaively(glob, s string) bool {
	switch {
	case glob == "":
		return s == ""
	case glob[0] == '*':
		return fitsNaively(glob[1:], s) || s != "" && fitsNaively(glob, s[1:])
	default:
		return s != "" && glob[0] == s[0] && fitsNaively(glob[1:], s[1:])
	}
}

func TestGlobsAgreeWithANaiveMatcher(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[ab.*]{1,9}`).Draw(t, "glob")
		topic := rapid.StringMatching(`[ab.]{0,12}`).Draw(t, "topic")
		globs, err := svc.ParseGlobs([]string{glob})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := globs.Match(svc.Topic(topic)), fitsNaively(glob, topic); got != want {
			t.Fatalf("%q on %q: %v, want %v", glob, topic, got, want)
		}
	})
}

// FuzzGlob searches for globs for which the matcher and the naive matcher differ.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"run.*", "run.created"}, {"*", ""}, {"*.created", "run.created"}, {"a*a", "a"}, {"**a**", "ba"}, {"work_item.*ed", "work_item.deleted"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, topic string) {
		if strings.Count(glob, "*") > 6 || len(topic) > 40 {
			return // the naive matcher is exponential
		}
		globs, err := svc.ParseGlobs([]string{glob})
		if err != nil {
			return
		}
		if got, want := globs.Match(svc.Topic(topic)), fitsNaively(glob, topic); got != want {
			t.Errorf("%q on %q: %v, want %v", glob, topic, got, want)
		}
	})
}

func TestGlobsAreAlternatives(t *testing.T) {
	t.Parallel()
	globs, err := svc.ParseGlobs([]string{"run.created", "worker.*"})
	if err != nil {
		t.Fatal(err)
	}
	want := []svc.Topic{svc.TopicRunCreated, svc.TopicWorkerRegistered, svc.TopicWorkerOffline, svc.TopicWorkerSuspect,
		svc.TopicWorkerReinstalled, svc.TopicWorkerProviders, svc.TopicWorkerCatalog, svc.TopicWorkerConnected, svc.TopicWorkerGone}
	if got := globs.Expand(); !slices.Equal(got, want) {
		t.Errorf("expanded to %v, want %v", got, want)
	}
	for _, topic := range svc.Topics {
		if got := globs.Match(topic); got != slices.Contains(want, topic) {
			t.Errorf("%s: %v", topic, got)
		}
		if !svc.Globs(nil).Match(topic) {
			t.Errorf("no filter holds %s back", topic)
		}
	}
	if svc.Globs(nil).Expand() != nil {
		t.Error("no filter expands to a list")
	}
	if got := (svc.Globs{"nothing"}).Expand(); got == nil || len(got) != 0 {
		t.Errorf("a filter that nothing passes expands to %v", got)
	}
}

func TestBadGlobsAreRefused(t *testing.T) {
	t.Parallel()
	for _, globs := range [][]string{{""}, {"Run.*"}, {"run?"}, {"run.* "}, {"run.[a]"}, {"läuft"}, {strings.Repeat("a", 101)}, make([]string, 51)} {
		if _, err := svc.ParseGlobs(globs); svc.CodeOf(err) != svc.CodeValidation || !strings.Contains(err.Error(), "topic") {
			t.Errorf("%.20q: %v", globs, err)
		}
	}
}

func TestTopicsAreListedOnce(t *testing.T) {
	t.Parallel()
	seen := map[svc.Topic]bool{}
	for _, topic := range svc.Topics {
		if seen[topic] {
			t.Errorf("%s is listed twice", topic)
		}
		seen[topic] = true
	}
	for _, move := range svc.Transitions {
		if !seen[move.Topic] {
			t.Errorf("%s is not listed", move.Topic)
		}
	}
}
