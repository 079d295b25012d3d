package engine

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/store"
	"svc/store/storetest"
	"svc/wire"
)

// quietly is for tests that cause internal errors on purpose.
func quietly(c *Config) { c.Log = slog.New(slog.DiscardHandler) }

// A connection to the database that breaks after the commit leaves a run that was given to a host and not pushed.
func TestAClaimWhoseAnswerWasLostIsPushed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		var lose atomic.Bool
		s := startWith(t, dir, store.Options{LoseAnswer: func() error {
			if lose.Swap(false) {
				return errors.New("the connection is gone")
			}
			return nil
		}}, quietly)
		w := s.newHost("h", func(n *svc.NewHost) { n.MaxRuns = ptr(0) })
		w.register(wire.Capabilities...)
		w.connect()
		w.beat()
		r := s.run()
		s.settle()
		lose.Store(true) // for the host's change
		_, err := s.UpdateHost(s.ctx, "h", svc.HostPatch{MaxRuns: &svc.MaxRunsChange{}}, nil)
		if err == nil {
			t.Fatal("the answer of a commit was not lost")
		}
		lose.Store(true) // for the claim
		s.claims.up()
		s.settle()
		if got := s.wantStatus(r, svc.RunSpawning); lose.Load() || value(got.HostID) != w.host.ID {
			t.Fatalf("the claim is not as the test wants it: %+v", got)
		}
		s.pass(2 * time.Second)
		w.wantFrames("run_dispatch 1")
		w.started(r)
		s.pass(time.Minute)
		w.wantFrames()
	})
}

// A host that is offline in the database but online in this process's memory would get no runs as long as its
// heartbeats arrived.
func TestAHostIsBackAlsoWhenTheAnswerOfItsAbsenceWasLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		var opened atomic.Pointer[store.Store]
		var lost atomic.Bool
		s := startWith(t, dir, store.Options{LoseAnswer: func() error {
			st := opened.Load()
			if st == nil || lost.Load() {
				return nil
			}
			h, err := st.Host(t.Context(), "h")
			if err == nil && h.Status == svc.HostOffline {
				lost.Store(true)
				return errors.New("the connection is gone")
			}
			return nil
		}}, quietly)
		opened.Store(s.Store)
		w := s.online("h")
		w.drop()
		s.pass(s.OfflineAfter + 5*time.Second)
		w.want(svc.HostOffline)
		if !lost.Load() {
			t.Fatal("the answer of a commit was not lost")
		}
		w.connect()
		w.beat()
		w.want(svc.HostOnline)
		w.started(s.run())
	})
}

// The orders that a reconnected host has missed are read from the database, which may not respond at that moment.
func TestAHostIsToldWhatItMissedAlsoAfterAReadThatFailed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir, quietly)
		db, err := sql.Open("sqlite", filepath.Join(dir, "svc.db"))
		s.no(err)
		defer func() { _ = db.Close() }()
		w := s.online("h")
		r := s.run()
		w.wantFrames("run_dispatch 1")
		w.drop()
		_, err = db.ExecContext(s.ctx, "ALTER TABLE runs RENAME COLUMN acked TO broken")
		s.no(err)
		w.connect()
		w.beat()
		s.pass(3 * time.Second)
		w.wantFrames()
		_, err = db.ExecContext(s.ctx, "ALTER TABLE runs RENAME COLUMN broken TO acked")
		s.no(err)
		s.pass(2 * time.Second)
		w.wantFrames("run_dispatch 1")
		w.started(r)
	})
}

func TestSessionsToEndAreToldAlsoAfterAReadThatFailed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir, quietly)
		db, err := sql.Open("sqlite", filepath.Join(dir, "svc.db"))
		s.no(err)
		defer func() { _ = db.Close() }()
		w := s.online("h")
		r := w.started(s.run())
		w.drop()
		_, err = s.StopRun(s.ctx, r.ID)
		s.no(err)
		s.settle()
		_, err = db.ExecContext(s.ctx, "ALTER TABLE runs RENAME COLUMN attempt TO broken")
		s.no(err)
		w.connect()
		w.beat()
		w.wantFrames()
		_, err = db.ExecContext(s.ctx, "ALTER TABLE runs RENAME COLUMN broken TO attempt")
		s.no(err)
		s.pass(2 * time.Second)
		w.wantFrames("run_stop 1")
		s.pass(10 * time.Second)
		w.wantFrames()
	})
}

