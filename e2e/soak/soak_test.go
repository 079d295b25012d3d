package soak

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/waittest"
)

// TestSoak is not parallel: two soaks at the same time would overload two cores.
func TestSoak(t *testing.T) { //nolint:paralleltest // see above
	set := readSettings(t)
	for _, kind := range set.kinds {
		t.Run(kind, func(t *testing.T) { soak(t, set, kind) })
	}
}

func soak(t *testing.T, set settings, kind string) {
	t.Logf("seed %d (SVC_SOAK_SEED), %v of faults on %s", set.seed, set.duration, kind)
	s := newSite(t, kind, set.long && useWrongClock(t))
	began := time.Now()
	ctx, stop := context.WithCancel(t.Context())
	var watching, working sync.WaitGroup
	watching.Go(func() { s.watch(ctx) })
	watching.Go(func() { s.index(ctx) })
	wctx, stopWork := context.WithCancel(ctx)
	var clients []*client
	for i := range 2 {
		c := s.newClient(fmt.Sprintf("c%d", i+1), set.seed+uint64(i))
		clients = append(clients, c)
		working.Go(func() { c.work(wctx) })
	}
	faults := &schedule{s: s, seed: set.seed, pace: 1500 * time.Millisecond}
	faults.run(set.duration)
	stopWork()
	s.recover(faults)
	working.Wait()
	for _, c := range clients {
		c.settle()
	}
	s.settle()
	s.answering.Wait()
	stop()
	watching.Wait()
	v := s.gather()
	t.Logf("settled after %v", time.Since(began).Round(time.Second))
	found := judge(v)
	for _, f := range found {
		t.Errorf("VIOLATION %s", f)
	}
	s.report(v, found)
	s.keep(faults.faultLog)
}

// keep copies the logs of the processes, the agents' notes and the log of faults to the folder
// SVC_SOAK_KEEP if the test has failed.
func (s *site) keep(diary []byte) {
	dir := os.Getenv("SVC_SOAK_KEEP")
	if dir == "" || !s.t.Failed() {
		return
	}
	s.lab.Write(filepath.Join(s.lab.Dir, "log", "faults"), string(diary))
	for _, name := range []string{"log", "truth"} {
		if err := os.CopyFS(filepath.Join(dir, path.Base(s.t.Name()), name), os.DirFS(filepath.Join(s.lab.Dir, name))); err != nil {
			s.t.Error(err)
		}
	}
}

// recover waits until the database and each orchestrator are ready again.
func (s *site) recover(faults *schedule) {
	s.t.Helper()
	if s.cluster != nil {
		waittest.Eventually(s.t, "the database answers", func() bool { return s.cluster.Answers(s.t.Context()) })
	}
	faults.supervise()
	for _, o := range s.all {
		o.AwaitReady()
	}
}

// report prints the figures of a soak.
func (s *site) report(v *evidence, found []violation) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs, %d attempts that started, %d events, %d acknowledged writes\n", len(v.Runs), len(v.Truth), len(v.Journal), len(v.Ledger))
	var names []string
	faults := 0
	for name, n := range s.figures {
		names = append(names, name)
		if strings.HasPrefix(name, "fault: ") {
			faults += n
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%6d  %s\n", s.figures[name], name)
	}
	fmt.Fprintf(&b, "%6d  faults\n", faults)
	broken := map[string]int{}
	for _, f := range found {
		broken[f.rule]++
	}
	for _, r := range rules {
		fmt.Fprintf(&b, "%6d  violations: %s\n", broken[r.name], r.name)
	}
	fmt.Fprintf(&b, "%6d  violations", len(found))
	s.t.Log(b.String())
}
