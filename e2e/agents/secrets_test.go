package agents

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"svc"
)

// contained reports whether sessions are contained in this run of the tests.
func contained() bool { return os.Getenv("SVC_TEST_CONTAIN") == "bwrap" }

// searchScript is a script that writes everything that an agent can read into one file: environments and arguments of
// processes, the files in its home, in the working copy and in the folders for sockets, and the tmux sessions of each
// socket that it finds.
const searchScript = `#!/bin/sh
exec >"$1" 2>/dev/null
env
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\0' '\n'
find "$HOME" . /run /tmp -xdev -type f -size -200k ! -path "*/node_modules/*" ! -name "$1" -exec cat {} +
find "$HOME" . /run /tmp -xdev | sed 's/^/path: /'
find "$HOME" /run /tmp -xdev -type s | while read -r socket; do tmux -S "$socket" list-sessions | sed 's/^/session: /'; done
exit 0
`

// noSecrets runs searchScript in a contained session while another run (the neighbour) is active. The search must find
// neither secrets of svc nor data of the neighbour's run. The same search outside of a container must find all of them,
// which proves that it works.
func noSecrets(s *site) string {
	defer func(task string) { s.task = task }(s.task)
	s.task = s.copying(svc.IsolationClone)
	thinking := "Please think beside it. {{wait: 10m}}"
	neighbour := s.start(s.agent.pin.tool, thinking)
	if err := s.gateway.await(limit, userTextContains(thinking)); err != nil {
		s.t.Fatalf("%v; the log:\n%s", err, s.log(neighbour))
	}
	secrets := s.secrets(neighbour)
	outside := s.lab.Path("outside", "loot")
	cmd := exec.CommandContext(s.t.Context(), "/bin/sh", s.lab.Path("repo", "seek"), outside)
	cmd.Dir, cmd.Env = s.work, s.userEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("the search outside: %v\n%s", err, out)
	}
	if missed := found(s, outside, secrets, false); len(missed) > 0 {
		s.t.Errorf("the search outside misses %q", missed)
	}
	if err := os.Remove(outside); err != nil {
		s.t.Fatal(err)
	}

	id := s.start(s.agent.pin.tool, "Please look around. {{run: sh seek loot}}")
	r := s.ended(id)
	w, err := s.client.Workspace(s.t.Context(), *r.WorkspaceID)
	if err != nil {
		s.t.Fatal(err)
	}
	inside := filepath.Join(w.Path, "loot")
	own := map[string]string{"its own environment": "SVC_RUN_ID=" + id, "its home": "A folder to work in.", "its own copy": "path: ./seek\n"}
	if missed := found(s, inside, own, false); len(missed) > 0 {
		s.t.Errorf("the search inside misses %q; the run is %s; its log:\n%s", missed, show(r), s.log(id))
	}
	if seen := found(s, inside, secrets, true); len(seen) > 0 {
		s.t.Errorf("the contained tool finds %q", seen)
	}
	s.svc("run", "stop", neighbour)
	s.ended(neighbour)
	return fmt.Sprintf("`%s`; of %d secrets of svc and of a neighbour's run it finds none", r.Status, len(secrets))
}

// found returns the names of the texts that a file contains, with an excerpt (has), or of those that it does not
// contain (not has).
func found(s *site, file string, texts map[string]string, has bool) (names []string) {
	s.t.Helper()
	loot, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	for name, text := range texts {
		at := bytes.Index(loot, []byte(text))
		switch {
		case at >= 0 && has:
			names = append(names, fmt.Sprintf("%s in: %s", name, loot[max(0, at-100):min(len(loot), at+len(text)+100)]))
		case at < 0 && !has:
			names = append(names, name)
		}
	}
	return names
}

// secrets returns texts that no other session may read, by name: the tokens and keys in svc's folders, and the token,
// the processes, the working copy and the terminal of an active run.
func (s *site) secrets(neighbour string) map[string]string {
	s.t.Helper()
	r, err := s.client.Run(s.t.Context(), neighbour)
	if err != nil {
		s.t.Fatal(err)
	}
	var w svc.Workspace
	s.eventually("the neighbour's working copy has its path", func() bool {
		if w, err = s.client.Workspace(s.t.Context(), *r.WorkspaceID); err != nil {
			s.t.Fatal(err)
		}
		return w.Path != ""
	})
	secrets := map[string]string{
		"the neighbour's process":      "SVC_RUN_ID=" + neighbour,
		"the neighbour's token":        s.signalToken(neighbour),
		"the neighbour's working copy": "path: " + w.Path,
		"the neighbour's terminal":     "session: " + r.SessionName,
	}
	for _, name := range []string{"token", "signing_key", "worker_token", "config.toml"} {
		text, err := os.ReadFile(filepath.Join(s.up.Dir, name))
		if err != nil {
			s.t.Fatal(err)
		}
		secrets[name] = strings.TrimSpace(string(text))
	}
	key, err := os.ReadFile(filepath.Join(s.up.Dir, "worker", "worker_key"))
	if err != nil {
		s.t.Fatal(err)
	}
	secrets["worker_key"] = strings.TrimSpace(string(key))
	return secrets
}

// signalToken returns the token in the environment of a run's processes.
func (s *site) signalToken(id string) string {
	s.t.Helper()
	for _, p := range s.lab.Processes() {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err != nil || !bytes.Contains(environ, []byte("SVC_RUN_ID="+id)) {
			continue
		}
		for variable := range strings.SplitSeq(string(environ), "\x00") {
			if token, ok := strings.CutPrefix(variable, "SVC_SIGNAL_TOKEN="); ok {
				return token
			}
		}
	}
	s.t.Fatalf("no process of run %s has a token", id)
	return ""
}
