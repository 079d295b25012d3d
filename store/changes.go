package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"svc"
)

// changes is a queue of writes that were not sent to the database yet. A write
// that is certain to succeed is deferred: it waits here and is sent together with
// those of the other units of the group. Several changes of one run become one.
// The queue is sent before anything reads the database directly: see writer.sync.
type changes struct {
	list []change
	runs map[string]int // the index of each changed run in list
}

// change is a statement, or a run before and after its change.
type change struct {
	statement
	was, now *svc.Run // nil: the change is a statement
}

func (c *changes) add(s statement) { c.list = append(c.list, change{statement: s}) }

// run adds the change of a run that is locked by this transaction. It keeps the pointers.
func (c *changes) run(was, now *svc.Run) {
	if at, has := c.runs[now.ID]; has {
		c.list[at].now = now
		return
	}
	if c.runs == nil {
		c.runs = map[string]int{}
	}
	c.runs[now.ID] = len(c.list)
	c.list = append(c.list, change{was: was, now: now})
}

// merge adds the changes of a unit to those of the units before it.
func (c *changes) merge(unit changes) {
	for _, x := range unit.list {
		if x.now != nil {
			c.run(x.was, x.now)
		} else {
			c.list = append(c.list, x)
		}
	}
}

// exact reports whether the database itself refuses each change that it cannot make: then the changes may be sent
// together with the commit. It would also commit an update of a row that is no longer in the expected version, which
// this process notices only by the number of rows.
func (c *changes) exact() bool {
	return !slices.ContainsFunc(c.list, func(x change) bool { return !x.exact })
}

// take returns the statements and empties the queue.
func (c *changes) take() []statement {
	if len(c.list) == 0 {
		return nil
	}
	list := make([]statement, 0, len(c.list)+3)
	for _, x := range c.list {
		if x.now == nil {
			list = append(list, x.statement)
		} else if s, differs := updateRun(x.was, x.now); differs {
			list = append(list, s)
		}
	}
	*c = changes{}
	return list
}

// updateRun returns the statement that changes a run from was to now. It sets
// only the columns that differ: for each column that is set, SQLite updates every
// index with that column, even if the value is the same. It returns false if
// nothing differs.
func updateRun(was, now *svc.Run) (statement, bool) {
	old := changingValues(was)
	args := make([]any, 0, len(changingColumns)+4)
	var named uint64 // a bit for each column
	for i, v := range changingValues(now) {
		if old[i] != v {
			args, named = append(args, v), named|1<<i
		}
	}
	if now.Version != was.Version {
		args, named = append(args, now.UpdatedAt, now.Version), named|1<<len(changingColumns)
	}
	if named == 0 {
		return statement{}, false
	}
	text := runUpdateOf(named)
	return statement{rows: 1, args: append(args, now.ID, was.Version), sql: text.sql, bulk: text.bulk}, true
}

// runUpdate is the text of an UPDATE of certain columns of a run. There are some dozens of them; each is built once.
type runUpdate struct {
	sql  string
	bulk *bulk
}

var runUpdates sync.Map // of *runUpdate, by the bits of the columns that it sets

func runUpdateOf(named uint64) *runUpdate {
	if known, ok := runUpdates.Load(named); ok {
		return known.(*runUpdate) //nolint:forcetypeassert // nothing else is stored there
	}
	var columns []string
	for i, c := range changingColumns {
		if named&(1<<i) != 0 {
			columns = append(columns, c)
		}
	}
	if named&(1<<len(changingColumns)) != 0 {
		columns = append(columns, "updated_at", "version")
	}
	var set strings.Builder
	for i, c := range columns {
		fmt.Fprintf(&set, "%s = $%d, ", c, i+1)
	}
	u := &runUpdate{bulk: newUpdate("runs", columns),
		sql: fmt.Sprintf("UPDATE runs SET %s WHERE id = $%d AND version = $%d", strings.TrimSuffix(set.String(), ", "), len(columns)+1, len(columns)+2)}
	runUpdates.Store(named, u)
	return u
}
