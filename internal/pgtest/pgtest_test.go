package pgtest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"svc/internal/pgtest"
	"svc/internal/waittest"
)

// child is the variable that makes the test binary print the URL of a database and then end, or wait until it is
// killed.
const child = "PGTEST_CHILD"

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m))
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func query[T any](t *testing.T, conn *pgx.Conn, sql string) (v T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func TestEveryTestHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	one, two := connect(t, pgtest.Start(t)), connect(t, pgtest.Start(t))
	if _, err := one.Exec(t.Context(), "CREATE TABLE here (n int)"); err != nil {
		t.Fatal(err)
	}
	if query[bool](t, two, "SELECT to_regclass('here') IS NOT NULL") {
		t.Error("a table of one database is seen in another")
	}
}

func TestTheDatabaseIsDroppedAlthoughSomeoneIsConnected(t *testing.T) {
	t.Parallel()
	watch := connect(t, pgtest.Start(t))
	var name string
	t.Run("user", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), pgtest.Start(t))
		if err != nil {
			t.Fatal(err)
		}
		name = query[string](t, conn, "SELECT current_database()")
		// The connection is left open on purpose.
	})
	if query[int](t, watch, "SELECT count(*) FROM pg_database WHERE datname = '"+name+"'") != 0 {
		t.Errorf("database %s is still there", name)
	}
}

func TestCommitsAreWrittenBeforeTheyAreAcknowledged(t *testing.T) {
	t.Parallel()
	if os.Getenv(pgtest.Env) != "" {
		t.Log("the server of the environment is its owner's; only the private one is promised to do so")
		return
	}
	conn := connect(t, pgtest.Start(t))
	if got := query[string](t, conn, "SHOW synchronous_commit"); got != "on" {
		t.Errorf("synchronous_commit is %s, want on", got)
	}
}

func TestTextDoesNotSortByByteUnlessAsked(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Start(t))
	if query[int](t, conn, "SELECT current_setting('server_version_num')::int") < 150000 {
		t.Log("before PostgreSQL 15 a database's collation is the system's; nothing is promised")
		return
	}
	if !query[bool](t, conn, "SELECT 'a'::text < 'B'::text") {
		t.Error("'a' sorts after 'B': the collation hides queries that rely on byte order")
	}
	if query[bool](t, conn, `SELECT 'a'::text COLLATE "C" < 'B'::text COLLATE "C"`) {
		t.Error(`'a' sorts before 'B' under COLLATE "C"`)
	}
}

// TestAServerDiesWithItsProcess kills a test process with SIGKILL and waits until its server and its
// directory are gone.
func TestAServerDiesWithItsProcess(t *testing.T) {
	if os.Getenv(child) != "" {
		fmt.Println("dsn:" + pgtest.Start(t))
		select {} // until the parent kills us
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestAServerDiesWithItsProcess$")
	cmd.Env = append(os.Environ(), child+"=1", pgtest.Env+"=")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dsn := awaitLine(t, bufio.NewScanner(out), "dsn:")
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	postmaster := pidOf(t, config.Host)

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed

	waittest.Eventually(t, "the directory is removed", func() bool {
		_, err := os.Stat(config.Host)
		return errors.Is(err, fs.ErrNotExist)
	})
	waittest.Eventually(t, "the server is gone", func() bool { return !alive(postmaster) })
}

// TestTheServerOfTheEnvironmentIsUsed points a second test process at the server of this one.
func TestTheServerOfTheEnvironmentIsUsed(t *testing.T) {
	if os.Getenv(child) != "" {
		fmt.Println("dsn:" + pgtest.Start(t))
		return
	}
	t.Parallel()
	dsn := pgtest.Start(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheServerOfTheEnvironmentIsUsed$")
	cmd.Env = append(os.Environ(), child+"=1", pgtest.Env+"="+dsn)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	ours, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := pgx.ParseConfig(awaitLine(t, bufio.NewScanner(bytes.NewReader(said)), "dsn:"))
	if err != nil {
		t.Fatal(err)
	}
	if theirs.Host != ours.Host || theirs.Database == ours.Database {
		t.Errorf("got database %s on %s, want a new one on %s", theirs.Database, theirs.Host, ours.Host)
	}
	if query[int](t, connect(t, dsn), "SELECT count(*) FROM pg_database WHERE datname = '"+theirs.Database+"'") != 0 {
		t.Errorf("database %s is still there", theirs.Database)
	}
}

func awaitLine(t *testing.T, lines *bufio.Scanner, prefix string) string {
	t.Helper()
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
			return rest
		}
	}
	t.Fatalf("the process ended without a line %q", prefix)
	return ""
}
