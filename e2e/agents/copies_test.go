package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"svc"
	"svc/api"
)

// inCopies returns the case for one kind of working copy: each run gets a new copy, and the orchestrator stores the
// tool's changes. The interactive entry must ask for trust exactly if the doctor predicts it.
func inCopies(kind svc.Isolation) func(*site) string {
	return func(s *site) string {
		defer func(task string) { s.task = task }(s.task)
		s.task = s.copying(kind)
		r := s.ended(s.start(s.agent.pin.tool, change))
		if r.Status != svc.RunExited {
			s.t.Errorf("the run is %s; its log:\n%s", show(r), s.log(r.ID))
		}
		s.wantKept(r)
		told := fmt.Sprintf("`%s`, the change is kept", r.Status)
		if entry := s.agent.pin.tool + "-tui"; s.has(entry) {
			told += "; interactive: " + s.interactiveCopies(entry)
		}
		return told
	}
}

// change is a prompt whose run creates a file in its working copy.
const change = "Please change something. {{run: echo changed > changed.txt}}"

// copying creates a project whose runs get working copies of the given kind, and returns a task of it. The script that
// searches for secrets is in the repository, because some tools execute no script from outside.
func (s *site) copying(kind svc.Isolation) (task string) {
	s.t.Helper()
	repo := s.lab.Path("repo", "README.md")
	s.lab.Write(repo, "A repository.\n")
	s.lab.Write(s.lab.Path("repo", "seek"), searchScript)
	repo = filepath.Dir(repo)
	if _, err := os.Stat(filepath.Join(repo, ".git")); err != nil {
		s.git(repo, "init", "--quiet", "--initial-branch=main")
		s.git(repo, "add", ".")
		s.git(repo, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=begin")
	}
	project, err := s.client.CreateProject(s.t.Context(), api.CreateProject{
		Name: strings.ReplaceAll(filepath.Base(s.t.Name()), "_", " "), Source: api.Source{Repo: api.Some(repo), Isolation: api.Some(string(kind))},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	item, err := s.client.CreateWorkItem(s.t.Context(), api.CreateWorkItem{ProjectID: project.ID, Kind: svc.KindTask, Title: "change"})
	if err != nil {
		s.t.Fatal(err)
	}
	return item.ID
}

// git runs git in a folder, with the environment of the person's shell.
func (s *site) git(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, s.userEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// wantKept checks that the run had its own working copy, that the newest checkpoint has only the change, and that "svc
// run fetch" fetches it.
func (s *site) wantKept(r svc.Run) {
	s.t.Helper()
	if r.WorkspaceID == nil {
		s.t.Fatalf("run %s has no working copy", r.ID)
	}
	w, err := s.client.Workspace(s.t.Context(), *r.WorkspaceID)
	if err != nil {
		s.t.Fatal(err)
	}
	if w.RelayedCheckpoint == 0 || w.RelayedCheckpoint != w.Checkpoint {
		s.t.Fatalf("%s: the newest checkpoint is %d, the orchestrator has %d (%s); the log:\n%s", r.Provider, w.Checkpoint, w.RelayedCheckpoint, w.Error, s.log(r.ID))
	}
	found, err := s.client.Change(s.t.Context(), w.ID, api.ChangeQuery{})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(found.Files) != 1 || found.Files[0].Path != "changed.txt" || found.Files[0].Status != "added" {
		s.t.Errorf("%s: the change is %+v", r.Provider, found.Files)
	}
	clone := s.lab.Path("clones", r.ID)
	s.git(s.lab.Dir, "clone", "--quiet", w.Repo, clone)
	if _, err := s.tryIn(clone, "run", "fetch", r.ID, "--branch", "fetched"); err != nil {
		s.t.Fatal(err)
	}
	if got := s.git(clone, "show", "fetched:changed.txt"); got != "changed" {
		s.t.Errorf("%s: the branch that was fetched has %q", r.Provider, got)
	}
}

// has reports whether the catalog has an entry.
func (s *site) has(entry string) bool {
	s.t.Helper()
	providers, err := s.client.Providers(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.ContainsFunc(providers, func(p api.Provider) bool { return p.ID == entry })
}

// interactiveCopies runs the interactive entry in two new working copies. It returns, for the table, in which of them
// it asked for trust.
func (s *site) interactiveCopies(entry string) string {
	s.t.Helper()
	predicted := s.predictsTrust(entry)
	var asked [2]bool
	var silent bool
	for i := range asked {
		var hooks bool
		asked[i], hooks = s.openCopy(entry, fmt.Sprintf("%s This is copy %d of %s.", change, i+1, s.task), predicted)
		silent = silent || asked[i] && s.agent.hook && !hooks
	}
	if asked[0] != predicted {
		s.t.Errorf("%s asked for trust in its first copy: %v; the doctor predicts %v", entry, asked[0], predicted)
	}
	var told string
	switch asked {
	case [2]bool{false, false}:
		told = "asks for no trust, as the doctor says; the change is kept"
	case [2]bool{true, true}:
		told = "asks for trust in each copy, as the doctor says; when that is given the change is kept"
	default:
		told = "asks for trust in the first copy only; when that is given the change is kept"
	}
	if silent {
		told += "; its hooks say nothing in a session that began without trust"
	}
	return told
}

// predictsTrust reports whether the doctor predicts that an entry asks for trust.
func (s *site) predictsTrust(entry string) bool {
	s.t.Helper()
	var found []struct {
		Provider  string `json:"provider"`
		AsksTrust bool   `json:"asks_trust"`
	}
	var out string
	var err error
	for range 3 { // on a busy machine the tool may take too long to print its version
		if out, err = s.try("provider", "doctor", entry, "-o", "json"); err == nil {
			break
		}
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &found)
	}
	if err != nil || len(found) != 1 || found[0].Provider != entry {
		s.t.Fatalf("the doctor says %v in %s", err, out)
	}
	return found[0].AsksTrust
}

// openCopy runs the interactive entry, which makes its change in a new working copy. It presses the keys that give
// trust, if the tool asks for it, and those that allow the command. hooks reports whether a hook of the session
// reported anything.
func (s *site) openCopy(entry, prompt string, mayAsk bool) (askedTrust, hooks bool) {
	s.t.Helper()
	id := s.start(entry, prompt)
	reached := func() bool { return len(s.gateway.questions(userTextContains(prompt))) > 0 }
	if mayAsk {
		s.awaitRun(id, "it asks for trust or begins", func(r svc.Run) bool {
			askedTrust = !reached() && strings.Contains(strings.ToLower(s.log(id)), "trust")
			return askedTrust || reached() || !r.Status.Active()
		})
	}
	if askedTrust {
		s.pressUntil(id, s.agent.trust, "it begins with its prompt", func(r svc.Run) bool { return reached() || !r.Status.Active() })
	}
	over := func(r svc.Run) bool {
		hooks = hooks || r.NeedsInput || r.Result != nil
		return s.hasResult(prompt) || !r.Status.Active()
	}
	if !askedTrust { // the hook reports the question; after trust was given in this session it may report nothing
		s.awaitRun(id, "it asks whether it may, or has done it", func(r svc.Run) bool { return over(r) || r.NeedsInput })
	}
	if r := s.pressUntil(id, s.agent.answer, "the end of its command", over); !r.Status.Active() {
		s.t.Fatalf("%s is %s; its log:\n%s", entry, show(r), s.log(id))
	}
	s.svc("run", "stop", id)
	s.wantKept(s.ended(id))
	return askedTrust, hooks
}

// turnOver returns a condition for the end of an interactive turn: the hook has reported it. For a tool without a hook:
// the model has received the result of the command.
func (s *site) turnOver(prompt string) func(svc.Run) bool {
	return func(r svc.Run) bool {
		if s.agent.hook {
			return r.Result != nil || !r.Status.Active()
		}
		return s.hasResult(prompt) || !r.Status.Active()
	}
}

// hasResult reports whether the model has received the result of a prompt's command.
func (s *site) hasResult(prompt string) bool {
	return len(s.gateway.questions(func(q question) bool { return userTextContains(prompt)(q) && q.answered })) > 0
}

// pressUntil presses keys every 10 s until a condition is true: a dialog may be visible before it accepts keys.
func (s *site) pressUntil(id string, keys []string, what string, is func(svc.Run) bool) svc.Run {
	s.t.Helper()
	next := time.Now()
	return s.awaitRun(id, what, func(r svc.Run) bool {
		if is(r) {
			return true
		}
		if now := time.Now(); now.After(next) {
			s.svc(slices.Concat([]string{"run", "keys", id}, keys)...)
			next = now.Add(10 * time.Second)
		}
		return false
	})
}
