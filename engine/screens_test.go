package engine

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"svc"
	"svc/hub"
	"svc/wire"
)

// A final screen is acknowledged only when it would survive a crash of the orchestrator, and no later screen replaces
// it.
func TestAFinalScreenIsAcknowledgedWhenItIsOnDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, dir)
		w := s.online("h")
		r := w.started(s.run())
		w.send(wire.Snapshot{RunID: r.ID, Attempt: 1, Capture: "busy", Timestamp: 1})
		w.wantFrames()
		w.send(wire.Snapshot{RunID: r.ID, Attempt: 1, Capture: "the end", Timestamp: 2, Final: true})
		w.wantFrames("screen_ack")
		killed := func(what string) {
			t.Helper()
			got, ok, err := hub.NewPanes(filepath.Join(dir, "relay"), s.Log).Latest(r.ID)
			if err != nil || !ok || got.Capture != "the end" || !got.Final || got.Attempt != 1 || got.Timestamp != 2 {
				t.Errorf("%s: %+v, %v, %v", what, got, ok, err)
			}
		}
		killed("before the end was told")
		w.send(wire.Snapshot{RunID: r.ID, Attempt: 1, Capture: "late", Timestamp: 1})
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		w.send(wire.Snapshot{RunID: r.ID, Attempt: 1, Capture: "the end", Timestamp: 2, Final: true}) // its ack was lost
		w.wantFrames("screen_ack")
		killed("afterwards")
		w.send(wire.Snapshot{RunID: svc.NewRunID(), Attempt: 1, Capture: "x", Timestamp: 1, Final: true})
		w.wantFrames("screen_ack", "error not_found") // it will not be read
	})
}
