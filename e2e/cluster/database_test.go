package cluster

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"svc"
	"svc/internal/pgtest"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

func TestFailuresOfTheDatabase(t *testing.T) {
	t.Parallel()
	db := pgtest.NewCluster(t)
	s := newSite(t, 2, db.DSN)
	failures := []struct {
		name       string
		begin, end func()
	}{
		{"killed", db.Crash, db.Launch},
		{"frozen", db.Freeze, db.Thaw},
	}
	if proctest.Long() {
		failures = append(failures, struct {
			name       string
			begin, end func()
		}{"restarted", db.Stop, db.Launch})
	}
	for round := range rounds() {
		for _, f := range failures {
			mark := fmt.Sprintf("%s %d", f.name, round+1)
			if !s.in(t, mark, func() { s.withoutDatabase(db, mark, f.begin, f.end) }) {
				return
			}
		}
		mark := fmt.Sprintf("slow %d", round+1)
		if !s.in(t, mark, func() { s.slowly(mark) }) {
			return
		}
	}
}

// slowly delays each round trip of all orchestrators to the database. The renewals of leases still meet their limits:
// no request fails, the leader keeps its term, and no orchestrator is listed as gone.
func (s *site) slowly(mark string) {
	s.t.Helper()
	trip := 100 * time.Millisecond
	if proctest.Long() {
		trip = 300 * time.Millisecond
	}
	before := s.run(mark+" before", talker)
	s.await(before, svc.TopicRunStarted)
	led := s.term()
	for _, link := range s.links {
		link.Delay(trip)
		defer link.Delay(0)
	}
	began := time.Now()
	stop := s.load(mark, true)
	defer stop()
	during := s.run(mark+" during", "echo during")
	s.answer(mark, before, "hello")
	s.t.Logf("with %v for a round trip, a run starts after %v", trip, s.await(during, svc.TopicRunStarted).Came.Sub(began).Round(10*time.Millisecond))
	s.awaitEnd(during)
	s.awaitEnd(before)
	if least := time.Since(began); least < 6*time.Second { // longer than each lease and each limit for a missing heartbeat
		proctest.Pause(6*time.Second - least)
	}
	list, err := s.client.Replicas(s.t.Context(), svc.Page{Limit: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, o := range s.m.All {
		s.awaitState(o, http.StatusOK) // possibly not at once: the readiness check fails if its write takes three seconds
		if r := s.replica(o, list.Items); r.State != svc.ReplicaReady {
			s.t.Errorf("%s is listed as %q", o.Name(), r.State)
		}
	}
	if now := s.term(); now != led {
		s.t.Errorf("the leader's term changed from %d to %d", led, now)
	}
	stop()
}

// term returns the number of the leader's term (its epoch).
func (s *site) term() (n int64) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close(s.t.Context()) }()
	if err := conn.QueryRow(s.t.Context(), "SELECT epoch FROM journal WHERE id = 1").Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// replica returns the entry of an orchestrator in the list. The zero value: the orchestrator is not listed.
func (s *site) replica(o *proctest.Orchestrator, listed []svc.Replica) (found svc.Replica) {
	address := strings.TrimPrefix(s.m.Peers[s.index(o)].URL, "http://")
	for _, r := range listed {
		if r.Address == address && r.State != svc.ReplicaGone || r.Address == address && found.ID == "" {
			found = r
		}
	}
	return found
}

func (s *site) withoutDatabase(db *pgtest.Cluster, mark string, begin, end func()) {
	s.t.Helper()
	before := s.run(mark+" before", talker)
	s.await(before, svc.TopicRunStarted)
	stop := s.load(mark, false)
	defer stop()
	begin()
	s.awaitAnswers("/readyz", http.StatusServiceUnavailable, svc.CodeUnavailable, s.m.All...)
	s.awaitAnswers("/api/v1/projects", http.StatusServiceUnavailable, svc.CodeUnavailable, s.m.All...)
	end()
	waittest.Eventually(s.t, "the database answers", func() bool { return db.Answers(s.t.Context()) })
	back := time.Now()
	s.create(mark+" first", func(ctx context.Context) (string, error) { return s.item(ctx, s.client, mark+" first", nil) })
	s.logDuration("the first write after the database is back", time.Since(back), 3*time.Second)
	s.awaitAllReady()
	during := s.run(mark+" during", "echo during")
	s.awaitEnd(during)
	s.answer(mark, before, "hello")
	s.awaitEnd(before)
	stop()
}
