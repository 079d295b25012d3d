package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"svc"
)

// ownFile makes the database's file readable only for its owner, because it has
// prompts and environments. SQLite uses the same mode for its other files. Call
// it before SQLite opens the file: closing a file releases all locks that the
// process has on it.
func ownFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the database's file: %w", err)
	}
	err = f.Chmod(0o600)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("restrict the permissions of the database's file: %w", err)
	}
	return nil
}

// holdFile locks the database for this process. The kernel releases the lock when
// the process ends, however it ends. The file names the process that holds it.
func holdFile(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the database: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer func() { _ = f.Close() }()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		who, _ := os.ReadFile(path)
		return nil, svc.Errorf(svc.CodeConflict, "another orchestrator holds this data dir: %s (%s)",
			strings.TrimSpace(string(who)), path)
	}
	host, _ := os.Hostname()
	line := fmt.Sprintf("pid %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(line), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close, nil
}

// sessionLock is the advisory lock that orchestrators of versions before leases
// hold. While such an orchestrator runs, the schema must not be changed.
const sessionLock = 7898_0001

func refuseSessionLock(ctx context.Context, db *sql.DB) error {
	var who string
	err := db.QueryRowContext(ctx, `SELECT 'backend ' || a.pid || ' from ' || coalesce(host(a.client_addr), 'a local socket') || ' since ' || a.backend_start
		FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
		WHERE l.locktype = 'advisory' AND l.objid = $1 AND l.granted LIMIT 1`, sessionLock).Scan(&who)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look for an older orchestrator: %w", err)
	}
	return svc.Errorf(svc.CodeConflict, "another orchestrator, of an older version, serves this database: %s", who)
}
