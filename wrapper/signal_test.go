package wrapper

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc"
	"svc/rundir"
)

// inSession returns the environment that a hook has.
func inSession(t *testing.T, apiURL string) (IO, *strings.Builder, rundir.Attempt) {
	t.Helper()
	d, err := rundir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := d.Attempt(svc.NewRunID(), 3)
	if err := a.Create(); err != nil {
		t.Fatal(err)
	}
	stderr := &strings.Builder{}
	env := sessionEnv(rundir.Launch{
		RunID: a.RunID, Attempt: 3, APIURL: apiURL, SignalToken: "run-token", DataDir: string(d), PromptFile: a.PromptPath(),
	}, nil, "")
	return IO{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: stderr, Env: env}, stderr, a
}

func TestAHooksCommandsArePostedAtOnce(t *testing.T) {
	t.Parallel()
	o := newOrchestrator(t)
	std, stderr, a := inSession(t, o.URL)
	for _, line := range []string{
		"progress --message reading",
		"progress --message half --percent 50",
		"progress --message go? --needs-input",
		"completed --result partial_success --reason half",
		"failed --error broken",
	} {
		if code := Signal(strings.Fields(line), std); code != 0 {
			t.Fatalf("%s: exit code %d: %s", line, code, stderr)
		}
	}
	got := o.signals()
	if len(got) != 5 || stderr.Len() != 0 || len(spooled(t, a.Dir)) != 0 {
		t.Fatalf("posted %v, stderr %q, left %v", kinds(got), stderr, spooled(t, a.Dir))
	}
	for i, want := range []svc.Signal{
		{Kind: "progress", Message: "reading"}, {Kind: "progress", Message: "half"},
		{Kind: "progress", Message: "go?", NeedsInput: true},
		{Kind: "completed", Result: "partial_success", Reason: "half"}, {Kind: "failed", Error: "broken"},
	} {
		g := got[i]
		if g.Kind != want.Kind || g.Message != want.Message || g.NeedsInput != want.NeedsInput || g.Result != want.Result ||
			g.Reason != want.Reason || g.Error != want.Error || g.Source != svc.FromHook || g.Attempt != 3 || g.RunID != a.RunID {
			t.Errorf("posted %+v, want %+v", g, want)
		}
		if g.Kind == svc.SignalProgress && g.Seq != int64(i+1) {
			t.Errorf("progress %d has seq %d", i, g.Seq)
		}
	}
	if got[1].Percent == nil || *got[1].Percent != 50 || got[0].Percent != nil {
		t.Errorf("percents %v, %v", got[0].Percent, got[1].Percent)
	}
}

func TestWhatCannotBePostedIsKeptAndBreaksNoAgent(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"away": 0, "broken": 500, "a stranger": 401, "a proxy": 404, "a captive portal": 400, "a gateway": 409} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrchestrator(t)
			o.refuseWith(status)
			if status == 0 {
				o.Close()
			}
			std, stderr, a := inSession(t, o.URL)
			if code := Signal([]string{"progress", "--message", "x"}, std); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if got := spooled(t, a.Dir); !slices.Equal(got, []string{"progress"}) {
				t.Errorf("spool has %v", got)
			}
			if strings.Count(stderr.String(), "\n") != 1 || strings.Contains(stderr.String(), "run-token") {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

func TestWhatTheOrchestratorRefusesForGoodIsSetAside(t *testing.T) {
	t.Parallel()
	o := newOrchestrator(t)
	o.answerWith(http.StatusConflict, `{"error":{"code":"invalid_attempt","message":"it was never given out"}}`)
	std, _, a := inSession(t, o.URL)
	if code := Signal([]string{"progress", "--message", "x"}, std); code != 0 {
		t.Errorf("exit code %d", code)
	}
	bad, _ := filepath.Glob(filepath.Join(a.Dir.SpoolPath(), "bad", "*.progress"))
	if got := spooled(t, a.Dir); len(got) != 0 || len(bad) != 1 {
		t.Errorf("spool has %v, bad %v", got, bad)
	}
}

func TestBadUsageIsToldAndReportsNothing(t *testing.T) {
	t.Parallel()
	o := newOrchestrator(t)
	std, _, a := inSession(t, o.URL)
	for _, line := range []string{
		"", "finished", "started", "progress", "progress --message", "progress --message x --percent ten",
		"progress --message x --percent 256", "progress --message x more", "completed", "completed --result maybe",
		"completed --result partial_success", "failed", "failed --message x", "--from", "--from vi", "--unknown",
	} {
		if code := Signal(strings.Fields(line), std); code != exitHook {
			t.Errorf("%q: exit code %d", line, code)
		}
	}
	std.Env = nil
	if code := Signal([]string{"progress", "--message", "x"}, std); code != exitHook {
		t.Errorf("outside a session: exit code %d", code)
	}
	if got := append(kinds(o.signals()), spooled(t, a.Dir)...); len(got) != 0 {
		t.Errorf("reported %v", got)
	}
}

func TestAHookThatPanicsDoesNotBlockItsAgent(t *testing.T) {
	t.Parallel()
	o := newOrchestrator(t)
	std, stderr, _ := inSession(t, o.URL)
	std.Stdin = panics{}
	if code := Signal([]string{"--from", "claude"}, std); code != 0 || !strings.Contains(stderr.String(), "a broken reader") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	std.Stderr = &panicsFirst{next: stderr}
	if code := Signal([]string{"no such kind"}, std); code != exitHook || !strings.Contains(stderr.String(), "a broken writer") {
		t.Errorf("exit code %d, stderr %q; want %d and the cause", code, stderr, exitHook)
	}
}

type panics struct{}

func (panics) Read([]byte) (int, error) { panic("a broken reader") }

type panicsFirst struct{ next io.Writer }

func (w *panicsFirst) Write(p []byte) (int, error) {
	if !strings.Contains(string(p), "nothing reported") {
		panic("a broken writer")
	}
	return w.next.Write(p)
}

func TestProgressReportedAtOnceHasUniqueNumbers(t *testing.T) {
	t.Parallel()
	o := newOrchestrator(t)
	std, _, a := inSession(t, o.URL)
	const many = 24
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			own := std
			own.Stderr = &strings.Builder{}
			Signal([]string{"progress", "--message", fmt.Sprint(i)}, own)
		})
	}
	all.Wait()
	messages := map[int64]string{} // by seq
	for _, s := range o.signals() {
		messages[s.Seq] = s.Message
	}
	waiting, _, err := a.Pending() // what was not posted in time: on a loaded machine, or because its hook has failed
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range waiting {
		s, err := e.Frame.Signal.Parse(a.RunID)
		if message, posted := messages[s.Seq]; err != nil || posted && message != s.Message {
			t.Errorf("seq %d is used twice, or: %v", s.Seq, err)
		}
		messages[s.Seq] = s.Message
	}
	seqs := slices.Sorted(maps.Keys(messages))
	if len(seqs) != many || seqs[0] != 1 || seqs[many-1] != many {
		t.Errorf("seqs %v", seqs)
	}
}

func TestAHookThatCannotEvenSpoolBreaksNoAgent(t *testing.T) {
	t.Parallel()
	std, stderr, a := inSession(t, "")
	// A spool that cannot be written to stands for any such disk.
	if err := os.RemoveAll(a.SpoolPath()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.SpoolPath(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := Signal([]string{"progress", "--message", "x"}, std); code != 0 || !strings.Contains(stderr.String(), "not reported") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}
