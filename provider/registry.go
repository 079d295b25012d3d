package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"svc/atomicfile"
)

// The watcher waits until a file has not changed for settleAfter, so that one edit is one reload, but never
// longer than settleMost after the first change. In addition it polls every pollEvery, because network file
// systems send no notifications.
const (
	settleAfter = 100 * time.Millisecond
	settleMost  = 500 * time.Millisecond
	pollEvery   = 15 * time.Second
)

// Options are the options of a Registry; the zero value is valid.
type Options struct {
	// Logger logs every reload and every catalog that was refused; nil means slog's default.
	Logger *slog.Logger
	// OnError is called with the reason when a changed catalog was refused, once for each different reason. Run
	// calls it, and it must not block.
	OnError func(error)
	// LastGood is a file in which the registry keeps a copy of the active catalog, for a start at which the
	// catalog has an error. Empty: there is no copy, and such a start fails.
	LastGood string
}

// Registry holds the active catalog. Run watches the file: a valid catalog replaces the active one, an invalid
// one is refused and the active one stays.
type Registry struct {
	path    string
	log     *slog.Logger
	onError func(error)
	copy    string // the path of the copy of the last valid catalog; empty: none is kept
	current atomic.Pointer[Catalog]
	problem atomic.Pointer[string] // why the file is not the active catalog; nil while it is

	// Only Open and Run use these.
	seen    []byte // the content that current was read from
	reloads int

	mu   sync.Mutex // guards subs
	subs map[chan *Catalog]bool
}

// Open reads the catalog. If the catalog has an error it is refused, and the last valid one becomes active;
// without a copy of that, Open returns the error.
func Open(path string, o Options) (*Registry, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find provider catalog %s: %w", path, err)
	}
	r := &Registry{path: abs, log: o.Logger, onError: o.OnError, copy: o.LastGood, subs: map[chan *Catalog]bool{}}
	if r.log == nil {
		r.log = slog.Default()
	}
	data, c, err := read(abs)
	if err == nil {
		r.activate(data, c)
		return r, nil
	}
	if r.copy == "" {
		return nil, err
	}
	data, c, copyErr := read(r.copy)
	if copyErr != nil {
		return nil, err // the copy is missing or damaged: the error of the catalog itself is the one to correct
	}
	c.path = abs
	r.seen = data
	r.current.Store(c)
	r.refuse(err)
	return r, nil
}

// read reads and checks a catalog.
func read(path string) (data []byte, c *Catalog, err error) {
	if data, err = readFile(path); err != nil {
		return nil, nil, err
	}
	c, err = Parse(path, data)
	return data, c, err
}

// activate makes a catalog the active one and keeps a copy of it. If the copy cannot be written, only a later
// start with an invalid catalog fails.
func (r *Registry) activate(data []byte, c *Catalog) {
	r.seen = data
	r.problem.Store(nil)
	r.current.Store(c)
	if r.copy == "" {
		return
	}
	if kept, err := readFile(r.copy); err == nil && bytes.Equal(kept, data) {
		return
	}
	if err := atomicfile.Replace(r.copy, data, 0o600); err != nil {
		r.log.Warn("the copy of the provider catalog could not be written", "path", r.copy, "error", err)
	}
}

// Problem returns why the file is not the active catalog; empty while it is.
func (r *Registry) Problem() string {
	if why := r.problem.Load(); why != nil {
		return *why
	}
	return ""
}

// Current returns the active catalog. The value never changes; call Current again for a newer one.
func (r *Registry) Current() *Catalog { return r.current.Load() }

// Subscribe returns a channel that receives each new catalog. A slow reader misses intermediate ones and
// receives the newest. cancel ends the subscription; the channel is never closed.
func (r *Registry) Subscribe() (changes <-chan *Catalog, cancel func()) {
	ch := make(chan *Catalog, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subs[ch] = true
	return ch, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subs, ch)
	}
}

// Run watches the file until ctx ends, and then returns nil. Without file notifications (the system limits
// their number) it only polls, and logs that.
func (r *Registry) Run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		r.log.Warn("changes of the provider catalog are detected late: there are no file notifications", "path", r.path, "every", pollEvery, "error", err)
		watcher = &fsnotify.Watcher{} // its channels are nil and never ready
	} else {
		defer watcher.Close()
	}
	list := &watchList{watcher: watcher, way: trail}
	look := func() {
		if watcher.Events != nil {
			if err := list.arm(r.path); err != nil {
				r.log.Debug("watch provider catalog", "path", r.path, "error", err)
			}
		}
		r.reload()
	}
	r.follow(ctx, list, look)
	return nil
}

func (r *Registry) follow(ctx context.Context, list *watchList, look func()) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	settled := time.NewTimer(0) // fires at once: the file may have changed since Open
	defer settled.Stop()
	var since time.Time // the first change that was not read yet; zero: none
	changed := func() {
		if since.IsZero() {
			since = time.Now()
		}
		settled.Reset(min(settleAfter, max(0, settleMost-time.Since(since))))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-list.watcher.Events:
			if list.concerns(e) {
				changed()
			}
		case <-list.watcher.Errors:
			changed() // events were lost
		case <-settled.C:
			since = time.Time{}
			look()
		case <-poll.C:
			look()
		}
	}
}

// reload reads the file and makes it the active catalog if it is new and valid.
func (r *Registry) reload() {
	r.reloads++
	data, err := readFile(r.path)
	if err == nil && len(bytes.TrimSpace(data)) == 0 && len(r.seen) > 0 {
		err = errors.New("read provider catalog: " + r.path + " is empty") // it is probably being written
	}
	if err == nil && bytes.Equal(data, r.seen) {
		r.accepted("provider catalog is valid again")
		return
	}
	var c *Catalog
	if err == nil {
		c, err = Parse(r.path, data)
	}
	if err != nil {
		r.refuse(err)
		return
	}
	r.activate(data, c)
	r.log.Info("provider catalog reloaded", "path", r.path, "providers", c.IDs())
	r.publish(c)
}

// accepted removes the reason of a refusal and logs that.
func (r *Registry) accepted(message string) {
	if r.problem.Swap(nil) != nil {
		r.log.Info(message, "path", r.path)
	}
}

// refuse reports a reason once, however often the file is read.
func (r *Registry) refuse(err error) {
	why := err.Error()
	if r.Problem() == why {
		return
	}
	r.problem.Store(&why)
	r.log.Warn("provider catalog refused; the last good one is in force", "path", r.path, "error", err)
	if r.onError != nil {
		r.onError(err)
	}
}

func (r *Registry) publish(c *Catalog) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ch := range r.subs {
		select {
		case <-ch: // removes a catalog that the reader has not received and that is out of date
		default:
		}
		ch <- c
	}
}
