package pgtest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"svc/internal/pgtest"
)

func TestATemplateIsFilledOnceAndEachTestHasACopy(t *testing.T) {
	t.Parallel()
	var filled atomic.Int32
	template := pgtest.Template{Fill: func(dsn string) error {
		filled.Add(1)
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.Background()) }()
		_, err = conn.Exec(context.Background(), "CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('once')")
		return err
	}}
	for range 2 {
		conn := connect(t, template.Start(t))
		if got := query[int](t, conn, "SELECT count(*) FROM words"); got != 1 {
			t.Errorf("a copy has %d rows, want 1", got)
		}
		if _, err := conn.Exec(t.Context(), "INSERT INTO words VALUES ('again')"); err != nil {
			t.Fatal(err)
		}
	}
	if n := filled.Load(); n != 1 {
		t.Errorf("it was filled %d times", n)
	}
}
