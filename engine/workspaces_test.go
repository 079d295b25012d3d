package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/hub"
	"svc/wire"
)

// inRepository admits a run of a project whose runs work in copies of a repository.
func (s *site) inRepository(change ...func(*svc.NewRun)) svc.Run {
	s.t.Helper()
	p, err := s.CreateProject(s.ctx, svc.NewProject{Name: "p", Source: svc.SourcePatch{Repo: ptr("/repo")}})
	s.no(err)
	task := s.task(p)
	return s.run(append(change, func(n *svc.NewRun) { n.TaskID = task.ID })...)
}

// workspaceOf returns the run's workspace.
func (s *site) workspaceOf(r svc.Run) svc.Workspace {
	s.t.Helper()
	got := s.get(r)
	if got.WorkspaceID == nil {
		s.t.Fatal("the run has no workspace")
	}
	w, err := s.Workspace(s.ctx, *got.WorkspaceID)
	s.no(err)
	return w
}

// dispatched returns the dispatch that the worker received since the last call. An unacknowledged dispatch is sent
// again.
func (w *worker) dispatched() *wire.RunDispatch {
	w.s.t.Helper()
	w.s.settle()
	var last *wire.RunDispatch
	for _, f := range w.take() {
		d, ok := f.(*wire.RunDispatch)
		if !ok {
			continue
		}
		if last != nil && !reflect.DeepEqual(d.Workspace, last.Workspace) {
			w.s.t.Errorf("%s was given the workspaces %+v and %+v", w.host.Name, last.Workspace, d.Workspace)
		}
		last = d
	}
	if last == nil {
		w.s.t.Fatalf("%s got no dispatch", w.host.Name)
	}
	return last
}

// relays makes a checkpoint of the workspace, reports it and relays it.
func (w *worker) relays(id string, number int, bundle string) {
	w.s.t.Helper()
	w.relaysDone(id, number, bundle, wire.CheckpointDone{Files: 1, Additions: 2, Deletions: 3})
}

// relaysDone relays a checkpoint whose files all have the same bytes.
func (w *worker) relaysDone(id string, number int, bundle string, done wire.CheckpointDone) {
	w.s.t.Helper()
	who := Reporter{Host: w.host.ID}
	_, err := w.s.ReportWorkspace(w.s.ctx, who, id, svc.WorkspaceReport{State: svc.WorkspaceBusy, Path: "/work", BaseCommit: "base", Checkpoint: number, Tree: "tree", Commit: "commit"})
	w.s.no(err)
	for _, kind := range []hub.CheckpointKind{hub.CheckpointBundle, hub.CheckpointPatch} {
		sum := sha256.Sum256([]byte(bundle))
		_, err := w.s.TakeCheckpoint(w.s.ctx, who, id, func() (hub.Piece, error) {
			return hub.Piece{Number: number, Kind: kind, Total: int64(len(bundle)), Hash: hex.EncodeToString(sum[:]), Bytes: []byte(bundle)}, nil
		})
		w.s.no(err)
	}
	_, err = w.s.CheckpointRelayed(w.s.ctx, who, id, number, done)
	w.s.no(err)
}

func TestARestartOnTheSameHostGoesOnInItsWorkspace(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := s.inRepository(policy(svc.RestartOnFailure))
		first := w.dispatched().Workspace
		made := s.workspaceOf(r)
		if first == nil || first.ID != made.ID || first.Repo != "/repo" || first.Isolation != svc.IsolationClone || first.Branch != made.Branch || first.Restore != nil {
			t.Fatalf("dispatched with %+v for %+v", first, made)
		}
		if made.State != svc.WorkspacePreparing || made.HostID != w.host.ID || made.RunID != r.ID || made.TaskID != r.TaskID {
			t.Errorf("made %+v", made)
		}
		r = w.started(r)
		w.relays(made.ID, 1, "bundle")
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(1)))
		s.pass(time.Minute)
		again := w.dispatched()
		if again.Attempt != 2 || again.Workspace == nil || again.Workspace.ID != made.ID || again.Workspace.Restore != nil {
			t.Errorf("the second attempt was dispatched with %+v", again.Workspace)
		}
		all, err := s.Workspaces(s.ctx, svc.WorkspaceFilter{}, svc.Page{Limit: 10})
		s.no(err)
		if len(all.Items) != 1 {
			t.Errorf("there are %d workspaces", len(all.Items))
		}
	})
}

