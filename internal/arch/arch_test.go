package arch_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"svc/internal/arch"
)

var rules = arch.Rules{
	Module: "mod",
	Packages: map[string]arch.Package{
		".":       {Never: []string{"net", "net/http"}},
		"store":   {Imports: []string{"."}, TestImports: []string{"storetest"}},
		"server":  {Imports: []string{".", "store"}, NeverSelects: []string{"Hub"}},
		"e2e":     {},
		"cmd/mod": {Imports: []string{"server"}},
		"testkit": {},
		"planned": {},
	},
	TestSupport: []string{"testkit"},
}

// sound returns a tree without a violation; each test adds one.
func sound() fstest.MapFS {
	return tree(map[string]string{
		"mod.go":              "// Package mod is the root.\npackage mod\n",
		"store/store.go":      "// Package store keeps.\npackage store\nimport _ \"mod\"\nimport _ \"net/http\"\n",
		"store/store_test.go": "package store_test\nimport _ \"mod/store\"\nimport _ \"mod/storetest\"\nimport _ \"mod/testkit\"\n",
		"server/server.go":    "// Package server serves.\npackage server\nimport _ \"mod/store\"\nimport _ \"model/other\"\n",
		"cmd/mod/main.go":     "// Command mod is the program.\npackage main\nimport _ \"mod/server\"\n",
		"e2e/e2e_test.go":     "// Package e2e has tests only.\npackage e2e\n",
	})
}