// slowly connects a worker that waits before it confirms each dispatch and reads the next.
func (w *worker) slowly(each time.Duration) (read func() map[string]int) {
	here, there := wire.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- w.s.ServeUplink(w.s.ctx, there, Hello{}) }()
	var mu sync.Mutex
	got := map[string]int{}
	go func() {
		for {
			b, err := here.Read(context.Background())
			if err != nil {
				return
			}
			f, err := wire.DecodeDown(b)
			if err != nil {
				w.s.t.Errorf("the engine sent what is no frame: %v", err)
				return
			}
			d, ok := f.(*wire.RunDispatch)
			if !ok {
				continue
			}
			mu.Lock()
			got[d.RunID]++
			mu.Unlock()
			clocktest.Pass(each)
			w.send(wire.RunDispatchAck{RunID: d.RunID, Attempt: d.Attempt, Accepted: true})
		}
	}()
	w.conn, w.ended = here, ended
	w.s.t.Cleanup(func() { _ = here.Close("") })
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

func TestLargeDispatchesToASlowHostWaitTheirTurn(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		w.register(wire.Capabilities...)
		read := w.slowly(2 * time.Second)
		w.beat()
		w.keepBeating()
		task := s.task(s.project())
		prompt := strings.Repeat("x", 200<<10)
		const runs = 120
		for range runs {
			s.run(func(n *svc.NewRun) { n.TaskID, n.Prompt = task.ID, prompt })
		}
		s.pass(runs*2*time.Second + time.Minute)
		select {
		case err := <-w.ended:
			t.Fatalf("the connection was ended: %v", err)
		default:
		}
		got := read()
		for id, n := range got {
			if n != 1 {
				t.Errorf("run %s was pushed %d times", id, n)
			}
		}
		if len(got) != runs {
			t.Errorf("%d of %d runs were delivered", len(got), runs)
		}
		if left, err := s.Store.UnconfirmedHosts(s.ctx); err != nil || len(left) > 0 {
			t.Errorf("unconfirmed are %v (%v)", left, err)
		}
	})
}

// A host that does not confirm dispatches gets at most as many as may be unconfirmed. Further runs may be placed on
// other hosts.
func TestAHostThatDoesNotConfirmIsGivenABoundedNumberOfRuns(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		task := s.task(s.project())
		var last svc.Run
		for range 300 {
			last = s.run(func(n *svc.NewRun) { n.TaskID = task.ID })
		}
		frames := w.take()
		if len(frames) != 256 {
			t.Fatalf("%d runs were pushed, want 256", len(frames))
		}
		d, err := s.RunDetail(s.ctx, last.ID)
		s.no(err)
		if d.Status != svc.RunPending || d.Waiting.Hosts[0].Why != "unconfirmed" {
			t.Errorf("the last run is %s: %+v", d.Status, d.Waiting)
		}
		for _, f := range frames {
			d := f.(*wire.RunDispatch)
			w.send(wire.RunDispatchAck{RunID: d.RunID, Attempt: 1, Accepted: true})
		}
		s.settle()
		if rest := len(w.take()); rest != 44 {
			t.Errorf("%d more were pushed after the answers, want 44", rest)
		}
	})
}

// A run does not wait for a host that has the provider but refused the run.
func TestARefusingHostIsNotWaitedForBecauseOfItsProvider(t *testing.T) {
	bubble(t, func(s *site) {
		with, without := s.online("with"), s.online("without")
		with.send(wire.Providers{Providers: map[string]svc.ProviderReport{"special": {Available: true}}})
		s.settle()
		r := s.run(func(n *svc.NewRun) { n.Provider = "special" })
		with.wantFrames("run_dispatch 1")
		without.wantFrames()
		with.ack(r, false)
		without.wantFrames("run_dispatch 1") // so that it fails at once and the error names what is missing
	})
}

