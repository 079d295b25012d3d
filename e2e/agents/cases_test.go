package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"svc"
	"svc/internal/proctest"
)

// cases are the tests of each tool. run returns the result for the table.
var cases = []struct {
	name string
	run  func(*site) string
	when func() bool // nil: always
}{
	{name: "success", run: success},
	{name: "model API failure", run: failure},
	{name: "stopped in the middle", run: stopped},
	{name: "needs you", run: needsYou},
	{name: "odd prompt", run: oddPrompt},
	{name: "prompt of 200 KiB", run: longPrompt},
	{name: "continued", run: continued},
	{name: "in a clone", run: inCopies(svc.IsolationClone)},
	{name: "in a worktree", run: inCopies(svc.IsolationWorktree)},
	{name: "contained, looks for secrets", run: noSecrets, when: contained},
}

// success tests that the tool executes one command of the model and exits.
func success(s *site) string {
	proof := filepath.Join(s.work, "success.txt")
	id := s.start(s.agent.pin.tool, "Please do it. {{run: echo done > "+proof+"}}")
	r := s.ended(id)
	if r.Status != svc.RunExited || r.ExitCode == nil || *r.ExitCode != 0 {
		s.t.Errorf("the run is %s; its log:\n%s", show(r), s.log(id))
	}
	if got := r.Result != nil && *r.Result == svc.ResultSuccess; got != s.agent.hook {
		s.t.Errorf("completed by its hook: %v, want %v; its log:\n%s", got, s.agent.hook, s.log(id))
	}
	if _, err := os.Stat(proof); err != nil {
		s.t.Errorf("the model's command was not run: %v; the log:\n%s", err, s.log(id))
	}
	s.wantRequest()
	return show(r)
}

// wantRequest checks that the tool sent a request to the gateway, with the gateway's key and the run's model.
func (s *site) wantRequest() {
	s.t.Helper()
	model := s.agent.model[strings.LastIndex(s.agent.model, "/")+1:]
	asked := s.gateway.questions(func(q question) bool {
		return q.protocol == s.agent.protocol && q.key == gatewayKey && q.model == model
	})
	if len(asked) == 0 {
		s.t.Errorf("the gateway got no request of protocol %s with its key and model %s", s.agent.protocol, model)
	}
}

// failure tests a model API that returns an error.
func failure(s *site) string {
	id := s.start(s.agent.pin.tool, "Please fail. {{fail: 400}}")
	r := s.ended(id)
	if got := show(r); got != s.agent.failure {
		s.t.Errorf("the run is %s, want %s; its log:\n%s", got, s.agent.failure, s.log(id))
	}
	return show(r)
}

// stopped tests that a run can be stopped while the model delays its response, and that no process of it remains.
func stopped(s *site) string {
	prompt := "Please think. {{wait: 10m}}"
	id := s.start(s.agent.pin.tool, prompt)
	if err := s.gateway.await(limit, userTextContains(prompt)); err != nil {
		s.t.Fatalf("%v; the log:\n%s", err, s.log(id))
	}
	if shown := s.inProcessList(prompt); shown != s.agent.argument {
		s.t.Errorf("the prompt is among the arguments of a process: %v, want %v", shown, s.agent.argument)
	}
	begin := time.Now()
	s.svc("run", "stop", id)
	r := s.ended(id)
	took := time.Since(begin)
	if r.Status != svc.RunStopped || r.Result != nil {
		s.t.Errorf("the run is %s", show(r))
	}
	s.wantNoneLeft(id)
	return fmt.Sprintf("%s, after %s", show(r), roughly(took))
}

// roughly returns the step of the stop ladder that ended a run after a duration.
func roughly(d time.Duration) string {
	switch {
	case d < 5*time.Second:
		return "Ctrl-C"
	case d < 15*time.Second:
		return "SIGTERM"
	default:
		return "SIGKILL"
	}
}

// wantNoneLeft waits until no process has the run's id in its environment.
func (s *site) wantNoneLeft(id string) {
	s.t.Helper()
	var left []proctest.Proc
	s.eventually("nothing of the run is alive", func() bool {
		left = slices.DeleteFunc(s.lab.Processes(), func(p proctest.Proc) bool {
			environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
			return err != nil || !strings.Contains(string(environ), "SVC_RUN_ID="+id)
		})
		return len(left) == 0
	})
}

