package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/store"
)

// Config is the configuration of a Dispatcher.
type Config struct {
	Store     *store.Store
	Sinks     []svc.Sink
	PublicURL string // base of the links, without a slash at its end
	Log       *slog.Logger
	Now       func() time.Time  // nil: time.Now
	Transport http.RoundTripper // nil: http.DefaultTransport
}

// Dispatcher adds notifications of inbox entries to the outbox, and sends them. New creates one; Run does the work.
type Dispatcher struct {
	Config
	client *http.Client
	term   int64                      // of the store
	owner  string                     // identifies this dispatcher in leases: the term, a dot, an id
	known  map[string]map[string]bool // by sink, the keys that were added to the outbox
	failed map[string]*atomic.Int64   // by sink, the tries that failed
	head   int64                      // of the journal when the inbox was last read
	swept  svc.Time
}

// New creates a Dispatcher.
func New(c Config) *Dispatcher {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	d := &Dispatcher{Config: c, client: newClient(c.Transport), known: map[string]map[string]bool{},
		failed: map[string]*atomic.Int64{}, head: -1}
	d.begin(c.Store.Term())
	for _, s := range c.Sinks {
		d.known[s.Name], d.failed[s.Name] = map[string]bool{}, &atomic.Int64{}
	}
	return d
}

// begin sets the term in which the dispatcher leases sinks.
func (d *Dispatcher) begin(term int64) {
	d.term, d.owner = term, fmt.Sprintf("%d.%s", term, svc.NewID())
}

func (d *Dispatcher) now() svc.Time { return svc.TimeOf(d.Now()) }

const (
	pace = time.Second
	// idlePace is how often the inbox is read although nothing was journaled: a snooze ends without an event.
	idlePace = 5 * time.Second
	// life is how long a notification is retried, and the age beyond which a new entry is not sent at all.
	life = 24 * time.Hour
)

// Run sends until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) error {
	if len(d.Sinks) == 0 {
		<-ctx.Done()
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.every(ctx, "the inbox cannot be read for notifications; trying again", d.sweep) })
	for _, s := range d.Sinks {
		g.Go(func() error {
			return d.every(ctx, "notifications of sink "+s.Name+" cannot be sent; trying again", func(ctx context.Context) error { return d.drain(ctx, s) })
		})
	}
	return g.Wait()
}

