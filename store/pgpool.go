package store

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connectLimit bounds the wait for a new connection, its settings included.
const connectLimit = 5 * time.Second

// sessionSettings is what each connection begins with. Nothing of ours is worth
// compiling: queries take a millisecond, and where the planner overrates one,
// as it does each recursion, compiling it took a hundred. A process that froze,
// or whose network is gone, must not keep rows locked; and a wait for a lock
// ends before the statement's own limit, which costs the connection. A page of
// an index is in memory or on an SSD.
const sessionSettings = `SET jit = off; SET random_page_cost = 1.1; SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '2s'; SET tcp_user_timeout = '5s'`

// writerSettings is what the writer's connections have besides: whatever a unit
// needs it finds by an index, though a young table may look small to a planner
// that does not count its dead rows.
const writerSettings = `; SET enable_seqscan = off`

// sockets is the open connections of a store to PostgreSQL. Cutting them ends
// every wait for a server that does not answer.
type sockets struct {
	mu     sync.Mutex // guards the rest
	open   map[net.Conn]struct{}
	closed bool
}

// cut closes every connection and lets no new one be made.
func (s *sockets) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.open {
		_ = c.Close()
	}
	clear(s.open)
}

func (s *sockets) add(c net.Conn) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	s.open[c] = struct{}{}
	return &socket{Conn: c, of: s}, nil
}

type socket struct {
	net.Conn
	of *sockets
}

// Close closes the connection and forgets it.
func (c *socket) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c.Conn)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// openPostgres opens a pool. Nothing is connected yet.
func openPostgres(dsn, settings string, all *sockets) (*sql.DB, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectLimit
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return all.add(c)
	}
	return stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, connectLimit)
		defer cancel()
		_, err := conn.PgConn().Exec(ctx, settings).ReadAll()
		return err
	})), nil
}
