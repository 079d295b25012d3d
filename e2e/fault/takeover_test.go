package fault

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// TestAnOrchestratorWithLessOfALogMakesItWholeAgain starts an orchestrator whose copies of logs have less than the
// database says was relayed. This is so after a takeover from another orchestrator. The host must send the missing
// parts, and the journal must not count any output twice.
func TestAnOrchestratorWithLessOfALogMakesItWholeAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := s.worker(proctest.WorkerOptions{})
	mark := s.lab.Path("go")
	const first = "seq 1 20000; "
	wait := "while ! test -e " + mark + "; do sleep 0.05; done; seq 20001 21000"
	relay := func(r svc.Run, name string) string { return filepath.Join(s.o.Dir, "relay", r.ID, name) }
	// lose removes parts of the copy, by the name of the case.
	lose := map[string]func(r svc.Run){
		"a part":              func(r svc.Run) { truncate(t, relay(r, "1.log"), 10_000) },
		"a part and its end":  func(r svc.Run) { truncate(t, relay(r, "1.log"), 10_001); removeAll(t, relay(r, "1.end")) },
		"its screen":          func(r svc.Run) { removeAll(t, relay(r, "pane.json")) },
		"all":                 func(r svc.Run) { removeAll(t, relay(r, "")) },
		"the log, not times":  func(r svc.Run) { removeAll(t, relay(r, "1.log")) },
		"times and a part":    func(r svc.Run) { truncate(t, relay(r, "1.log"), 10_002); removeAll(t, relay(r, "1.times")) },
		"times before a part": func(r svc.Run) { truncate(t, relay(r, "1.log"), 10_003); truncate(t, relay(r, "1.times"), 5) },
	}
	live, ended := map[string]svc.Run{}, map[string]svc.Run{}
	for name := range lose {
		live[name], ended[name] = s.run(first+wait), s.run(first)
	}
	for _, r := range ended {
		s.awaitEnd(r.ID)
	}
	for _, r := range live {
		waittest.Eventually(t, "the first part is relayed and journaled", func() bool {
			return s.journaledBytes(r.ID) >= len(counted(20_000))
		})
	}
	waittest.Eventually(t, "the host has removed the folders of the ended attempts", func() bool {
		left, err := filepath.Glob(filepath.Join(w.Dir, "runs", "*.1"))
		return err == nil && len(left) == len(live)
	})
	s.o.Kill()
	for name, forget := range lose {
		forget(live[name])
		forget(ended[name])
	}
	s.o.Start()
	for name, r := range ended {
		var got []byte
		waittest.Eventually(t, "the log is complete", func() bool {
			status, body, incomplete := s.askLog(r.ID)
			got = body
			return status == http.StatusOK && incomplete == ""
		})
		if !bytes.Equal(got, counted(20_000)) {
			t.Errorf("an ended run that lost %s: the log has %d bytes, want %d", name, len(got), len(counted(20_000)))
		}
		waittest.Eventually(t, "the last screen of an ended run that lost "+name+" is there", func() bool {
			pane, err := s.client.Pane(t.Context(), r.ID) // requires that its host is connected again
			return err == nil && pane.Final && strings.Contains(pane.Capture, "20000")
		})
	}
	s.lab.Write(mark, "")
	for name, r := range live {
		s.awaitEnd(r.ID)
		if got := s.relayed(r.ID); !bytes.Equal(got, counted(21_000)) {
			t.Errorf("a live run that lost %s: the log has %d bytes, want %d", name, len(got), len(counted(21_000)))
		}
		s.wantOneLife(r.ID, 0)
	}
	for _, runs := range []map[string]svc.Run{live, ended} {
		for name, r := range runs {
			s.wantSameLog(w, r.ID)
			if want := len(s.record(w, r.ID)); s.journaledBytes(r.ID) != want {
				t.Errorf("a run that lost %s: the journal counts %d bytes, want %d", name, s.journaledBytes(r.ID), want)
			}
		}
	}
}

// journaledBytes returns how many bytes of output the journal has counted for a run.
func (s *site) journaledBytes(runID string) (bytes int) {
	for _, e := range s.follower.Of(runID, svc.TopicRunOutput) {
		n, _ := e.Payload["byte_count"].(float64)
		bytes += int(n)
	}
	return bytes
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// TestACheckpointThatTheOrchestratorLostIsSentAgain removes a relayed checkpoint at the orchestrator. The host detects
// this when it connects, and sends the checkpoint again.
func TestACheckpointThatTheOrchestratorLostIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	s.repository()
	s.worker(proctest.WorkerOptions{})
	r := s.run("echo what was written > work.txt")
	s.awaitEnd(r.ID)
	var w svc.Workspace
	waittest.Eventually(t, "the checkpoint is relayed", func() bool {
		w = s.workspace(r.ID)
		return w.RelayedCheckpoint > 0 && w.RelayedCheckpoint == w.Checkpoint
	})
	folder := filepath.Join(s.o.Dir, "relay", "workspaces", w.ID)
	before := files(t, folder)
	s.o.Kill()
	removeAll(t, folder)
	s.o.Start()
	waittest.Eventually(t, "the checkpoint is there again", func() bool {
		_, err := os.Stat(filepath.Join(folder, fmt.Sprint(w.RelayedCheckpoint, ".json")))
		return err == nil
	})
	if after := files(t, folder); !maps.Equal(before, after) {
		t.Errorf("the relayed files are %v, were %v", after, before)
	}
	if got := s.workspace(r.ID); got.RelayedCheckpoint != w.RelayedCheckpoint || got.Checkpoint != w.Checkpoint {
		t.Errorf("the workspace is %+v, was %+v", got, w)
	}
}

// files returns the content of each file of a folder, by name.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = string(text)
	}
	return found
}
