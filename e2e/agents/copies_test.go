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

// inCopies is the case of one kind of working copy: each run gets a new one, and the orchestrator keeps what the tool has changed in it.
// The interactive entry waits for a person's trust exactly where the doctor says so.
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

// change is a prompt whose run makes a file in its working copy.
const change = "Please change something. {{run: echo changed > changed.txt}}"

// copying makes a project whose runs get working copies of a kind, and answers with a task of it. The search for secrets is in the repository: some
// tools start no script from elsewhere.
func (s *site) copying(kind svc.Isolation) (task string) {
	s.t.Helper()
	repo := s.lab.Path("repo", "README.md")
	s.lab.Write(repo, "A repository.\n")
	s.lab.Write(s.lab.Path("repo", "seek"), seek)
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

// git runs git in a folder, as a person of this home does.
func (s *site) git(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, s.person()
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// wantKept: the run had a copy of its own, the newest checkpoint has the change and nothing else, and "svc run fetch" brings it.
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

// has says whether the catalog has an entry.
func (s *site) has(entry string) bool {
	s.t.Helper()
	providers, err := s.client.Providers(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.ContainsFunc(providers, func(p api.Provider) bool { return p.ID == entry })
}

// interactiveCopies has the interactive entry work in two new copies, and tells where it asked for trust.
func (s *site) interactiveCopies(entry string) string {
	s.t.Helper()
	predicted := s.predicted(entry)
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

// predicted is what the doctor says about an entry and trust.
func (s *site) predicted(entry string) bool {
	s.t.Helper()
	var found []struct {
		Provider  string `json:"provider"`
		AsksTrust bool   `json:"asks_trust"`
	}
	var out string
	var err error
	for range 3 { // on a busy machine the tool may take too long to tell its version
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

// openCopy has the interactive entry make its change in a new copy. A person gives trust when the tool asks for it, and says yes to the command.
func (s *site) openCopy(entry, prompt string, mayAsk bool) (askedTrust, hooks bool) {
	s.t.Helper()
	id := s.start(entry, prompt)
	reached := func() bool { return len(s.gateway.questions(holding(prompt))) > 0 }
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
		return s.told(prompt) || !r.Status.Active()
	}
	if !askedTrust { // the hook says when it asks; after trust that was given in the session it may not
		s.awaitRun(id, "it asks whether it may, or has done it", func(r svc.Run) bool { return over(r) || r.NeedsInput })
	}
	if r := s.pressUntil(id, s.agent.answer, "the end of its command", over); !r.Status.Active() {
		s.t.Fatalf("%s is %s; its log:\n%s", entry, show(r), s.log(id))
	}
	s.svc("run", "stop", id)
	s.wantKept(s.ended(id))
	return askedTrust, hooks
}

// turnOver is how the end of an interactive turn is known: by the hook, or, of a tool that has none, by the model's being told what the command did.
func (s *site) turnOver(prompt string) func(svc.Run) bool {
	return func(r svc.Run) bool {
		if s.agent.hook {
			return r.Result != nil || !r.Status.Active()
		}
		return s.told(prompt) || !r.Status.Active()
	}
}

// told says whether the model was told what the command of a prompt did.
func (s *site) told(prompt string) bool {
	return len(s.gateway.questions(func(q question) bool { return holding(prompt)(q) && q.answered })) > 0
}

// pressUntil presses keys until something holds, again after a while: a hook or a dialog may be there before it takes keys.
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
