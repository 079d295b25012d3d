package pgtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"svc/internal/pgtest"
	"svc/internal/waittest"
)

func TestAClusterKeepsWhatWasCommittedOverACrashAndAFreeze(t *testing.T) {
	t.Parallel()
	c := pgtest.NewCluster(t)
	if _, err := connect(t, c.DSN).Exec(t.Context(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	c.Crash()
	if c.Answers(t.Context()) {
		t.Error("a server that was ended answers")
	}
	c.Launch()
	waittest.Eventually(t, "the server answers again", func() bool { return c.Answers(t.Context()) })
	conn := connect(t, c.DSN)
	if got := query[int](t, conn, "SELECT n FROM kept"); got != 7 {
		t.Errorf("the committed row is %d", got)
	}
	c.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(ctx, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a frozen server: %v", err)
	}
	c.Thaw()
	waittest.Eventually(t, "the server answers again", func() bool { return c.Answers(t.Context()) })
	c.Stop()
}
