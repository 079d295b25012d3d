package agents

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// gatewayKey is the API key that the catalog's env_map passes to each tool.
const gatewayKey = "key-of-the-gateway"

// limit is the limit of each wait for a tool. Some tools start slowly, especially on a busy machine.
const limit = 8 * time.Minute

// site is an installation of "svc up" that runs one agent tool against the gateway. The tool's home
// is the lab's directory.
type site struct {
	t        *testing.T
	agent    agent
	lab      *proctest.Lab
	gateway  *gateway
	up       *proctest.Orchestrator
	apart    *proctest.Worker // a worker in a separate process; nil: not created yet
	client   *api.Client
	follower *proctest.Follower
	work     string // the folder of the project
	task     string
}

func newSite(t *testing.T, a agent) *site {
	t.Helper()
	s := &site{t: t, agent: a, lab: proctest.NewLab(t), gateway: newGateway(t)}
	t.Setenv("PATH", toolPath(a.pin.tool))
	s.up = proctest.NewUp(s.lab)
	s.up.Setenv("TMPDIR", s.temporary())
	s.lab.Write(filepath.Join(s.up.Dir, "config.toml"), "[worker]\n"+s.workerConfig())
	s.work = s.lab.Path("work", "README.md")
	s.lab.Write(s.work, "A folder to work in.\n")
	s.work = filepath.Dir(s.work)
	if a.home != nil {
		a.home(s)
	}
	s.svc("provider", "add", a.pin.tool)
	if *capture != "" {
		s.captureHooks()
	}
	s.up.Start()
	s.client, s.follower = s.up.Client(), s.up.Follow()
	s.awaitTool()
	project, err := s.client.CreateProject(t.Context(), api.CreateProject{Name: "Agents", Cwd: api.Some(s.work)})
	if err != nil {
		t.Fatal(err)
	}
	item, err := s.client.CreateWorkItem(t.Context(), api.CreateWorkItem{ProjectID: project.ID, Kind: svc.KindTask, Title: "work"})
	if err != nil {
		t.Fatal(err)
	}
	s.task = item.ID
	return s
}

// workerConfig returns the content of the section [worker], and the section [gateway].
func (s *site) workerConfig() string {
	return fmt.Sprintf("contain = %q\n[gateway]\nurl = %q\napi_key = %q\n", cmp.Or(os.Getenv("SVC_TEST_CONTAIN"), "off"), s.gateway.URL+"/", gatewayKey)
}

// temporary returns a folder for temporary files. codex cannot set up its sandbox if the home is below the
// usual folder for temporary files.
func (s *site) temporary() string { return filepath.Dir(s.lab.Path("tmp", "any")) }

// captureHooks changes the hooks in the catalog to call a script. The script stores the hook's input,
// without the lab's paths, and passes it on. The names of its files begin with the tool and the time.
func (s *site) captureHooks() {
	s.t.Helper()
	script := s.lab.Path("capture")
	s.lab.Write(script, fmt.Sprintf(`#!/bin/sh
file=$(mktemp %s/%s-$(date +%%s)-XXXX)
if [ $# -gt 4 ]; then for last; do :; done; printf %%s "$last"; else cat; fi >"$file.raw"
sed 's|%s|/home/user|g; s|-tmp-svcpt[0-9]*|-home-user|g' "$file.raw" >"$file"
exec %s "$@" <"$file.raw"
`, *capture, s.agent.pin.tool, s.lab.Dir, proctest.Binary(s.t)))
	if err := os.Chmod(script, 0o700); err != nil {
		s.t.Fatal(err)
	}
	catalog := filepath.Join(s.up.Dir, "providers.toml")
	text, err := os.ReadFile(catalog)
	if err != nil {
		s.t.Fatal(err)
	}
	changed := strings.NewReplacer(`"svc exec signal`, `"`+script+` exec signal`, `["svc"`, `["`+script+`"`, `("svc"`, `("`+script+`"`).Replace(string(text))
	if changed == string(text) {
		s.t.Logf("%s has no hooks to capture", s.agent.pin.tool)
	}
	s.lab.Write(catalog, changed)
	if s.agent.pin.tool == "codex" {
		// The hook differs from the reviewed one. This test has created all hooks of this temporary home.
		s.agent.args = map[string][]string{"codex-tui": {"--dangerously-bypass-hook-trust"}}
	}
}

