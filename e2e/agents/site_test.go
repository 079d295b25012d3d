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
)

// gatewayKey is the key that the catalog's env_map hands to each tool.
const gatewayKey = "key-of-the-gateway"

// limit bounds the wait for a tool: some of them start slowly, and more so on a busy machine.
const limit = 8 * time.Minute

// site is a machine on which "svc up" runs one agent tool against the gateway. The tool has a home of
// its own, the lab's directory.
type site struct {
	t        *testing.T
	agent    agent
	lab      *proctest.Lab
	gateway  *gateway
	up       *proctest.Orchestrator
	apart    *proctest.Worker // a worker in a process of its own; nil: none so far
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

// workerConfig is what the sections [worker] and [gateway] say.
func (s *site) workerConfig() string {
	return fmt.Sprintf("contain = %q\n[gateway]\nurl = %q\napi_key = %q\n", cmp.Or(os.Getenv("SVC_TEST_CONTAIN"), "off"), s.gateway.URL+"/", gatewayKey)
}

// temporary is the folder for temporary files: codex has no sandbox in a home below the usual one.
func (s *site) temporary() string { return filepath.Dir(s.lab.Path("tmp", "any")) }

// captureHooks has the hooks of the catalog call a script that keeps what they are given, without the
// lab's own paths, and passes it on. The names of its files begin with the tool and the time.
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
		// The hook is no longer the one that was reviewed. All hooks of this throwaway home are ours.
		s.agent.args = map[string][]string{"codex-tui": {"--dangerously-bypass-hook-trust"}}
	}
}

// awaitTool waits until a worker reports that it found the tool, at the version that was installed.
func (s *site) awaitTool() {
	s.t.Helper()
	s.awaitToolOn("")
}

// awaitToolOn is awaitTool for one host; empty: any.
func (s *site) awaitToolOn(name string) {
	s.t.Helper()
	var seen string
	proctest.Eventually(s.t, limit, "the worker finds the tool", func() bool {
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
		s.t.Fatalf("the tool says %q, want version %s", seen, s.agent.pin.version)
	}
}

// svc runs a command of the product, as a person would, and answers with what it printed.
func (s *site) svc(args ...string) string {
	s.t.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// try is svc for a command that may be refused; the error has what it said.
func (s *site) try(args ...string) (string, error) { return s.tryIn("", args...) }

// person is the environment of a person's own shell.
func (s *site) person() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.lab.Dir, "SVC_DATA_DIR=" + s.up.Dir, "SVC_API_URL=" + s.up.URL}
}

// tryIn is try in a folder.
func (s *site) tryIn(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, proctest.Binary(s.t), args...)
	cmd.Dir, cmd.Env = dir, s.person()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("svc %s: %w\n%s%s", strings.Join(args, " "), err, &stderr, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// start starts a run with "svc run start" and answers with its id.
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

// ended waits until the run's session has ended and reads the run.
func (s *site) ended(id string) svc.Run {
	s.t.Helper()
	return s.awaitRun(id, "its session has ended", func(r svc.Run) bool { return r.SessionEndedAt != nil })
}

// awaitRun looks at a run until it is as wanted. It looks seldom: the orchestrator logs each look.
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

// log is what the run wrote, for a person who looks for the reason of a failure.
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

// show is a run the way the table of results has it.
func show(r svc.Run) string {
	words := []string{"`" + string(r.Status) + "`"}
	if r.ExitCode != nil && r.Error == nil { // after a hook's word of failure svc ends the session: its code says nothing
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
