package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
)

// write is a change that was acknowledged to a client.
type write struct {
	What writeKind
	ID   string // of the item or run
	Mark string // the title of an item, the key in a run's prompt, the text that was typed
}

type writeKind string

const (
	wroteItem   writeKind = "created item"
	wroteTitle  writeKind = "renamed item"
	wroteDelete writeKind = "deleted item"
	wroteRun    writeKind = "created run"
	wroteStop   writeKind = "stopped run"
	wroteKeys   writeKind = "typed at run"
)

// client sends one request after the other. It repeats each with the same key until it is answered, and
// then adds it to the ledger.
type client struct {
	s      *site
	api    *api.Client
	name   string
	random *rand.Rand
	count  int
	items  []string // items of this client; no other client changes them
	runs   []startedRun
}

type startedRun struct {
	id    string
	agent agent
	at    time.Time
}

// maxOpen is the maximum number of active runs of one client.
const maxOpen = 5

func (s *site) newClient(name string, seed uint64) *client {
	return &client{s: s, api: s.o.Client(), name: name, random: rand.New(rand.NewPCG(seed, uint64(len(name))))}
}

// work sends requests until the context ends. It still repeats its last request until it is answered.
func (c *client) work(ctx context.Context) {
	for ctx.Err() == nil {
		c.count++
		switch n := c.random.IntN(10); {
		case len(c.items) == 0 || n == 0:
			c.newItem()
		case n < 3:
			c.rename()
		case n == 3 && len(c.items) > 5:
			c.deleteItem()
		case n < 8 && c.open() < maxOpen:
			c.newRun()
		default:
			c.stopOne()
		}
		proctest.Pause(time.Duration(100+c.random.IntN(700)) * time.Millisecond)
	}
}

// settle stops the runs that would not end by themselves.
func (c *client) settle() {
	for _, r := range c.runs {
		if r.agent.endless || r.agent.asks {
			c.stop(r.id)
		}
	}
}

// open returns the number of the client's runs that have not ended, and removes the others from its list.
func (c *client) open() int {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	kept := c.runs[:0]
	for _, r := range c.runs {
		if !c.s.ended[r.id] {
			kept = append(kept, r)
		}
	}
	c.runs = kept
	return len(kept)
}

// key returns the idempotency key of the current request.
func (c *client) key() string { return fmt.Sprintf("%s-%d", c.name, c.count) }

// answered repeats a request with the same key until it is answered, so that it cannot be executed twice.
func (c *client) answered(key string, request func(context.Context) error) error {
	ctx := api.WithIdempotencyKey(context.Background(), key)
	for {
		try, cancel := context.WithTimeout(ctx, 4*time.Second)
		err := request(try)
		cancel()
		var refused *svc.Error
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused) && refused.Code == svc.CodeInternal:
			c.s.complain("%s: %v", key, err)
		case errors.As(err, &refused) && !transient(refused.Code):
			return err
		}
		c.s.count("requests repeated")
		proctest.Pause(50 * time.Millisecond)
	}
}

// transient reports whether an error code is transient, so that the same request may succeed soon.
func transient(code svc.Code) bool {
	return code == svc.CodeUnavailable || code == svc.CodeReplicaUnreachable
}

// complain stores a response that no client should ever receive.
func (s *site) complain(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, fmt.Sprintf(format, args...))
}

func (c *client) addToLedger(what writeKind, id, mark string) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.ledger = append(c.s.ledger, write{what, id, mark})
}

func (c *client) newItem() {
	title := "item " + c.key()
	var item svc.WorkItem
	err := c.answered(c.key(), func(ctx context.Context) (err error) {
		item, err = c.api.CreateWorkItem(ctx, api.CreateWorkItem{ProjectID: c.s.project, Kind: svc.KindTask, Title: title})
		return err
	})
	if err != nil {
		c.s.complain("create item %s: %v", c.key(), err)
		return
	}
	c.addToLedger(wroteItem, item.ID, title)
	c.items = append(c.items, item.ID)
}

func (c *client) rename() {
	id, title := c.items[c.random.IntN(len(c.items))], "renamed "+c.key()
	err := c.answered(c.key(), func(ctx context.Context) error {
		_, err := c.api.UpdateWorkItem(ctx, id, api.PatchWorkItem{Title: api.Some(title)})
		if svc.CodeOf(err) == svc.CodeOutcomeUnknown { // a key has no effect on a PATCH: a client must read the item, or repeat the request as here
			return svc.Unavailable("")
		}
		return err
	})
	if err != nil {
		c.s.complain("rename item %s: %v", c.key(), err)
		return
	}
	c.addToLedger(wroteTitle, id, title)
}

// deleteItem deletes an item. A key has no effect on this request; a second delete returns not_found.
func (c *client) deleteItem() {
	at := 1 + c.random.IntN(len(c.items)-1) // not the first item, which has the runs
	id := c.items[at]
	err := c.answered(c.key(), func(ctx context.Context) error {
		err := c.api.DeleteWorkItem(ctx, id, false, false)
		if svc.CodeOf(err) == svc.CodeOutcomeUnknown {
			return svc.Unavailable("") // the request is repeated, as in rename
		}
		return err
	})
	if err != nil && svc.CodeOf(err) != svc.CodeNotFound {
		c.s.complain("delete item %s: %v", c.key(), err)
		return
	}
	c.items = append(c.items[:at], c.items[at+1:]...)
	c.addToLedger(wroteDelete, id, "")
}

func (c *client) newRun() {
	a := newAgent(c.random, c.s.truth, c.s.lab.Dir+"/litter")
	request := a.run(c.items[0], c.key())
	if c.random.IntN(4) == 0 {
		request.HostID = api.Some(c.s.anyHost(c.random).HostID)
	}
	var r svc.Run
	err := c.answered(c.key(), func(ctx context.Context) (err error) {
		r, err = c.api.CreateRun(ctx, request)
		return err
	})
	if err != nil {
		c.s.complain("create run %s: %v", c.key(), err)
		return
	}
	c.addToLedger(wroteRun, r.ID, c.key())
	c.s.count("runs: " + a.name)
	c.runs = append(c.runs, startedRun{r.ID, a, time.Now()})
	if a.asks {
		key := c.key()
		c.s.answering.Go(func() { c.s.answer(r.ID, key) }) // returns when the run has ended, at the latest after settle
	}
}

// stopOne stops an endless run that is older than some seconds, and sometimes any other run.
func (c *client) stopOne() {
	for i, r := range c.runs {
		old := time.Since(r.at) > time.Duration(2+c.random.IntN(6))*time.Second
		if r.agent.endless && old || c.random.IntN(25) == 0 {
			c.runs = append(c.runs[:i], c.runs[i+1:]...)
			c.stop(r.id)
			return
		}
	}
}

func (c *client) stop(id string) {
	c.count++
	err := c.answered(c.key(), func(ctx context.Context) error {
		_, err := c.api.StopRun(ctx, id)
		return err
	})
	switch {
	case err == nil:
		c.addToLedger(wroteStop, id, "")
	case svc.CodeOf(err) != svc.CodeRunNotActive:
		c.s.complain("stop run %s: %v", id, err)
	}
}

// readLog reads the relayed log of one attempt.
func readLog(ctx context.Context, c *api.Client, a attempt) ([]byte, error) {
	body, err := c.Logs(ctx, a.Run, api.LogOptions{Attempt: &a.Number})
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return io.ReadAll(body)
}
