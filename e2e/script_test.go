package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"svc"
	"svc/internal/pgtest"
	"svc/worker"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			lab := newLab(env.WorkDir)
			env.Vars = append(env.Vars, lab.vars()...)
			env.Values["lab"] = lab
			env.Defer(lab.close)
			return lab.prepare()
		},
		Condition: func(name string) (bool, error) {
			if name != "contain" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			_, _, err := worker.FindBwrap(t.Context())
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": background("serve"), "up": background("up"), "worker": background("worker"),
			"paste": paste, "interrupt": interrupt, "ended": ended, "lose": lose, "exits": exits, "let": let, "jsonkeys": jsonKeys, "until": until, "trim": trim,
			"certificate": certificate, "sink": sink,
			"postgres": func(ts *testscript.TestScript, neg bool, args []string) { postgres(t, ts, neg, args) },
		},
	})
}

// postgres creates an empty PostgreSQL database and stores its address in a
// variable:
//
//	postgres NAME
func postgres(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: postgres NAME")
	}
	ts.Setenv(args[0], pgtest.Start(t))
}

// background starts a long-running svc and waits until it is ready:
//
//	serve|up|worker [flags…]
//
// It sets SVC_API_URL to the address of an orchestrator, and writes the output
// to files that are named after the command, with .out and .err.
func background(verb string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg {
			ts.Fatalf("unsupported: ! %s", verb)
		}
		lab := ts.Value("lab").(*lab)
		p, err := lab.startIn(ts.MkAbs("."), scriptEnv(ts), verb, args...)
		ts.Check(err)
		if p.url != "" {
			ts.Setenv("SVC_API_URL", p.url)
		}
		keepOutput(ts, p)
	}
}

// keepOutput writes what a process has printed so far to files for the script.
func keepOutput(ts *testscript.TestScript, p *process) {
	ts.Check(os.WriteFile(ts.MkAbs(p.verb+".out"), []byte(p.stdout.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(p.verb+".err"), []byte(p.stderr.String()), 0o600))
}

// paste starts a worker with the command in a file, as a person would paste it
// into a shell:
//
//	paste FILE
func paste(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: paste FILE")
	}
	line := "exec env " + strings.TrimSpace(ts.ReadFile(args[0]))
	_, err := ts.Value("lab").(*lab).run(scriptEnv(ts), "worker", exec.Command("sh", "-c", line))
	ts.Check(err)
}

// scriptEnv returns the script's current environment variables that svc uses.
func scriptEnv(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "WORK", "SVC_DATA_DIR", "XDG_RUNTIME_DIR", "SVC_API_URL", "SVC_TOKEN",
		"SVC_WORKER_TOKEN", "SVC_SIGNING_KEY", "SVC_CONFIG", "SVC_DATABASE", "SVC_PORT", "SVC_BIND", "NO_COLOR",
		"SSL_CERT_FILE", "GORACE"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// interrupt ends the process that serve, up or worker started, as Ctrl-C does.
// The process must exit with 0. Its output files then have all its output:
//
//	interrupt serve|up|worker
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: interrupt serve|up|worker")
	}
	p, err := ts.Value("lab").(*lab).interrupt(args[0])
	ts.Check(err)
	keepOutput(ts, p)
}

// lose kills the process that up or worker started, and its sessions, as a power failure does:
//
//	lose up|worker
func lose(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lose up|worker")
	}
	p, err := ts.Value("lab").(*lab).lose(args[0])
	ts.Check(err)
	keepOutput(ts, p)
}

// ended waits until the process that serve, up or worker started has ended by itself. It must exit with 0:
//
//	ended serve|up|worker
func ended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ended serve|up|worker")
	}
	p, err := ts.Value("lab").(*lab).awaitEnd(args[0])
	ts.Check(err)
	keepOutput(ts, p)
}

// exits runs a command and fails unless it ends with this exit code:
//
//	exits CODE svc ARGS…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, err := runCode(ts, args[1:])
	ts.Check(err)
	if got != want {
		ts.Fatalf("%s ended with exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// runCode runs a command, passes its output to the script, and returns its exit
// code.
func runCode(ts *testscript.TestScript, args []string) (int, error) {
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	default:
		return 0, err
	}
}

// let stores the output of a command in a variable, without surrounding white space:
//
//	let NAME svc ARGS…
func let(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: let NAME COMMAND…")
	}
	ts.Check(ts.Exec(args[1], args[2:]...))
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// trim shortens a variable to its first N characters:
//
//	trim NAME N
func trim(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: trim NAME N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Setenv(args[0], ts.Getenv(args[0])[:n])
}

// until repeats a command until its output contains a text:
//
//	until TEXT svc ARGS…
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until TEXT COMMAND…")
	}
	ts.Check(await(func() (bool, error) {
		_, err := runCode(ts, args[1:])
		return strings.Contains(ts.ReadFile("stdout")+ts.ReadFile("stderr"), args[0]), err
	}))
}

// jsonKeys prints the paths of all keys of a JSON document, one on each line, so
// that a script can compare them:
//
//	jsonkeys stdout|FILE
func jsonKeys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonkeys stdout|FILE")
	}
	paths := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	for d.More() {
		var v any
		ts.Check(d.Decode(&v))
		walkKeys(paths, "", v)
	}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		fmt.Fprintln(ts.Stdout(), p)
	}
}

func walkKeys(paths map[string]bool, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			if svc.IsID(k) {
				k = "*" // an id is different in each run of the test
			}
			paths[strings.TrimPrefix(at+"."+k, ".")] = true
			walkKeys(paths, at+"."+k, child)
		}
	case []any:
		for _, child := range v {
			walkKeys(paths, at+"[]", child)
		}
	}
}