// Runs that wait for capacity cost the writer nothing.
func TestWaitingRunsCostTheWriterNothing(t *testing.T) {
	bubble(t, func(s *site) {
		for _, name := range []string{"a", "b"} {
			s.online(name, func(n *svc.NewHost) { n.MaxRuns = ptr(0) }).keepBeating()
		}
		task := s.task(s.project())
		for range 300 {
			s.run(func(n *svc.NewRun) { n.TaskID = task.ID })
		}
		s.settle()
		units := func() (n int64) {
			s.no(s.Store.Write(s.ctx, func(tx *store.Tx) error {
				n = tx.Serial
				return nil
			}))
			return n
		}
		minute := func() int64 {
			before := units()
			s.pass(time.Minute)
			return units() - before
		}
		waiting := minute()
		runs, err := s.Runs(s.ctx, svc.RunFilter{Statuses: []svc.RunStatus{svc.RunPending}}, svc.Page{Limit: 500})
		s.no(err)
		for _, r := range runs.Items {
			_, err := s.StopRun(s.ctx, r.ID)
			s.no(err)
		}
		s.settle()
		if more := waiting - minute(); len(runs.Items) != 300 || more > 15 { // the times of service, every 5 s
			t.Errorf("%d waiting runs cost %d units of work in a minute in which nothing could be placed", len(runs.Items), more)
		}
	})
}

func TestTimeWithoutAnOrchestratorIsNotHeldAgainstAWaitingRun(t *testing.T) {
	t.Parallel()
	dir, crashed := t.TempDir(), t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		r := s.run()
		s.pass(4 * time.Minute)
		s.no(store.Backup(s.ctx, "sqlite:"+filepath.Join(dir, "svc.db"), filepath.Join(crashed, "svc.db"))) // as a crash would leave it
		s.stop()
		clocktest.Pass(time.Hour)
		for _, c := range []struct {
			dir  string
			left time.Duration // at least; a crash loses some service time, which makes the timeout later
		}{{dir, time.Minute}, {crashed, time.Minute}} {
			s := start(t, c.dir)
			d, err := s.RunDetail(s.ctx, r.ID)
			s.no(err)
			left := d.Waiting.TimesOutAt.Sub(s.now())
			if d.Status != svc.RunPending || left < c.left || left > c.left+servedKeep+time.Second {
				t.Fatalf("after an hour without us the run is %s and times out in %s", d.Status, left)
			}
			s.pass(left - time.Second)
			s.wantStatus(r, svc.RunPending)
			s.pass(2 * time.Second)
			s.wantStatus(r, svc.RunFailed)
			s.stop()
		}
	})
}

// While a process is frozen, or its clock is set, no runs are placed.
func TestTimeThatNobodyWitnessedIsNotHeldAgainstAWaitingRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		s := startWith(t, dir, store.Options{Now: clock}, func(c *Config) { c.Now = clock })
		r := s.run()
		s.pass(4 * time.Minute)
		ahead.Store(int64(time.Hour))
		s.pass(50 * time.Second)
		s.wantStatus(r, svc.RunPending)
		d, err := s.RunDetail(s.ctx, r.ID)
		s.no(err)
		if left := d.Waiting.TimesOutAt.Sub(s.now()); left < 8*time.Second || left > 12*time.Second {
			t.Errorf("it times out in %s, want about 10 s", left)
		}
		s.pass(12 * time.Second)
		s.wantStatus(r, svc.RunFailed)
	})
}

// The process that ran when the clock went back may have been killed before it recorded that. The record then shows
// an hour of service that did not exist while the run waited.
func TestARunThatWasAdmittedByAClockThatWasBehindWaitsAsLongAsOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		begin := func() *site { return startWith(t, dir, store.Options{Now: clock}, func(c *Config) { c.Now = clock }) }
		s := begin()
		keeps := s.run(func(n *svc.NewRun) { n.Wait = true })
		s.pass(10 * time.Minute)
		s.stop()

		ahead.Store(int64(-time.Hour))
		st, err := store.Open(t.Context(), storetest.Fresh(t, dir), store.Options{Now: clock})
		s.no(err)
		config := s.Config
		config.Store = st
		killed, err := New(t.Context(), config)
		s.no(err)
		r, err := killed.CreateRun(t.Context(), svc.NewRun{Provider: "provider_a", TaskID: keeps.TaskID})
		s.no(err)
		s.no(st.Close())
		ahead.Store(0)

		s = begin()
		s.pass(s.DispatchTimeout - 10*time.Second)
		s.wantStatus(r, svc.RunPending)
		s.wantTopics(svc.TopicRunUpdated)
		s.pass(15 * time.Second)
		s.wantStatus(r, svc.RunFailed)
		s.wantStatus(keeps, svc.RunPending)
	})
}