func tree(files map[string]string) fstest.MapFS {
	t := fstest.MapFS{}
	for name, text := range files {
		t[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return t
}

func check(t *testing.T, files fstest.MapFS) []string {
	t.Helper()
	got, err := rules.Check(files)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestASoundTreeHasNoViolations(t *testing.T) {
	t.Parallel()
	if got := check(t, sound()); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestEachRuleFindsItsViolation(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\n", arch.MaxLines)
	for _, tt := range []struct{ name, file, text, want string }{
		{
			"an import the table does not allow", "store/up.go", "package store\n\nimport _ \"mod/server\"\n",
			"store/up.go:3: store must not import mod/server",
		},
		{
			"the root imported by one that may not", "cmd/mod/x.go", "package main\nimport _ \"mod\"\n",
			"cmd/mod/x.go:2: cmd/mod must not import mod",
		},
		{
			"a package of the module that no table names", "store/up.go", "package store\nimport _ \"mod/ghost\"\n",
			"store/up.go:2: store must not import mod/ghost",
		},
		{
			"test support in what is not a test", "store/up.go", "package store\nimport _ \"mod/testkit\"\n",
			"store/up.go:2: store must not import mod/testkit",
		},
		{
			"a test's own allowance used by another's tests", "server/x_test.go", "package server\nimport _ \"mod/storetest\"\n",
			"server/x_test.go:2: server must not import mod/storetest",
		},
		{
			"a foreign package it must not know", "io.go", "package mod\nimport _ \"net/http\"\n",
			"io.go:2: . must not know net/http",
		},
		{
			"a field that leads around another package", "server/x.go", "package server\nfunc f() {\n\tanother().Hub.Close()\n}\n",
			"server/x.go:3: server must not use .Hub",
		},
		{
			"a package that is not in the table", "extra/extra.go", "// Package extra is new.\npackage extra\n",
			"extra is not in the table of packages",
		},
		{
			"no package comment", "planned/p.go", "package planned\n",
			"planned has no package comment that begins with its name",
		},
		{
			"a comment that introduces something else", "planned/p.go", "// Copyright nobody.\npackage planned\n",
			"planned has no package comment that begins with its name",
		},
		{
			"a comment in a test alone", "planned/p_test.go", "// A test.\npackage planned\n",
			"planned has no package comment that begins with its name",
		},
		{
			"a metaphor in a comment", "words.go", "package mod\n\n// it kno" + "cks twice\n",
			"words.go:3: \"kno" + "ck\" is a metaphor; write: probe, or authenticate",
		},
		{
			"a metaphor on the page", "web/src/x.tsx", "const x = <p>Two str" + "angers</p>;\n",
			"web/src/x.tsx:1: \"str" + "angers\" is a metaphor; write: unknown sessions, anonymous connections",
		},
		{
			"a metaphor as a name", "web/src/x.ts", "const do" + "ors = 1;\n",
			"web/src/x.ts:1: \"do" + "ors\" is a metaphor; write: scope, endpoint or way",
		},
		{
			"a metaphor in a document", "docs/x.md", "the worker takes le" + "ave\n",
			"docs/x.md:1: \"takes le" + "ave\" is a metaphor; write: end, close or release",
		},
		{
			"a long Go file", "long.go", "package mod\n" + long,
			"long.go has 701 lines, more than 700",
		},
		{
			"a long TypeScript file", "web/src/app.tsx", "export {}\n" + long,
			"web/src/app.tsx has 701 lines, more than 700",
		},
		{
			"a long file of a nested module", "bench/long.go", "// Package bench measures.\npackage bench\n" + long,
			"bench/long.go has 702 lines, more than 700",
		},
		{
			"a test that sleeps", "s_test.go", "package mod\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
			"s_test.go:3: a test must not use time.Sleep; wait for the event, or say with internal/clocktest that time passes",
		},
		{
			"a test that sleeps under another name", "s_test.go", "package mod\nimport clock \"time\"\nvar nap = clock.Sleep\n",
			"s_test.go:3: a test must not use time.Sleep; wait for the event, or say with internal/clocktest that time passes",
		},
		{
			"a sleep in a bubble", "s_test.go",
			"package mod\nimport (\n\"testing/synctest\"\n\"time\"\n)\nfunc f() { synctest.Test(nil, func() { time.Sleep(1) }) }\n",
			"s_test.go:6: a test must not use time.Sleep; wait for the event, or say with internal/clocktest that time passes",
		},
		{
			"a test that waits for a moment", "s_test.go", "package mod\nimport \"time\"\nfunc f() { <-time.After(1) }\n",
			"s_test.go:3: a test must not wait for a timer alone; wait for the event, or say with internal/clocktest that time passes",
		},
		{
			"a test that waits for a timer", "s_test.go", "package mod\nimport \"time\"\nfunc f() {\n\ttimer := time.NewTimer(1)\n\t<-timer.C\n}\n",
			"s_test.go:5: a test must not wait for a timer alone; wait for the event, or say with internal/clocktest that time passes",
		},
		{
			"a select that has no choice", "s_test.go", "package mod\nimport \"time\"\nfunc f() {\n\tselect {\n\tcase <-time.After(1):\n\t}\n}\n",
			"s_test.go:5: a test must not wait for a timer alone; wait for the event, or say with internal/clocktest that time passes",
		},
		{
			"a test that gives up soon", "s_test.go",
			"package mod\nimport \"time\"\nfunc f(done chan int) {\n\tlimit := time.After(20 * time.Second)\n\tselect {\n\tcase <-done:\n\tcase <-limit:\n\t}\n}\n",
			"s_test.go:4: a test must not give up so soon; wait for waittest.Patience",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := sound()
			files["bench/go.mod"] = &fstest.MapFile{Data: []byte("module bench\n")}
			files[tt.file] = &fstest.MapFile{Data: []byte(tt.text)}
			if got, want := check(t, files), []string{tt.want}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// Every row of the house style's table of words is found, as a name and as a phrase. Each is split here, so that the
// check of this tree does not find it.
func TestEveryWordOfTheHouseStyleIsFound(t *testing.T) {
	t.Parallel()
	for _, was := range []string{
		"every fli" + "ght of frames", "w.take" + "Off()", "who kno" + "cked at a worker's do" + "or", "a do" + "or for workers",
		`"about_to` + `_take_it"`, "func Beli" + "eves(host string)", "if Tru" + "sted(host) {", "the worker is tru" + "sted",
		"st" + "ir(queue)", "type cou" + "riers struct{}", "lo" + "oks := 0", "mom" + "ents[i]", "p.mom" + "ents", "sp" + "ot := 3", "type Sp" + "ot struct",
		"findStr" + "angers()", "clear" + "Strays()", "lets every" + "one go who looks", "a session that is no " + "more", "until the run itself" + " tells",
		"the lock was not to be " + "had", "its number may be an" + "other's by now", "what stands " + "behind -- are arguments",
		"has something beh" + "ind the JSON object", "me" + "nd it", "By " + "ours", "a process takes " + "leave",
	} {
		for _, file := range []string{"words.go", "docs/x.md", "web/src/x.ts", "web/src/x.tsx", "web/x.html", "store/x.sql", "provider/x.toml", "scripts/x"} {
			files, text := sound(), "// "+was+"\n"
			if file == "words.go" {
				text = "package mod\n\n" + text
			}
			files[file] = &fstest.MapFile{Data: []byte(text)}
			if got := check(t, files); len(got) == 0 || !strings.Contains(got[0], "is a metaphor") {
				t.Errorf("%q is not found in %s: %q", was, file, got)
			}
		}
	}
}

func TestWhatTheRulesLeaveAlone(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\n", arch.MaxLines+1)
	for _, tt := range []struct{ name, file, text string }{
		{"a generated Go file may be long", "gen.go", "// Code generated by x. DO NOT EDIT.\npackage mod\n" + long},
		{"a generated TypeScript file may be long", "web/api.ts", "/**\n * This file was auto-generated by x.\n */\n" + long},
		{"installed packages", "web/node_modules/x/x.ts", long},
		{"test data", "store/testdata/bad.go", "not Go at all"},
		{"hidden directories", ".cache/x.go", "not Go at all"},
		{"a nested module imports what it likes", "bench/x.go", "// Package bench measures.\npackage bench\nimport _ \"mod/server\"\n"},
		{"words that mean what they say", "docs/x.md", "A request in flight; a trusted certificate; it looks at all moments; no more runs; behind a proxy.\n"},
		{"a picture", "docs/x.png", "kno" + "ck\n"},
		{"a test knows what its package must not", "io_test.go", "package mod\nimport _ \"net/http\"\n"},
		{"a test uses the field that its package must not", "server/x_test.go", "package server\nvar x = y.Hub\n"},
		{"a field that the table forbids to another package", "store/x.go", "package store\nvar x = y.Hub\n"},
		{
			"a wait that has a limit", "s_test.go",
			"package mod\nimport \"time\"\nfunc f(done chan int) {\n\tselect {\n\tcase <-done:\n\tcase <-time.After(1):\n\t}\n}\n",
		},
		{"another package's Sleep", "s_test.go", "package mod\nimport time \"mod/testkit\"\nfunc f() { time.Sleep(1) }\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := sound()
			files["bench/go.mod"] = &fstest.MapFile{Data: []byte("module bench\n")}
			files[tt.file] = &fstest.MapFile{Data: []byte(tt.text)}
			if got := check(t, files); len(got) != 0 {
				t.Errorf("got %q, want nothing", got)
			}
		})
	}
}

func TestAFileThatDoesNotParseIsAnError(t *testing.T) {
	t.Parallel()
	files := sound()
	files["broken.go"] = &fstest.MapFile{Data: []byte("package\n")}
	if _, err := rules.Check(files); err == nil {
		t.Error("no error")
	}
}
