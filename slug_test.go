package svc_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc"
)

var slugForm = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

func TestSlugTransliterates(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Hello World":             "hello-world",
		"  a  ":                   "a",
		"Über Größe":              "uber-grosse",
		"Crème brûlée":            "creme-brulee",
		"Łódź Øre Þing Æon":       "lodz-ore-thing-aeon",
		"Проект":                  "proekt",
		"Щёлк й Й":                "shchyolk-y-y",
		"Αθήνα":                   "athina",
		"İstanbul ıı":             "istanbul-ii",
		"don't stop":              "dont-stop",
		"it’s":                    "its",
		"ﬁne ① ½":                 "fine-1-1-2",
		"e\u0301tude":             "etude",
		"a--b__c..d":              "a-b-c-d",
		"---x---":                 "x",
		"项目计划":                    "project",
		"🚀🚀":                      "project",
		"!!! ???":                 "project",
		"":                        "project",
		"v2 项目 beta":              "v2-beta",
		strings.Repeat("a", 300):  strings.Repeat("a", 64),
		strings.Repeat("ab ", 90): strings.TrimRight(strings.Repeat("ab-", 22)[:64], "-"),
	} {
		if got := svc.Slug(name); got != want {
			t.Errorf("%q gives %q, want %q", name, got, want)
		}
	}
}

func TestSlugHasItsFormWhateverTheName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		n := rapid.IntRange(2, 1_000_000).Draw(t, "n")
		slug := svc.Slug(name)
		again := svc.SlugAgain(slug, n)
		if !slugForm.MatchString(slug) || !slugForm.MatchString(again) || again == slug {
			t.Fatalf("%q gives %q, then %q", name, slug, again)
		}
		if other := svc.SlugAgain(slug, n+1); other == again {
			t.Fatalf("%q is given twice", again)
		}
		if strings.Trim(slug, "-") != slug {
			t.Fatalf("%q begins or ends with a dash", slug)
		}
	})
}

func TestSlugAgainFitsItsNumberIn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for n, want := range map[int]string{2: long[:62] + "-2", 10: long[:61] + "-10", 12345: long[:58] + "-12345"} {
		if got := svc.SlugAgain(long, n); got != want {
			t.Errorf("spelling %d is %q, want %q", n, got, want)
		}
	}
	if got := svc.SlugAgain("p", 2); got != "p-2" {
		t.Errorf("p again is %q", got)
	}
}