// eventually waits until the condition holds, and ends the test if it does not within the limit.
func (s *site) eventually(what string, holds func() bool) {
	s.t.Helper()
	if !waittest.Within(limit, holds) {
		s.t.Fatalf("not within %v: %s", limit, what)
	}
}

// awaitTool waits until a worker reports that it found the tool, and checks the version.
func (s *site) awaitTool() {
	s.t.Helper()
	s.awaitToolOn("")
}

// awaitToolOn is awaitTool for one host; empty: any.
func (s *site) awaitToolOn(name string) {
	s.t.Helper()
	var seen string
	s.eventually("the worker finds the tool", func() bool {
		providers, err := s.client.Providers(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, p := range providers {
			for _, host := range p.Hosts {
				if p.ID == s.agent.pin.tool && host.Available && (name == "" || host.HostName == name) {
					seen = host.Version
				}
			}
		}
		return seen != ""
	})
	if !strings.Contains(seen, s.agent.pin.version) {
		s.t.Fatalf("the tool has version %q, want %s", seen, s.agent.pin.version)
	}
}

// svc runs an svc command, which must succeed, and returns its output.
func (s *site) svc(args ...string) string {
	s.t.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// try is svc for a command that may fail. The error contains its output.
func (s *site) try(args ...string) (string, error) { return s.tryIn("", args...) }

// userEnv returns the environment of a person's shell.
func (s *site) userEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.lab.Dir, "SVC_DATA_DIR=" + s.up.Dir, "SVC_API_URL=" + s.up.URL}
}

// tryIn is try in the given working directory.
func (s *site) tryIn(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, proctest.Binary(s.t), args...)
	cmd.Dir, cmd.Env = dir, s.userEnv()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("svc %s: %w\n%s%s", strings.Join(args, " "), err, &stderr, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// start starts a run with "svc run start" and returns its id.
func (s *site) start(provider, prompt string) string {
	s.t.Helper()
	return s.svc(s.startArgs(provider, prompt)...)
}

func (s *site) startArgs(provider, prompt string) []string {
	s.t.Helper()
	file := s.lab.Path("prompts", fmt.Sprintf("%x", time.Now().UnixNano()))
	s.lab.Write(file, prompt)
	args := []string{"run", "start", s.task, "--provider", provider, "--prompt", "@" + file, "--model", s.agent.model, "-o", "name"}
	for _, argument := range s.agent.args[provider] {
		args = append(args, "--arg", argument)
	}
	return args
}

// ended waits until the run's session has ended, and returns the run.
func (s *site) ended(id string) svc.Run {
	s.t.Helper()
	return s.awaitRun(id, "its session has ended", func(r svc.Run) bool { return r.SessionEndedAt != nil })
}

// awaitRun polls a run until a condition is true. It polls only every 200 ms, because the orchestrator
// logs each request.
func (s *site) awaitRun(id, what string, is func(svc.Run) bool) svc.Run {
	s.t.Helper()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		r, err := s.client.Run(s.t.Context(), id)
		if err != nil {
			s.t.Fatal(err)
		}
		if is(r) {
			return r
		}
		select {
		case <-look.C:
		case <-timeout.C:
			s.t.Fatalf("run %s: not within %v: %s; it is %s; its log:\n%s", id, limit, what, show(r), s.log(id))
		}
	}
}

// log returns the end of the run's log, for failure messages.
func (s *site) log(id string) string {
	body, err := s.client.Logs(s.t.Context(), id, api.LogOptions{Format: "text"})
	if err != nil {
		return err.Error()
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// show returns the text for a run in the table of results.
func show(r svc.Run) string {
	words := []string{"`" + string(r.Status) + "`"}
	if r.ExitCode != nil && r.Error == nil { // after a hook reported a failure, svc ends the session, and the exit code has no meaning
		words = append(words, fmt.Sprintf("exit code %d", *r.ExitCode))
	}
	if r.Result != nil {
		words = append(words, "hook `completed` ("+string(*r.Result)+")")
	}
	switch {
	case r.Error == nil:
	case *r.Error == svc.ConversationGone:
		words = append(words, "`conversation_gone`")
	default:
		words = append(words, "hook `failed` ("+*r.Error+")")
	}
	return strings.Join(words, ", ")
}
