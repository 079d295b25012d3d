package mirror

import (
	"container/list"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
)

// mostChanges is how many changed paths are kept. A follower that is further behind compares the whole tree.
const mostChanges = 100_000

// changes keeps the paths that were reported since the process started: each path once, the latest report last.
type changes struct {
	id   string // part of each cursor: a cursor of another process is not valid here
	most int

	mu     sync.Mutex // guards what follows
	seq    int64      // of the newest report
	floor  int64      // of the newest report that was evicted
	order  *list.List // of *change
	byPath map[string]*list.Element
}

type change struct {
	path    string
	seq     int64
	removed bool
}

func newChanges(most int) *changes {
	return &changes{id: rand.Text(), most: most, order: list.New(), byPath: map[string]*list.Element{}}
}

func (c *changes) report(path string, removed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	if e := c.byPath[path]; e != nil {
		*e.Value.(*change) = change{path, c.seq, removed}
		c.order.MoveToBack(e)
		return
	}
	c.byPath[path] = c.order.PushBack(&change{path, c.seq, removed})
	if c.order.Len() > c.most {
		oldest := c.order.Remove(c.order.Front()).(*change)
		delete(c.byPath, oldest.path)
		c.floor = oldest.seq
	}
}

// cursor returns the position after the newest report.
func (c *changes) cursor() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at(c.seq)
}

func (c *changes) at(seq int64) string { return c.id + "." + strconv.FormatInt(seq, 10) }

// since returns the changes that were reported after a cursor, the oldest first, and the cursor after them. ok is
// false if the cursor is invalid, older than the reports that are kept, or of another process.
func (c *changes) since(cursor string) (found []change, next string, ok bool) {
	id, digits, _ := strings.Cut(cursor, ".")
	seq, err := strconv.ParseInt(digits, 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || id != c.id || seq < c.floor || seq > c.seq {
		return nil, "", false
	}
	e := c.order.Back()
	for e != nil && e.Value.(*change).seq > seq {
		e = e.Prev()
	}
	if e == nil {
		e = c.order.Front()
	} else {
		e = e.Next()
	}
	for ; e != nil; e = e.Next() {
		found = append(found, *e.Value.(*change))
	}
	return found, c.at(c.seq), true
}
