package engine

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"svc"
)

// A host that was away counts as back only when its heartbeat can be written, and only then can a run be placed.
func TestTheTimeInWhichPassesFailIsNotHeldAgainstARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir, quietly, func(c *Config) { c.DispatchTimeout = time.Minute })
		db, err := sql.Open("sqlite", filepath.Join(dir, "svc.db"))
		s.no(err)
		defer func() { _ = db.Close() }()
		w, other := s.newHost("h"), s.newHost("other")
		w.register()
		r, waits := s.run(on(w)), s.run(on(other))
		s.pass(10 * time.Second)
		_, err = db.ExecContext(s.ctx, "ALTER TABLE service_times RENAME TO broken")
		s.no(err)
		s.pass(2 * time.Minute)
		_, err = db.ExecContext(s.ctx, "ALTER TABLE broken RENAME TO service_times")
		s.no(err)
		s.pass(2 * time.Second)
		s.wantStatus(r, svc.RunPending)
		w.connect()
		w.beat()
		s.wantStatus(r, svc.RunSpawning)
		s.pass(s.DispatchTimeout - 20*time.Second)
		s.wantStatus(waits, svc.RunPending)
		s.pass(15 * time.Second)
		s.wantStatus(waits, svc.RunFailed)
	})
}
