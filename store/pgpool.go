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

// connectLimit is the timeout for opening a connection, including its settings.
const connectLimit = 5 * time.Second

// sessionSettings are the settings of each connection. JIT is off: queries take a
// millisecond, and where the planner overestimates the cost, as with recursive
// queries, compiling took a hundred. random_page_cost is low because index pages
// are in memory or on an SSD. The timeouts release the locks of a process that
// froze or lost its network. A wait for a lock must end before the statement's
// own limit, because that limit costs the connection.
const sessionSettings = `SET jit = off; SET random_page_cost = 1.1; SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '2s'; SET tcp_user_timeout = '5s'`

// writerSettings are the additional settings of the writer's connections. The
// rows that a unit needs must always be found by an index: a new table may look
// small to the planner, which does not count its dead rows.
const writerSettings = `; SET enable_seqscan = off`

// sockets are the open connections of a store to PostgreSQL. Closing them ends
// every wait for a server that does not answer.
type sockets struct {
	mu     sync.Mutex // guards the rest
	open   map[net.Conn]struct{}
	closed bool
}

// cut closes every connection. After that no new one can be opened.
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

// Close closes the connection and removes it from the set of open ones.
func (c *socket) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c.Conn)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// openPostgres creates a pool. It does not open a connection yet.
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
