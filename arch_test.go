package svc_test

import (
	"os"
	"testing"

	"svc/internal/arch"
)

// The imports that packages must not use.
var (
	sql  = []string{"database/sql", "github.com/jackc/pgx", "modernc.org/sqlite", "github.com/pressly/goose"}
	http = []string{"net/http", "github.com/danielgtaylor/huma"}
)

// architecture defines which package may import which. Worker code cannot access the database, the contract between
// orchestrator and worker is in one folder, and all packages meet only in cli. Change it deliberately.
var architecture = arch.Rules{
	Module: "svc",
	Packages: map[string]arch.Package{
		// The nouns: pure, without any I/O.
		".": {Never: join(sql, http, "os", "net", "io/fs"), TestImports: []string{"internal/arch"}},

		// The contracts.
		"wire":   {Imports: []string{"."}, Never: join(sql, http, "os/exec")},
		"api":    {Imports: []string{"."}, Never: sql},
		"config": {Imports: []string{".", "atomicfile"}, Never: join(sql, http)},

		// Makes text from other sources safe to show.
		"safetext": {Never: join(sql, http, "os", "net", "io/fs")},

		// Atomic file writes.
		"atomicfile": {Never: join(sql, http, "os/exec")},

		// Recordings of terminals.
		"asciicast": {Never: join(sql, http, "os", "net", "io/fs")},

		// The orchestrator.
		"store":    {Imports: []string{".", "atomicfile"}, TestImports: []string{"store/storetest"}, Never: http},
		"hub":      {Imports: []string{".", "wire", "safetext", "atomicfile"}, Never: join(sql, http)},
		"place":    {Imports: []string{"."}, Never: join(sql, http, "os", "net", "io/fs")},
		"review":   {Never: join(sql, http, "os", "net", "io/fs"), TestImports: []string{"git"}},
		"engine":   {Imports: []string{".", "wire", "store", "hub", "place", "review"}, TestImports: []string{"store/storetest"}, Never: http},
		"arrivals": {Imports: []string{"."}, Never: join(sql, http)},
		"server": {
			Imports:     []string{".", "api", "arrivals", "wire", "engine", "store", "provider", "web", "asciicast"},
			TestImports: []string{"hub", "store/storetest"},
			// Server must get live state from the engine, not from the engine's hub.
			NeverSelects: []string{"Hub"},
		},
		"notify":  {Imports: []string{".", "store"}, TestImports: []string{"store/storetest"}, Never: sql},
		"mirror":  {Never: sql},
		"cluster": {Imports: []string{".", "arrivals", "store"}, Never: sql},
		"backup":  {Imports: []string{"."}, Never: join(sql, http)},
		"web":     {},
		"docs":    {},

		// The worker's host.
		"process":   {Never: join(sql, http, "os/exec")},
		"tmux":      {Imports: []string{"process"}, Never: join(sql, http)},
		"git":       {Never: join(sql, http)},
		"leftover":  {Imports: []string{"process"}, Never: join(sql, http, "os/exec")},
		"provider":  {Imports: []string{".", "config", "atomicfile"}, Never: join(sql, http)},
		"rundir":    {Imports: []string{".", "wire", "process", "atomicfile"}, Never: join(sql, http)},
		"workspace": {Imports: []string{".", "git", "rundir", "atomicfile"}, Never: join(sql, http)},
		"worker":    {Imports: []string{".", "wire", "config", "provider", "rundir", "process", "tmux", "leftover", "git", "workspace", "atomicfile"}, TestImports: []string{"wrapper"}, Never: sql},
		"wrapper":   {Imports: []string{".", "wire", "config", "provider", "rundir", "process", "leftover", "workspace"}, Never: sql},
		"demo":      {Imports: []string{".", "wrapper"}, Never: join(sql, http)},

		// The wiring.
		"cli":     {Imports: product},
		"cmd/svc": {Imports: []string{"cli"}, Never: join(sql, http)},

		// Packages for tests only.
		"e2e":                  {TestImports: append([]string{"cli", "internal/proctest", "store/storetest"}, product...)},
		"store/storetest":      {Imports: []string{".", "store", "internal/pgtest"}},
		"e2e/agents":           {TestImports: append([]string{"internal/proctest"}, product...)},
		"e2e/fault":            {TestImports: append([]string{"internal/proctest"}, product...)},
		"e2e/live":             {TestImports: append([]string{"internal/proctest"}, product...)},
		"e2e/cluster":          {TestImports: append([]string{"internal/proctest"}, product...)},
		"e2e/hostile":          {TestImports: append([]string{"internal/proctest"}, product...)},
		"e2e/soak":             {TestImports: append([]string{"internal/proctest"}, product...)},
		"internal/arch":        {},
		"internal/pgtest":      {Imports: []string{"internal/waittest"}},
		"internal/textbuffer":  {},
		"internal/clocktest":   {},
		"internal/needtest":    {},
		"internal/waittest":    {},
		"internal/inotifytest": {},
		"internal/castsvg":     {Imports: []string{"asciicast"}, Never: join(sql, http)},
		"internal/sbom":        {Never: join(sql, http)},
		"internal/deb":         {Never: join(sql, http)},
		"internal/proctest":    {Imports: []string{".", "api", "internal/clocktest", "internal/waittest"}},
	},
	TestSupport: []string{".", "internal/clocktest", "internal/inotifytest", "internal/needtest", "internal/pgtest", "internal/textbuffer", "internal/waittest"},
}

// product is every package that cli wires together.
var product = []string{
	".", "wire", "api", "config", "store", "hub", "place", "review", "backup", "mirror", "engine", "notify", "arrivals", "server", "cluster", "web", "docs",
	"process", "tmux", "git", "leftover", "provider", "rundir", "workspace", "safetext", "asciicast", "atomicfile", "worker", "wrapper", "demo",
}

// join appends single import paths to two lists.
func join(a, b []string, more ...string) []string {
	return append(append(append([]string(nil), a...), b...), more...)
}

func TestTheTreeKeepsToItsArchitecture(t *testing.T) {
	t.Parallel()
	violations, err := architecture.Check(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range violations {
		t.Error(violation)
	}
}
