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

// holdFile claims the database for this process by a lock that the kernel
// gives up when the process ends, however it ends. The file says who holds it.
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

// orchestratorLock is the advisory lock that stands for "an orchestrator serves
// this database". The number is arbitrary and ours.
const orchestratorLock = 7898_0001

// holdPatience is how long a claim waits for the one before it: the server
// takes a moment to notice that an orchestrator was killed.
const holdPatience = 5 * time.Second

// lockPostgres tries until it has the lock or the patience is over.
func lockPostgres(ctx context.Context, conn *sql.Conn) (free bool, err error) {
	for deadline := time.Now().Add(holdPatience); ; {
		err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", orchestratorLock).Scan(&free)
		if err != nil || free || time.Now().After(deadline) {
			return free, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// holdPostgres claims a PostgreSQL database by a lock that the server gives up
// with the connection.
func holdPostgres(ctx context.Context, db *sql.DB) (release func() error, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	free, err := lockPostgres(ctx, conn)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("lock the database: %w", err)
	}
	if free {
		return conn.Close, nil
	}
	defer func() { _ = conn.Close() }()
	who := "unknown"
	_ = conn.QueryRowContext(ctx, `SELECT 'backend ' || a.pid || ' from ' || coalesce(host(a.client_addr), 'a local socket') || ' since ' || a.backend_start
		FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.objid = $1 AND l.granted LIMIT 1`, orchestratorLock).Scan(&who)
	return nil, svc.Errorf(svc.CodeConflict, "another orchestrator serves this database: %s", who)
}
