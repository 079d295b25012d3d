// Package pgtest gives tests a real PostgreSQL database each.
//
// If the environment variable SVC_TEST_POSTGRES is set to a postgres:// URL, databases are created on
// that server, whose role must be allowed to create them. Otherwise the first call in a test process
// starts a private server: a fresh cluster in a temporary directory that listens on a Unix socket
// there and on no network address. A commit is written before it is acknowledged, as in production, but not synced
// to disk: tests kill processes, never the machine, and written data survives the end of a process. In a
// program that is no test, such as a benchmark, commits are synced too.
//
// The databases sort text as English readers do (ICU en-US) wherever the server can, not by byte:
// a query that relies on byte order without COLLATE "C" then fails in a test, before it fails for a user.
//
// A package that uses it needs this TestMain, which stops the server before the process ends:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"svc/internal/waittest"
)

// Env is the name of the variable with the URL of a running server, which the tests use instead of a private one.
const Env = "SVC_TEST_POSTGRES"

// private is the server of this test process; nil until a test asked for a database.
var private struct {
	sync.Mutex
	server *server
	err    error // why it could not be started; kept so that every later test fails at once with it
}

// Main runs the tests of m, stops the private server if one was started, and returns the exit code for os.Exit. When
// the process ends in another way (panic, kill -9, timeout), its server ends too, a moment later.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	private.Lock()
	defer private.Unlock()
	if private.server == nil {
		for _, do := range atEnd.drop {
			if err := do(); err != nil {
				fmt.Fprintln(os.Stderr, "pgtest:", err)
				code = max(code, 1)
			}
		}
		return code
	}
	if err := private.server.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = max(code, 1)
	}
	private.server = nil
	return code
}

// Tests runs the tests of M with Main, for a caller that expects a Run method.
type Tests struct{ M interface{ Run() int } }

// Run calls Main.
func (t Tests) Run() int { return Main(t.M) }

// Start creates an empty database for the test and returns its postgres:// URL. At the end of the test the database
// is dropped, even when there are still connections to it. Without PostgreSQL the test fails; it is never skipped.
func Start(tb testing.TB) (dsn string) {
	tb.Helper()
	return start(tb, createEmpty)
}

// Template is a database that is filled once in a test process and then copied, because copying tables is faster than
// creating them.
type Template struct {
	// Fill makes the content of the database. When it returns, there must be no connection to the database.
	Fill func(dsn string) error

	once sync.Once
	name string
	err  error
}

// Start is like [Start], but the database is a copy of the template.
func (p *Template) Start(tb testing.TB) (dsn string) {
	tb.Helper()
	return start(tb, func(admin *url.URL, name string) error {
		p.once.Do(func() { p.name, p.err = p.make(admin) })
		if p.err != nil {
			return p.err
		}
		return execute(admin, "CREATE DATABASE "+name+" TEMPLATE "+p.name)
	})
}

// make makes and fills the template. A private server is removed as a whole; on the server of the environment, [Main]
// drops the template after the last test of the process.
func (p *Template) make(admin *url.URL) (name string, err error) {
	name = newName()
	if err := createEmpty(admin, name); err != nil {
		return "", err
	}
	atEnd.Lock()
	defer atEnd.Unlock()
	atEnd.drop = append(atEnd.drop, func() error { return drop(admin, name) })
	return name, p.Fill(within(admin, name))
}

// atEnd has what Main drops from the server of the environment.
var atEnd struct {
	sync.Mutex
	drop []func() error
}

// start makes a database for the test and drops it at the end of the test.
func start(tb testing.TB, create func(admin *url.URL, name string) error) (dsn string) {
	tb.Helper()
	admin, err := adminURL()
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	name := newName()
	if err := create(admin, name); err != nil {
		tb.Fatalf("pgtest: create database: %v", err)
	}
	tb.Cleanup(func() {
		if err := drop(admin, name); err != nil {
			tb.Errorf("pgtest: drop database: %v", err)
		}
	})
	return within(admin, name)
}

func newName() string { return "svc_test_" + strings.ToLower(rand.Text()) }

func drop(admin *url.URL, name string) error {
	return execute(admin, "DROP DATABASE "+name+" WITH (FORCE)")
}

// within returns the URL of a database on a server.
func within(admin *url.URL, name string) string {
	own := *admin
	own.Path = "/" + name
	return own.String()
}

// adminURL returns the server on which databases are created: the one of the environment, or the private one, which
// the first call starts.
func adminURL() (*url.URL, error) {
	if given := os.Getenv(Env); given != "" {
		return parseURL(given)
	}
	private.Lock()
	defer private.Unlock()
	if private.server == nil && private.err == nil {
		private.server, private.err = startServer()
	}
	if private.err != nil {
		return nil, private.err
	}
	return private.server.url(), nil
}

// parseURL parses a URL. Its errors never have the URL in them, because it may have a password.
func parseURL(dsn string) (*url.URL, error) {
	u, err := url.Parse(dsn)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return nil, fmt.Errorf("%s is not a postgres:// URL", Env)
	}
	return u, nil
}

// createEmpty creates a database from template0, the only template that allows another collation.
func createEmpty(admin *url.URL, name string) error {
	statement := "CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8'"
	icu, err := hasICU(admin)
	if err != nil {
		return err
	}
	if icu {
		statement += " LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LC_COLLATE 'C' LC_CTYPE 'C'"
	}
	return execute(admin, statement)
}

// hasICU reports whether a database can have ICU as its default: since PostgreSQL 15, unless the server was built
// without it.
func hasICU(admin *url.URL) (ok bool, err error) {
	err = connected(admin, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int >= 150000
			AND EXISTS (SELECT 1 FROM pg_collation WHERE collprovider = 'i')`).Scan(&ok)
	})
	return ok, err
}

func execute(admin *url.URL, statement string) error {
	return connected(admin, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

// connected calls do with a new connection. It does not use the test's context, which has ended by the time that a
// database is dropped.
func connected(admin *url.URL, do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, admin.String())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return do(ctx, conn)
}
