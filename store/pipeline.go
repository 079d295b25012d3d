package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"svc"
)

// statement is one of several statements that are sent together.
type statement struct {
	sql  string
	args []any
	rows int64                   // how many rows it must change; anyRows: any number
	scan func(row scanner) error // called with each row that it returns; nil: it returns none
	// exact means that the database refuses it if it cannot change that many rows.
	exact bool
	bulk  *bulk // nil: the statement is never merged with others
}

const anyRows = -1

// errStale means that a row was changed by another process between its read and
// its write. If the unit is run again, it reads the new row.
var errStale = errors.New("the row was changed meanwhile")

// send executes statements in their order. On PostgreSQL they are sent together
// in one round trip. After a statement that fails, none is executed.
func (w *writer) send(ctx context.Context, list ...statement) error {
	if len(list) == 0 {
		return nil
	}
	list, err := inBulk(list, w.dialect)
	if err != nil {
		return err
	}
	if w.dialect.pipelined {
		inner, cancel := w.q.bound(ctx)
		defer cancel()
		return w.q.edge(ctx, w.sendBatch(inner, list))
	}
	for _, s := range list {
		res, err := w.q.ExecContext(ctx, s.sql, s.args...)
		if err != nil {
			return err
		}
		if s.rows == anyRows {
			continue
		}
		if n, err := res.RowsAffected(); err != nil || n != s.rows {
			return errors.Join(err, stale(s, n))
		}
	}
	return nil
}

func stale(s statement, n int64) error {
	return svc.Errorf(svc.CodeConflict, "a record was changed by another request meanwhile; try again").
		Because(fmt.Errorf("%w: %d rows instead of %d by %s", errStale, n, s.rows, s.sql))
}

// sendBatch sends statements to PostgreSQL in one message and reads all answers.
func (w *writer) sendBatch(ctx context.Context, list []statement) error {
	var failed error
	err := w.conn.Raw(func(c any) error {
		conn, ok := c.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the connection is a %T", c)
		}
		batch := &pgx.Batch{}
		for _, s := range list {
			batch.Queue(s.sql, plainArgs(s.args)...)
		}
		answers := conn.Conn().SendBatch(ctx, batch)
		for _, s := range list {
			if failed = readAnswer(answers, s); failed != nil {
				break
			}
		}
		if err := answers.Close(); failed == nil {
			failed = err
		}
		return nil
	})
	return errors.Join(err, failed)
}

func readAnswer(answers pgx.BatchResults, s statement) error {
	if s.scan == nil {
		tag, err := answers.Exec()
		if err == nil && s.rows != anyRows && tag.RowsAffected() != s.rows {
			err = stale(s, tag.RowsAffected())
		}
		return err
	}
	rows, err := answers.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// plainArgs converts values of svc's types to numbers, texts and booleans. Else
// the driver of PostgreSQL would write a svc.Time as the text that it is in JSON.
func plainArgs(args []any) []any {
	plain := make([]any, len(args))
	for i, a := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			v = a // a list
		}
		plain[i] = v
	}
	return plain
}