func TestARestartOnAnotherHostBeginsWithTheNewestRelayedCheckpoint(t *testing.T) {
	bubble(t, func(s *site) {
		one := s.online("one")
		beating := one.keepBeating()
		r := s.inRepository(policy(svc.RestartOnFailure))
		before := one.dispatched().Workspace.ID
		r = one.started(r)
		one.relays(before, 1, "older")
		one.relays(before, 2, "newest")
		_, err := s.ReportWorkspace(s.ctx, Reporter{Host: one.host.ID}, before, // made, but never relayed
			svc.WorkspaceReport{State: svc.WorkspaceBusy, Path: "/work", BaseCommit: "base", Checkpoint: 3, Tree: "t3", Commit: "c3"})
		s.no(err)
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(1)))
		beating()
		one.drop()
		two := s.online("two")
		two.keepBeating()
		s.pass(time.Minute)
		got := two.dispatched().Workspace
		if got == nil || got.ID == before || got.Restore == nil || *got.Restore != (wire.Restore{WorkspaceID: before, Checkpoint: 2, BaseCommit: "base"}) {
			t.Fatalf("dispatched with %+v", got)
		}

		// Only the host of the new workspace may read the bundle, and only for that workspace.
		f, err := s.RestoreFile(s.ctx, Reporter{Host: two.host.ID}, before, got.ID, 2)
		s.no(err)
		text, err := io.ReadAll(f)
		s.no(err)
		s.no(f.Close())
		if string(text) != "newest" {
			t.Errorf("the bundle is %q", text)
		}
		_, err = s.RestoreFile(s.ctx, Reporter{Host: one.host.ID}, before, got.ID, 2)
		s.wantCode("another host", err, svc.CodeForbidden)

		// A preparation without a checkpoint of its own changes nothing: the next host begins with the same
		// checkpoint.
		_, err = s.ReportWorkspace(s.ctx, Reporter{Host: two.host.ID}, got.ID, svc.WorkspaceReport{State: svc.WorkspacePreparing, Path: "/work"})
		s.no(err)
		if w := s.workspaceOf(r); w.RestoredFrom != before || w.BaseCommit != "base" || w.Checkpoint != 2 || w.RelayedCheckpoint != 2 {
			t.Errorf("while it is prepared: %+v", w)
		}
	})
}

// TestAWorkspaceIsItsHostsAlone tries to report about a workspace, and to relay and read its checkpoints, as other
// hosts and with run tokens.
func TestAWorkspaceIsItsHostsAlone(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := s.inRepository()
		other := s.online("other")
		foreign, host := other, w.host.ID
		id := w.dispatched().Workspace.ID
		w.relays(id, 1, "bundle")
		before := s.workspaceOf(r)
		for name, who := range map[string]Reporter{
			"another host": {Host: foreign.host.ID}, "the run's own token": {Host: host, Attempt: 1}, "another host's run": {Host: foreign.host.ID, Attempt: 1},
		} {
			_, report := s.ReportWorkspace(s.ctx, who, id, svc.WorkspaceReport{State: svc.WorkspaceMissing})
			_, take := s.TakeCheckpoint(s.ctx, who, id, func() (hub.Piece, error) {
				t.Errorf("%s: what it sends is read", name)
				return hub.Piece{Number: 2, Kind: hub.CheckpointPatch}, nil
			})
			_, done := s.CheckpointRelayed(s.ctx, who, id, 1, wire.CheckpointDone{})
			_, restore := s.RestoreFile(s.ctx, who, id, id, 1)
			for what, err := range map[string]error{"a report": report, "a piece": take, "the end of a relay": done, "a bundle": restore} {
				if svc.CodeOf(err) != svc.CodeForbidden {
					t.Errorf("%s of %s: %v", what, name, err)
				}
			}
		}
		if after := s.workspaceOf(r); !reflect.DeepEqual(after, before) {
			t.Errorf("it was %+v and is %+v", before, after)
		}
	})
}

// TestReportsOfWorkspacesAreBounded has a host report changes of its workspace again and again, each of which is
// journaled, and a value that another host's git would not read as the name of a commit.
func TestReportsOfWorkspacesAreBounded(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		s.inRepository()
		id := w.dispatched().Workspace.ID
		who := Reporter{Host: w.host.ID}
		report := func(n int, base string) error {
			_, err := s.ReportWorkspace(s.ctx, who, id, svc.WorkspaceReport{State: svc.WorkspaceBusy, Path: "/work", BaseCommit: base, Checkpoint: n})
			return err
		}
		for _, base := range []string{"refs/heads/a:refs/heads/b", "--output=/tmp/x", "+main:main", strings.Repeat("a", 65)} {
			s.wantCode(base, report(1, base), svc.CodeValidation)
		}
		_, err := s.CheckpointRelayed(s.ctx, who, id, 1, wire.CheckpointDone{Tree: strings.Repeat("a", 1<<20)})
		s.wantCode("a long tree", err, svc.CodeValidation)
		began := time.Now()
		for n := range 1100 { // 1000 at once, then twenty per second
			s.no(report(n+1, ""))
		}
		if took := time.Since(began); took < 4*time.Second || took > time.Minute {
			t.Errorf("1100 reports took %s", took)
		}
	})
}

// TestWhatIsKeptOfEachHostIsMeasured checks that the files of logs and checkpoints are counted for the hosts that
// relayed them.
func TestWhatIsKeptOfEachHostIsMeasured(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := s.inRepository()
		id := w.dispatched().Workspace.ID
		w.relays(id, 1, "bundle")
		_, err := s.Hub.Relay.Append(w.host.ID, r.ID, 1, nil, []byte("output"))
		s.no(err)
		counted := s.Hub.Quota.Used(w.host.ID)
		s.no(s.Hub.Quota.Measure(func() (map[string]int64, error) { return map[string]int64{}, nil }))
		s.no(s.measureRelay(s.ctx))
		sent := int64(2*len("bundle") + len("output")) // each patch also has a small file with its base commit
		if got := s.Hub.Quota.Used(w.host.ID); got < sent || counted != got {
			t.Errorf("measured %d bytes, counted %d, of which %d were sent", got, counted, sent)
		}
	})
}
