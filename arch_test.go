package svc_test

import (
	"os"
	"testing"

	"svc/internal/arch"
)

// What a package must not know of the world outside the module.
var (
	sql  = []string{"database/sql", "github.com/jackc/pgx", "modernc.org/sqlite", "github.com/pressly/goose"}
	http = []string{"net/http", "github.com/danielgtaylor/huma"}
)

// architecture is the shape of the product: who may import whom. Worker code can never touch the
// database, the contract between orchestrator and worker can be read in one folder, and everything
// meets in cli. Change it on purpose or not at all.
var architecture = arch.Rules{
	Module: "svc",
	Packages: map[string]arch.Package{
		// The nouns: pure, without any I/O.
		".": {Never: join(sql, http, "os", "net", "io/fs"), TestImports: []string{"internal/arch"}},

		// The contracts.
		"wire":   {Imports: []string{"."}, Never: join(sql, http, "os/exec")},
		"api":    {Imports: []string{"."}, Never: sql},
		"config": {Imports: []string{".", "atomicfile"}, Never: join(sql, http)},

		// What others wrote, made safe to show.
		"safetext": {Never: join(sql, http, "os", "net", "io/fs")},

		// Files, written whole or not at all.
		"atomicfile": {Never: join(sql, http, "os/exec")},

		// Recordings of terminals.
		"asciicast": {Never: join(sql, http, "os", "net", "io/fs")},

		// The orchestrator.
		"store":  {Imports: []string{".", "atomicfile"}, TestImports: []string{"store/storetest"}, Never: http},
		"hub":    {Imports: []string{".", "wire", "safetext", "atomicfile"}, Never: join(sql, http)},
		"place":  {Imports: []string{"."}, Never: join(sql, http, "os", "net", "io/fs")},
		"review": {Never: join(sql, http, "os", "net", "io/fs"), TestImports: []string{"git"}},
		"engine": {Imports: []string{".", "wire", "store", "hub", "place", "review"}, TestImports: []string{"store/storetest"}, Never: http},
		"server": {
			Imports:     []string{".", "api", "wire", "engine", "store", "provider", "web", "asciicast"},
			TestImports: []string{"hub", "store/storetest"},
			// What is live it has from the engine, never from the engine's hub.
			NeverSelects: []string{"Hub"},
		},
		"notify":  {Imports: []string{".", "store"}, TestImports: []string{"store/storetest"}, Never: sql},
		"mirror":  {Never: sql},
		"cluster": {Imports: []string{".", "store"}, Never: sql},
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

		// Where all is wired together.
		"cli":     {Imports: product},
		"cmd/svc": {Imports: []string{"cli"}, Never: join(sql, http)},

		// What only tests use.
		"e2e":                  {TestImports: append([]string{"cli", "internal/proctest", "store/storetest"}, product...)},
		"store/storetest":      {Imports: []string{".", "store", "internal/pgtest"}},
		"e2e/agents":           {TestImports: append([]string{"internal/proctest"}, product...)},
		"e2e/fault":            {TestImports: append([]string{"internal/proctest"}, product...)},
		"e2e/live":             {TestImports: append([]string{"internal/proctest"}, product...)},
		"e2e/cluster":          {TestImports: append([]string{"internal/proctest"}, product...)},
		"e2e/hostile":          {TestImports: append([]string{"internal/proctest"}, product...)},
		"e2e/soak":             {TestImports: append([]string{"internal/proctest"}, product...)},
		"internal/arch":        {},
		"internal/pgtest":      {},
		"internal/textbuffer":  {},
		"internal/clocktest":   {},
		"internal/needtest":    {},
		"internal/inotifytest": {},
		"internal/castsvg":     {Imports: []string{"asciicast"}, Never: join(sql, http)},
		"internal/sbom":        {Never: join(sql, http)},
		"internal/deb":         {Never: join(sql, http)},
		"internal/proctest":    {Imports: []string{".", "api", "internal/clocktest"}},
	},
	TestSupport: []string{".", "internal/clocktest", "internal/inotifytest", "internal/needtest", "internal/pgtest", "internal/textbuffer"},
}

// product is everything that cli wires together.
var product = []string{
	".", "wire", "api", "config", "store", "hub", "place", "review", "backup", "mirror", "engine", "notify", "server", "cluster", "web", "docs",
	"process", "tmux", "git", "leftover", "provider", "rundir", "workspace", "safetext", "asciicast", "atomicfile", "worker", "wrapper", "demo",
}

// join puts single import paths behind those of two lists.
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