// every calls do each second until ctx ends. Of consecutive failures it logs only the first.
func (d *Dispatcher) every(ctx context.Context, complaint string, do func(context.Context) error) error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	said := false
	for {
		err := do(ctx)
		if err != nil && ctx.Err() == nil && !said {
			d.Log.Error(complaint, "error", err)
		}
		said = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// open returns the open entries of the inbox by key, without those that were snoozed or dismissed.
func (d *Dispatcher) open(ctx context.Context) (map[string]svc.InboxItem, error) {
	items := map[string]svc.InboxItem{}
	page := svc.Page{Limit: svc.MaxLimit}
	for {
		// An entry may be a day old when it is added to the outbox, and is retried for another day.
		l, err := d.Store.Inbox(ctx, svc.InboxFilter{After: d.now().Add(-2*life - time.Hour)}, d.now(), page)
		if err != nil {
			return nil, err
		}
		for _, i := range l.Items {
			items[i.Key] = i
		}
		if l.NextCursor == nil {
			return items, nil
		}
		page.Cursor = *l.NextCursor
	}
}

// sweep adds new entries of the inbox to the outbox. It compares the whole inbox with the outbox, so that it also
// finds entries that opened while no orchestrator was running.
func (d *Dispatcher) sweep(ctx context.Context) error {
	head, _, err := d.Store.JournalEnds(ctx)
	if err != nil || head == d.head && d.now().Sub(d.swept) < idlePace {
		return err
	}
	entries, err := d.open(ctx)
	if err != nil {
		return err
	}
	for _, s := range d.Sinks {
		if err := d.add(ctx, s, entries); err != nil {
			return err
		}
	}
	d.head, d.swept = head, d.now()
	return nil
}

// addUnit is the most notifications that one unit of work adds.
const addUnit = 200

func (d *Dispatcher) add(ctx context.Context, s svc.Sink, entries map[string]svc.InboxItem) error {
	known := d.known[s.Name]
	for key := range known {
		if _, lasts := entries[key]; !lasts {
			delete(known, key) // if the entry opens again, the outbox is asked again
		}
	}
	state, err := d.Store.SinkState(ctx, s.Name)
	if svc.CodeOf(err) == svc.CodeNotFound {
		if err = d.Store.Write(ctx, func(tx *store.Tx) error { return tx.AddSink(ctx, s.Name) }); err == nil {
			state, err = d.Store.SinkState(ctx, s.Name)
		}
	}
	if err != nil {
		return err
	}
	var fresh []svc.InboxItem
	for _, i := range entries {
		if !known[i.Key] && s.Wants(i) && i.Since >= state.Since && d.now().Sub(i.Since) < life {
			fresh = append(fresh, i)
		}
	}
	slices.SortFunc(fresh, func(a, b svc.InboxItem) int {
		if svc.InboxBefore(b, a) {
			return -1
		}
		return 1
	})
	for part := range slices.Chunk(fresh, addUnit) {
		err := d.Store.Write(ctx, func(tx *store.Tx) error {
			for _, i := range part {
				n := svc.Notification{ID: svc.NewID(), Sink: s.Name, Key: i.Key, State: svc.NotificationWaiting, DueAt: tx.Now.Add(s.DwellOf(i)), CreatedAt: tx.Now}
				if _, err := tx.AddNotification(ctx, n); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, i := range part {
			known[i.Key] = true
		}
	}
	return nil
}

// drain sends the notifications of a sink that are due, one after the other.
func (d *Dispatcher) drain(ctx context.Context, s svc.Sink) error {
	for ctx.Err() == nil {
		due, err := d.Store.DueNotifications(ctx, s.Name, d.now(), 1)
		if err != nil || len(due) == 0 {
			return err
		}
		entries, err := d.open(ctx)
		if err != nil {
			return err
		}
		n, m, err := d.claim(ctx, s, entries)
		if err != nil || m == nil {
			return err
		}
		if err := d.settle(ctx, s, *n, send(ctx, d.client, s, *m)); err != nil {
			return err
		}
	}
	return nil
}

// States returns the state of each sink, in the order of the config file.
func (d *Dispatcher) States(ctx context.Context) ([]svc.SinkState, error) {
	states := []svc.SinkState{}
	for _, s := range d.Sinks {
		state, err := d.Store.SinkState(ctx, s.Name)
		if err != nil && svc.CodeOf(err) != svc.CodeNotFound {
			return nil, err
		}
		state.Name, state.Kind, state.FailedTries = s.Name, s.Kind, d.failed[s.Name].Load()
		state.On, state.Projects = slices.Clone(s.On), append([]string{}, s.Projects...)
		if len(state.On) == 0 {
			state.On = slices.Clone(svc.InboxKinds)
		}
		states = append(states, state)
	}
	return states, nil
}

// Test sends a message to a sink at once, without the outbox. The error has the reason if the sink did not accept it.
func (d *Dispatcher) Test(ctx context.Context, name string) error {
	at := slices.IndexFunc(d.Sinks, func(s svc.Sink) bool { return s.Name == name })
	if at < 0 {
		return svc.NotFound("sink", name)
	}
	m := message{ID: svc.NewID(), Kind: kindTest, Title: "svc", Text: "This is a test: notifications of svc reach you here.", URL: d.PublicURL + "/", Since: d.now()}
	if err := send(ctx, d.client, d.Sinks[at], m); err != nil {
		return svc.Errorf(svc.CodeSinkFailed, "sink %s did not accept the message: %s", name, err)
	}
	return nil
}

var errExpired = errors.New("it did not accept the notification within a day")

func jitter() float64 { return rand.Float64() } //nolint:gosec // spreads load, guards nothing
