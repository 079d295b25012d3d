// Package engine makes the orchestrator's decisions: who may change what, which run is placed on which host, what a
// signal does, when a host counts as offline, which runs are restarted, what is retained.
//
// Every decision is one unit of work of the store: the rows and the events of a change commit together. What follows
// from a change (a frame to a worker, a wake-up) happens after the commit, and is repeated when it may have been
// lost. A crash between the two costs time, never correctness.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/wire"
)

// Config is the configuration of an engine, and the parts that it uses.
type Config struct {
	Store *store.Store
	Hub   *hub.Hub
	Log   *slog.Logger // nil: slog.Default()

	DispatchTimeout time.Duration   // how long a run may wait for a host
	RunDefaults     svc.RunDefaults // for what neither the caller nor the project sets
	AckTimeout      time.Duration   // after this time, an unacknowledged dispatch is pushed again
	LostAfter       time.Duration   // how long a run waits for an offline host; 0: without limit
	OfflineAfter    time.Duration   // silence after which a host is offline
	OutputInterval  time.Duration   // minimum time between two run.output_appended events of a run
	AutoMarkDone    bool            // the default of new work items
	EventsDays      int             // retention of the journal
	RelayDays       int             // retention of relayed logs and screens

	Version string // of the product, for the list of replicas
	// ReplicaID is the id of this process in the list of replicas, which package cluster maintains. Empty: the engine
	// lists itself.
	ReplicaID string
	// Standby makes an engine for an orchestrator that is not the leader. It serves requests that only need the
	// database. Its only background work is to follow the journal.
	Standby bool

	// SigningKey derives the tokens of runs and hosts. It must stay the same over restarts.
	SigningKey []byte
	// OwnerTokenHash is svc.SecretHash of the token in the data dir. Its holder is the admin named svc.OwnerName.
	OwnerTokenHash string
	// KnownProvider reports whether the orchestrator's own catalog has an id. Nil: it has only the four built-in
	// ones.
	KnownProvider func(id string) bool
	// Now returns the time. Nil: time.Now.
	Now func() time.Time
}

// Engine makes and commits the decisions. Create it with New, and run Serve.
type Engine struct {
	Config
	feed     *feed
	hosts    *hostBook
	claims   *wake       // a run may be placeable
	admitted atomic.Bool // a run was admitted since the last pass
	// restores wakes askRestores: a workspace is to be made without a run.
	restores *wake
	landings *wake // a landing was requested
	pushes   *pushBook
	served   *servedTimes
	full     fullBook
	output   *outputMeter
	runs     *runBook
	keys     *keyBook
	typed    *requests[wire.KeysResult]
	asks     *requests[wire.WorkspaceResult]
	messages *messageBook
	hints    *hintBook
	logs     *goneBook
	screens  *goneBook
	pieces   *hostSlots // for pieces of checkpoints, by host
	reviews  *hostSlots // for changes that are being read, by host
	links    *linkBook
	paces    paces

	placed     placedHosts
	identities gathered[svc.Host] // see store.Reader.Identities
	confirmed  gathered[[]store.Confirmed]

	observer atomic.Pointer[Observer] // nil: no observer

	tokenUses  tokenUses
	challenges challenges
	watch      *witness
	readyAt    svc.Time // when this process started
	replica    *replica
}

// New creates an engine. It reads the state that it needs from the store.
func New(ctx context.Context, c Config) (*Engine, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if len(c.SigningKey) < 16 {
		return nil, errors.New("engine: the signing key is too short")
	}
	e := &Engine{Config: c, claims: newWake(), restores: newWake(), landings: newWake(), pushes: newPushBook(), output: newOutputMeter(c.OutputInterval), runs: newRunBook(), keys: newKeyBook(), typed: newRequests[wire.KeysResult](), asks: newRequests[wire.WorkspaceResult](), messages: newMessageBook(), hints: newHintBook(), logs: newGoneBook(), screens: newGoneBook(), pieces: newSlots(piecesAtOnce), reviews: newSlots(reviewsAtOnce), links: newLinkBook(), paces: newPaces(),
		tokenUses: tokenUses{written: map[string]svc.Time{}}}
	e.identities.read, e.confirmed.read = c.Store.Identities, c.Store.ConfirmedRuns
	e.replica = newReplica(c.ReplicaID)
	e.readyAt, e.watch = e.now(), newWitness(c.Now, c.OfflineAfter)
	e.feed = newFeed(c.Store, c.Log)
	if c.ReplicaID != "" {
		e.feed.poll, e.feed.onEvents = sharedPoll, e.othersWrote
	}
	if err := e.feed.start(ctx); err != nil {
		return nil, err
	}
	if c.Standby {
		e.hosts = standbyHostBook(e.Hub.Uplinks.Pin, e.Hub.Uplinks.Connected)
		return e, nil
	}
	var err error
	if e.hosts, err = newHostBook(ctx, c.Store, e.watch.look(), e.readyAt, e.Hub.Uplinks.Pin, e.Hub.Uplinks.Connected); err != nil {
		return nil, err
	}
	if err := e.recoverOutput(ctx); err != nil {
		return nil, err
	}
	if err := e.releaseLeases(ctx); err != nil {
		return nil, err
	}
	if e.served, err = newServedTimes(ctx, c.Store, c.DispatchTimeout, e.readyAt); err != nil {
		return nil, err
	}
	if c.ReplicaID == "" {
		if err := c.Store.RegisterReplica(ctx, e.self()); err != nil {
			return nil, err
		}
	}
	e.Hub.OnLease, e.Hub.OnInput = e.leaseChanged, e.touched
	return e, nil
}

// Serve runs all background work. It returns when ctx has ended and all of it has stopped.
func (e *Engine) Serve(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return e.feed.run(ctx) })
	if e.Standby {
		return g.Wait()
	}
	g.Go(func() error { return e.claimLoop(ctx) })
	g.Go(func() error { return e.sweepLoop(ctx) })
	g.Go(func() error { return e.livenessLoop(ctx) })
	g.Go(func() error { return e.outputLoop(ctx) })
	g.Go(func() error { return e.retentionLoop(ctx) })
	g.Go(func() error { return e.fillSubjects(ctx) })
	g.Go(func() error { return e.keys.run(ctx) })
	g.Go(func() error { return e.tokenLoop(ctx) })
	g.Go(func() error { return e.removeUnwanted(ctx) })
	g.Go(func() error { return e.askRestores(ctx) })
	g.Go(func() error { return e.askLandings(ctx) })
	g.Go(func() error { return e.deliverMessages(ctx) })
	g.Go(func() error { return e.replicaLoop(ctx) })
	g.Go(func() error { return e.Hub.Run(ctx) })
	return g.Wait()
}

// Ready returns nil when the database can serve requests.
func (e *Engine) Ready(ctx context.Context) error { return e.Store.Ready(ctx) }

func (e *Engine) now() svc.Time { return svc.TimeOf(e.Now()) }

func jitter() float64 { return rand.Float64() } //nolint:gosec // spreads load, guards nothing

// Match is the version that the caller expects a record to have; nil: any version.
type Match = *int64

func checkMatch(m Match, version int64) error {
	if m == nil || *m == version {
		return nil
	}
	return svc.Errorf(svc.CodePrecondition, "the record was changed since it was read; read it again").With("version", version)
}

// wake is a wake-up signal. It stays set until it is received, and several are coalesced into one.
type wake struct{ c chan struct{} }

func newWake() *wake { return &wake{c: make(chan struct{}, 1)} }

func (w *wake) up() {
	select {
	case w.c <- struct{}{}:
	default:
	}
}
