package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/internal/pgtest"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

func TestAnsweredWritesSurviveEveryCrashOfTheOrchestratorExactlyOnce(t *testing.T) {
	t.Parallel()
	crashLoop(t, proctest.ServeOptions{}, shortOrLong(20, 200))
}

func TestAnsweredWritesSurviveEveryCrashOfTheOrchestratorExactlyOnceOnPostgreSQL(t *testing.T) {
	t.Parallel()
	crashLoop(t, proctest.ServeOptions{Database: pgtest.Start(t)}, shortOrLong(6, 60))
}

// crashLoop kills the orchestrator again and again while writers send requests. A request without a
// response is repeated with the same idempotency key until it is answered.
func crashLoop(t *testing.T, options proctest.ServeOptions, rounds int) {
	lab := proctest.NewLab(t)
	// There is no host. The runs must wait during the whole test: a dispatch timeout would add events to the journal.
	options.Config = "[runs]\ndispatch_timeout = \"2h\"\n"
	o := proctest.NewOrchestrator(lab, options)
	o.Start()
	follower := o.Follow()
	ledger := &ledger{}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for i := range 6 {
		w := &writer{client: o.Client(), ledger: ledger, name: fmt.Sprintf("w%d", i), random: rand.New(rand.NewPCG(uint64(i), 7))}
		writers.Go(func() { w.work(ctx) })
	}
	for round := range rounds {
		answered := ledger.len()
		// The crash happens at a random moment: immediately after the start, or during the load.
		waittest.Eventually(t, "writes are answered again", func() bool { return ledger.len() > answered+rand.IntN(60) })
		o.Kill()
		o.Start()
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
		ledger.check(t, o.Client(), follower)
	}
	stop()
	writers.Wait()
	ledger.check(t, o.Client(), follower)
	ledger.checkNothingElse(t, follower)
	checkJournal(t, o, follower)
	if follower.Resumed < rounds {
		t.Errorf("the stream was resumed %d times in %d rounds", follower.Resumed, rounds)
	}
	t.Logf("%d answered writes, %d events, %d crashes", ledger.len(), len(follower.Events()), rounds)
}

// checkJournal compares the listed journal with the events of the stream.
func checkJournal(t *testing.T, o *proctest.Orchestrator, f *proctest.Follower) {
	t.Helper()
	var listed []svc.Event
	for e, err := range o.Client().AllEvents(t.Context(), svc.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, e)
	}
	f.Await(waittest.Patience, "the stream has sent the whole journal", func(events []proctest.Event) bool { return len(events) >= len(listed) })
	events := f.Events()
	for i, e := range listed { // newest first
		want := int64(len(listed) - i)
		if e.Seq != want {
			t.Fatalf("the journal lists seq %d, want %d", e.Seq, want)
		}
		if told := events[want-1]; told.Topic != e.Topic {
			t.Fatalf("seq %d is %s in the journal and was %s in the stream", want, e.Topic, told.Topic)
		}
	}
}

const retryPause = 5 * time.Millisecond
