package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/internal/pgtest"
	"svc/internal/waittest"
	"svc/store"
	"svc/store/storetest"
)

// member returns an orchestrator that shares a database, with the same secrets as the others.
func member(address string) store.Member {
	return store.Member{ID: svc.NewID(), Address: address, Version: "v1", KeyPrint: "key", TokenPrint: "tokens"}
}

func join(t *testing.T, dsn string, m store.Member) *store.Registry {
	t.Helper()
	r, err := store.Join(t.Context(), dsn, m, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// lead opens a store for a member, and waits until the member leads.
func lead(t *testing.T, dsn string, m store.Member) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dsn, store.Options{Exclusive: true, Replica: m.ID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestMembersLeadInTurns(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	a, b := member("a:1"), member("b:1")
	ra, rb := join(t, dsn, a), join(t, dsn, b)
	if term, err := rb.Look(t.Context()); err != nil || term.Replica != "" {
		t.Fatalf("before anyone leads: %+v, %v", term, err)
	}
	first := lead(t, dsn, a)
	writeUntil(t, first)
	term, err := rb.Look(t.Context())
	if err != nil || term.Replica != a.ID || term.Address != a.Address {
		t.Fatalf("while the first leads: %+v, %v", term, err)
	}
	waiting := make(chan *store.Store)
	go func() {
		s, err := store.Open(context.WithoutCancel(t.Context()), dsn, store.Options{Exclusive: true, Replica: b.ID})
		if err != nil {
			t.Error(err)
		}
		waiting <- s
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := <-waiting
	defer func() { _ = second.Close() }()
	writeUntil(t, second)
	next, err := ra.Look(t.Context())
	if err != nil || next.Replica != b.ID || next.Epoch <= term.Epoch {
		t.Errorf("while the second leads: %+v after %+v, %v", next, term, err)
	}
}

func TestALeaderWithoutTheDatabaseLeadsNoMoreUntilItIsBack(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	link, through := pgtest.NewLink(t, dsn)
	a := member("a:1")
	join(t, dsn, a)
	s := lead(t, through, a)
	link.Set(pgtest.Refuses)
	link.Cut()
	select {
	case <-s.Lost():
	case <-time.After(waittest.Patience):
		t.Fatal("it still leads")
	}
	if err := s.LostError(); svc.CauseOf(err) != svc.CauseDatabaseUnreachable {
		t.Errorf("it lost the lead because of %v", err)
	}
	if err := s.Write(t.Context(), journalOne); svc.CodeOf(err) != svc.CodeUnavailable {
		t.Errorf("a write then: %v", err)
	}
	link.Set(pgtest.Works)
	_ = s.Close()
	writeUntil(t, lead(t, through, a))
}

func TestNobodyServesADatabaseAloneBesideMembersNorTheOtherWayRound(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	alone := openExclusive(t, dsn)
	if _, err := store.Join(t.Context(), dsn, member("a:1"), slog.Default()); svc.CodeOf(err) != svc.CodeConflict || !strings.Contains(err.Error(), "alone") {
		t.Errorf("a member beside one that serves alone was told: %v", err)
	}
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	r := join(t, dsn, member("a:1")) // the member does not lead
	beats, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for beats.Err() == nil {
			_, _ = r.Beat(beats, 0)
			select {
			case <-beats.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	_, err := store.Open(t.Context(), dsn, store.Options{Exclusive: true})
	if svc.CodeOf(err) != svc.CodeConflict || !strings.Contains(err.Error(), "a:1") {
		t.Errorf("one that wants to serve alone beside a member was told: %v", err)
	}
	stop()
	<-done
	if err := r.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	writeUntil(t, openExclusive(t, dsn))
}

func TestAMemberWithOtherSecretsIsRefused(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	r := join(t, dsn, member("a:1"))
	for want, change := range map[string]func(*store.Member){
		"SVC_SIGNING_KEY": func(m *store.Member) { m.KeyPrint = "another" },
		"SVC_TOKEN":       func(m *store.Member) { m.TokenPrint = "others" },
	} {
		if _, err := r.Beat(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		m := member("b:1")
		change(&m)
		_, err := store.Join(t.Context(), dsn, m, slog.Default())
		if svc.CodeOf(err) != svc.CodeConflict || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a:1") {
			t.Errorf("it was told: %v", err)
		}
	}
}

func TestABeatTellsWhatAMemberShouldDo(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	a, b := member("a:1"), member("b:1")
	ra, rb := join(t, dsn, a), join(t, dsn, b)
	s := lead(t, dsn, a)
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		_, _, err := tx.DrainReplica(t.Context(), b.ID)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for r, drains := range map[*store.Registry]bool{ra: false, rb: true} {
		got, err := r.Beat(t.Context(), 7)
		if err != nil || got.Draining != drains || got.Term.Replica != a.ID || got.ClockAhead.Abs() > time.Second {
			t.Errorf("a beat: %+v, %v", got, err)
		}
	}
	if err := rb.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := s.Replicas(t.Context(), svc.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Items {
		want := svc.Replica{ID: a.ID, Address: "a:1", State: svc.ReplicaReady, Uplinks: 7}
		if r.ID == b.ID {
			want = svc.Replica{ID: b.ID, Address: "b:1", State: svc.ReplicaGone}
		}
		want.Version, want.Since, want.LastSeenAt = "v1", r.Since, r.LastSeenAt
		if r != want {
			t.Errorf("listed is %+v, want %+v", r, want)
		}
	}
}

func TestABeatIsOneTripToASlowDatabase(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	link, through := pgtest.NewLink(t, dsn)
	silent := join(t, dsn, member("a:1"))
	r := join(t, through, member("b:1"))
	if _, err := r.Beat(t.Context(), 0); err != nil { // opens the connection before the link is slow
		t.Fatal(err)
	}
	link.Delay(600 * time.Millisecond)
	for range 2 {
		if s, err := r.Beat(t.Context(), 3); err != nil || s.Draining {
			t.Errorf("a beat: %+v, %v", s, err)
		}
	}
	link.Delay(0)
	if _, err := silent.Beat(t.Context(), 0); err != nil {
		t.Errorf("a beat of another one: %v", err)
	}
}

func TestABeatFindsOthersThatAreGoneAndForgetsThemAfterADay(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	alive, silent, old := member("alive:1"), member("silent:1"), member("old:1")
	r := join(t, dsn, alive)
	back := join(t, dsn, silent)
	join(t, dsn, old)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), `UPDATE replicas SET uplinks = 4, last_seen_at = last_seen_at - CASE WHEN id = $1 THEN 25 * 3600 * 1000 ELSE 6000 END,
		state = CASE WHEN id = $1 THEN 'gone' ELSE state END`, old.ID); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		r    *store.Registry
		want string
	}{
		{r, "alive:1 ready 1, silent:1 gone 0"},
		{back, "alive:1 ready 1, silent:1 ready 1"},
	} {
		if _, err := step.r.Beat(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		var got string
		err := db.QueryRowContext(t.Context(), "SELECT string_agg(address || ' ' || state || ' ' || uplinks, ', ' ORDER BY address) FROM replicas").Scan(&got)
		if err != nil || got != step.want {
			t.Errorf("listed are %s, want %s: %v", got, step.want, err)
		}
	}
}

func TestDifferencesBetweenMembersAreFound(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	a, b := member("a:1"), member("b:1")
	join(t, dsn, a)
	s := lead(t, dsn, a)
	want := func(want store.Differences) {
		t.Helper()
		if got, err := s.Differences(t.Context()); err != nil || got != want {
			t.Errorf("they differ in %+v, want %+v: %v", got, want, err)
		}
	}
	want(store.Differences{})
	b.Version, b.ConfigPrint = "v2", "other"
	r := join(t, dsn, b)
	want(store.Differences{Versions: true, Settings: true})
	if err := r.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(store.Differences{})
}

func TestMembersThatWereAllSilentDoNotLockEachOtherOut(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	var all []*store.Registry
	for i := range 6 {
		all = append(all, join(t, dsn, member(fmt.Sprintf("m%d:1", i))))
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for range 20 {
		if _, err := db.ExecContext(t.Context(), "UPDATE replicas SET state = 'ready', last_seen_at = last_seen_at - 60000"); err != nil {
			t.Fatal(err)
		}
		var beats errgroup.Group
		for _, r := range all {
			beats.Go(func() error { _, err := r.Beat(t.Context(), 0); return err })
		}
		if err := beats.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
