package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// age makes all relayed files of a run look older.
func age(t *testing.T, dir string, r svc.Run, at time.Time) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "relay", r.ID, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("of run %s there is %v (%v), want a log and a screen", r.ID, files, err)
	}
	for _, f := range files {
		if err := os.Chtimes(f, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatWasRelayedIsKeptAsLongAsConfiguredAndWhileItsSessionMayLive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		w := s.online("h")
		runs := map[string]svc.Run{}
		for _, name := range []string{"old", "young", "running", "stopping"} {
			r := w.started(s.run())
			runs[name] = r
			w.log(r, name, 0)
			w.send(wire.Snapshot{RunID: r.ID, Capture: name, Timestamp: 1})
		}
		for _, name := range []string{"old", "young"} {
			s.want(svc.Applied)(s.signal(runs[name], svc.SignalFinished))
		}
		_, err := s.StopRun(s.ctx, runs["stopping"].ID)
		s.no(err)
		s.stop()
		for name, r := range runs {
			at := time.Now().Add(-7*day - time.Hour)
			if name == "young" {
				at = time.Now().Add(-7*day + time.Hour)
			}
			age(t, dir, r, at)
		}
		s = start(t, dir, func(c *Config) { c.RelayDays = 7 })
		s.settle()
		for name, r := range runs {
			_, screen, err := s.Hub.Panes.Latest(r.ID)
			s.no(err)
			f, err := s.Hub.Relay.Whole(r.ID, 1)
			s.no(err)
			if f != nil {
				s.no(f.Close())
			}
			if kept := name != "old"; screen != kept || (f != nil) != kept {
				t.Errorf("%s: screen kept %v, log kept %v", name, screen, f != nil)
			}
			if _, err := s.Run(s.ctx, r.ID); err != nil {
				t.Errorf("%s: the record is gone: %v", name, err)
			}
		}
	})
}

// A follower still has copies of files that the leader removed while the follower was away. Only the database
// determines which files are gone.
func TestTheDatabaseSaysWhichRelayedFilesAreGone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := start(t, t.TempDir(), func(c *Config) { c.RelayDays = 7 })
		w := s.online("h")
		over, open := w.started(s.run()), w.started(s.run())
		s.want(svc.Applied)(s.signal(over, svc.SignalFinished))
		unknown := svc.NewID()
		for file, want := range map[string]bool{
			over.ID + "/1.log": true, over.ID + "/pane.json": true, open.ID + "/1.log": false, unknown + "/1.log": true,
			"workspaces/" + unknown + "/1.bundle": true, "workspaces/elsewhere": false, "workspaces": false, "notes.txt": false, "": false,
		} {
			if got := s.RelayGone(s.ctx, file); got != want {
				t.Errorf("%s is gone: %v, want %v", file, got, want)
			}
		}
		ended, cancel := context.WithCancel(s.ctx)
		cancel()
		if s.RelayGone(ended, over.ID+"/1.log") {
			t.Error("what could not be asked counts as gone")
		}
	})
}
