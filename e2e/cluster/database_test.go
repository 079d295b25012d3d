package cluster

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"svc"
	"svc/internal/pgtest"
	"svc/internal/proctest"
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
	}
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
	proctest.Eventually(s.t, proctest.Patience, "the database answers", func() bool { return db.Answers(s.t.Context()) })
	back := time.Now()
	s.create(mark+" first", func(ctx context.Context) (string, error) { return s.item(ctx, s.client, mark+" first", nil) })
	s.took("the first write after the database is back", time.Since(back), 3*time.Second)
	s.awaitAllReady()
	during := s.run(mark+" during", "echo during")
	s.awaitEnd(during)
	s.answer(mark, before, "hello")
	s.awaitEnd(before)
	stop()
}