// needsYou tests that the interactive tool asks before it executes a command, that the run then needs input, and that
// keys allow the command.
func needsYou(s *site) string {
	if !s.agent.asks {
		return "cannot be known: " + s.agent.why
	}
	proof := filepath.Join(s.lab.Dir, "approved.txt")
	begin := time.Now()
	id := s.start(s.agent.pin.tool+"-tui", "Please do it outside the sandbox. {{run: echo yes > "+proof+"}}")
	r := s.awaitRun(id, "it needs a person", func(r svc.Run) bool { return r.NeedsInput })
	asked := time.Since(begin)
	if r.ProgressMessage == nil || *r.ProgressMessage == "" {
		s.t.Error("the question is empty")
	}
	if _, err := os.Stat(proof); !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("the command ran before it was allowed: %v", err)
	}
	r = s.pressUntil(id, s.agent.answer, "its hook reports the end", s.turnOver(""))
	if r.NeedsInput || r.Status != svc.RunRunning || *r.Result != svc.ResultSuccess {
		s.t.Errorf("after the answer the run is %s, needs input: %v; its log:\n%s", show(r), r.NeedsInput, s.log(id))
	}
	if _, err := os.Stat(proof); err != nil {
		s.t.Errorf("the command that was allowed did not run: %v", err)
	}
	s.svc("run", "stop", id)
	s.ended(id)
	s.wantNoneLeft(id)
	return fmt.Sprintf("shown %d s after the start, answered with keys, then hook `completed`; before, by hand: %s", int(asked.Seconds()), s.agent.once)
}

// oddPrompt tests that a prompt arrives unchanged if it contains the syntax of shells, tmux and templates.
func oddPrompt(s *site) string {
	trap := filepath.Join(s.work, "trap")
	prompt := "First line: \"double\" 'single' \\ back\\\\slash;\n" +
		"\n\tthen; #{session_name} #(touch " + trap + ") $(touch " + trap + ") `touch " + trap + "` ${HOME} $HOME %s %% && || | > & * ? ~\n" +
		"--flag {prompt} {args} {model} <tag a=\"b\"> <!-- x --> \\n \\x41 !! ^C\n" +
		"ünïcödé 漢字 العربية e\u0301 👩‍👩‍👧 \u200b\u00a0 last line."
	id := s.start(s.agent.pin.tool, prompt)
	r := s.ended(id)
	if r.Status != svc.RunExited {
		s.t.Errorf("the run is %s; its log:\n%s", show(r), s.log(id))
	}
	if _, err := os.Stat(trap); !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("a part of the prompt was run: %v", err)
	}
	want, told := prompt, "byte for byte"
	if s.agent.composes {
		want, told = strings.ReplaceAll(prompt, "e\u0301", "\u00e9"), "byte for byte, but for accents that the tool composes (NFC)"
	}
	if len(s.gateway.questions(userTextContains(want))) == 0 {
		for _, q := range s.gateway.questions(userTextContains("First line")) {
			s.t.Errorf("the prompt arrived as %q, want %q", q.user, want)
		}
		s.t.Errorf("the prompt did not arrive as it was; the log:\n%s", s.log(id))
	}
	return told
}

// longPrompt tests that a prompt that is too long for an argument arrives completely, or is refused before the run
// starts.
func longPrompt(s *site) string {
	prompt := "Please read this to its end.\n" + strings.Repeat("All of it, line by line, matters.\n", 200<<10/33) + "The end."
	if s.agent.argument {
		if _, err := s.try(s.startArgs(s.agent.pin.tool, prompt)...); err == nil || !strings.Contains(err.Error(), "argument") {
			s.t.Errorf("the start ended with %v", err)
		}
		return "refused: the tool takes it as an argument only, which every user of the host can read"
	}
	id := s.start(s.agent.pin.tool, prompt)
	r := s.ended(id)
	if r.Status != svc.RunExited {
		s.t.Errorf("the run is %s; its log:\n%s", show(r), s.log(id))
	}
	if len(s.gateway.questions(userTextContains(prompt))) == 0 {
		s.t.Errorf("the prompt did not arrive as it was; the log:\n%s", s.log(id))
	}
	return "arrives whole, and is not in the process list"
}

// inProcessList reports whether any process has the text in its arguments, which every user of a host can read.
func (s *site) inProcessList(text string) bool {
	s.t.Helper()
	lists, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.ContainsFunc(lists, func(file string) bool {
		arguments, err := os.ReadFile(file) // the process may have ended meanwhile
		return err == nil && strings.Contains(string(arguments), text)
	})
}
