package hub

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"svc"
	"svc/safetext"
	"svc/wire"
)

// Link sends frames to a host's worker.
type Link interface {
	// Send queues a frame in order and never waits for the network. An error
	// means that the frame will not arrive.
	Send(wire.Frame) error
	// Has reports whether the worker announced a capability.
	Has(capability string) bool
}

// AttachConfig wires Attachments to the rest. Every field is required.
type AttachConfig struct {
	// Link finds the host's current uplink; false when it has none.
	Link func(hostID string) (Link, bool)
	// OnLease is called for each change of a lease, in order. Only Run calls it,
	// without holding a lock.
	OnLease func(LeaseEvent)
	// OnInput is called by Run, too, after someone has typed into a run. Inputs that
	// come before the call are one call, which names the last of the people.
	OnInput func(runID, by string)
	// LeaseIdle is how long a holder may send nothing before it loses the lease to
	// whoever waits; 0: for ever.
	LeaseIdle func() time.Duration
	Log       *slog.Logger
}

// LeaseEvent is a change of a run's lease.
type LeaseEvent struct {
	RunID    string
	Attempt  int
	Acquired bool     // false: released
	Holder   string   // the name of who got or lost it
	By       string   // who caused it: the holder, or who took it over
	At       svc.Time // when it changed
}

// Person is who attaches.
type Person struct {
	Name    string
	Watches bool // sees everything, and never holds the lease
	Lists   bool // is told who else sees the session
}

// Target is the session that a client attaches to.
type Target struct {
	RunID   string
	Attempt int
	HostID  string
}

// Why the server ends an attachment.
var (
	ErrRunEnded  = errors.New("the run has ended")
	ErrShutdown  = errors.New("the server is shutting down")
	ErrSlow      = errors.New("the client does not read fast enough")
	ErrRelayLost = errors.New("the worker cannot relay this session")
	ErrMalformed = errors.New("too many malformed frames")
)

// SpawnRows and SpawnCols are the size of a session that no lease holder has
// changed.
const (
	SpawnRows = 50
	SpawnCols = 220
)

// Attachments relays terminals between workers and interactive clients, and
// keeps the single-writer lease of each run: everyone sees the output, one
// types.
//
// Each client has a relay of its own at the worker, so each gets the whole
// screen redrawn when it comes; what the lease holder types and its size go
// through the holder's relay.
type Attachments struct {
	cfg AttachConfig

	mu     sync.Mutex // guards what follows and every session; never held over I/O
	runs   map[string]*session
	relays map[string]*Attachment // by attach_id
	all    map[*Attachment]struct{}
	looks  map[string][]*looker // by run: who sees its screen without being attached
	closed bool                 // no one may join any more
	leases []LeaseEvent
	typed  map[string]string // by run: who typed last
	wake   chan struct{}     // for Run, of size one
}

// session is one attempt of a run that clients are attached to.
type session struct {
	Target
	holder     *Attachment
	since      svc.Time      // when the holder got the lease
	active     time.Time     // when the holder last sent something
	waiting    []*Attachment // everyone else who may type, the longest waiting first
	people     []*Attachment // everyone, in the order in which they came
	rows, cols int           // what the holder asked for last, else the size at the start
	resized    bool          // by a holder, away from the size at the start
	shown      struct {      // what the worker said last; zero: nothing yet
		rows, cols int
	}

	// sizing keeps the sizes that the worker is sent in the order in which they
	// were asked for: a relay that is opened with an old size, after a resize, would
	// undo the resize. It is locked after an Attachment's order and before
	// Attachments.mu.
	sizing sync.Mutex
}

// NewAttachments makes an empty one. OnLease and OnInput are called while Run is
// running.
func NewAttachments(cfg AttachConfig) *Attachments {
	return &Attachments{
		cfg: cfg, runs: map[string]*session{}, relays: map[string]*Attachment{}, all: map[*Attachment]struct{}{},
		looks: map[string][]*looker{}, typed: map[string]string{}, wake: make(chan struct{}, 1),
	}
}

// Ready reports whether the host can be attached to now: nil, or the error for
// the client, to be asked before a socket is opened.
func (h *Attachments) Ready(hostID string) error {
	_, err := h.link(hostID)
	return err
}

func (h *Attachments) link(hostID string) (Link, error) {
	link, ok := h.cfg.Link(hostID)
	if !ok {
		return nil, svc.Errorf(svc.CodeHostNotConnected, "the run's host is not connected; attach again when it is back")
	}
	if !link.Has(wire.CapAttach) {
		return nil, svc.Errorf(svc.CodeCapabilityMissing, "the worker on the run's host cannot attach; update it")
	}
	return link, nil
}

// Holder tells who holds the lease of a run, and since when; false when it is
// free.
func (h *Attachments) Holder(runID string) (lease svc.Lease, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.runs[runID]
	if s == nil || s.holder == nil {
		return svc.Lease{}, false
	}
	return svc.Lease{AttachedAt: s.since, Holder: s.holder.who.Name}, true
}

// Join adds a client to a run. The first who may type gets the lease, others are
// told that it is held. The caller pumps Next to the client and the client's frames to
// Handle, and must call Leave. A run may end before Join: look at it once more
// afterwards, and call End if it did.
func (h *Attachments) Join(t Target, who Person) (*Attachment, error) {
	a := &Attachment{hub: h, who: who, joined: svc.TimeOf(time.Now()), wake: make(chan struct{}, 1), cut: make(chan struct{}), drawing: safetext.Relay()}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, ErrShutdown
	}
	s := h.runs[t.RunID]
	if s != nil && s.Attempt > t.Attempt {
		h.mu.Unlock()
		return nil, ErrRunEnded
	}
	if s == nil || s.Target != t {
		if s != nil {
			h.detach(s, ErrRunEnded) // of an attempt that is over
		}
		s = &session{Target: t, rows: SpawnRows, cols: SpawnCols}
		h.runs[t.RunID] = s
	}
	a.session = s
	h.all[a] = struct{}{}
	s.people = append(s.people, a)
	h.watchersChanged(s)
	switch {
	case who.Watches:
	case s.holder == nil:
		h.grant(s, a)
	default:
		s.waiting = append(s.waiting, a)
		a.pushControl(leaseHeld)
	}
	if s.shown.rows > 0 {
		a.pushSize(s.shown.rows, s.shown.cols)
	}
	h.mu.Unlock()
	a.open()
	return a, nil
}

// RunEnded closes the sockets of this attempt of a run and of earlier ones, after
// the output that they have yet to send. Call it when readers of the run can see
// that the attempt is over.
func (h *Attachments) RunEnded(runID string, attempt int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.runs[runID]; s != nil && s.Attempt <= attempt {
		h.detach(s, ErrRunEnded)
	}
}

// detach disconnects all clients of a session and forgets the session.
func (h *Attachments) detach(s *session, why error) {
	if s.holder != nil {
		h.freed(s, s.holder.who.Name)
	}
	s.waiting = nil
	if h.runs[s.RunID] == s {
		delete(h.runs, s.RunID)
	}
	for _, a := range s.people {
		a.End(why)
	}
}

// HostGone tells the clients of a host that its uplink is lost. They stay.
func (h *Attachments) HostGone(hostID string) {
	for _, a := range h.onHost(hostID) {
		a.lost()
	}
}

// HostBack opens every relay of a host anew that is not on the uplink it has now.
func (h *Attachments) HostBack(hostID string) {
	for _, a := range h.onHost(hostID) {
		a.open()
	}
}

func (h *Attachments) onHost(hostID string) []*Attachment {
	h.mu.Lock()
	defer h.mu.Unlock()
	var on []*Attachment
	for a := range h.all {
		if a.session.HostID == hostID {
			on = append(on, a)
		}
	}
	return on
}

// FromWorker takes attach_data, attach_resized and attach_closed of a host. It
// never waits for a client. Frames about another host's relays are ignored,
// and a relay that nobody wants is closed.
func (h *Attachments) FromWorker(hostID string, f wire.Frame) {
	switch f := f.(type) {
	case *wire.AttachData:
		if a := h.relay(hostID, f.AttachID); a != nil {
			a.pushData(f.Bytes)
		} else if link, ok := h.cfg.Link(hostID); ok {
			_ = link.Send(wire.AttachClose{AttachID: f.AttachID}) // else it comes again with the next data
		}
	case *wire.AttachResized:
		if a := h.relay(hostID, f.AttachID); a != nil && goodSize(f.Rows, f.Cols) {
			h.resized(a.session, f.Rows, f.Cols)
		}
	case *wire.AttachClosed:
		if a := h.relay(hostID, f.AttachID); a != nil {
			h.cfg.Log.Debug("a worker closed a relay", "run_id", a.session.RunID, "host_id", hostID, "reason", f.Reason)
			a.relayClosed(f.AttachID)
		}
	}
}

func (h *Attachments) relay(hostID, attachID string) *Attachment {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.relays[attachID]
	if a == nil || a.session.HostID != hostID {
		return nil
	}
	return a
}

// resized tells all clients of a session its size, each only once. What the
// holder asked for may be newer.
func (h *Attachments) resized(s *session, rows, cols int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.shown.rows, s.shown.cols = rows, cols
	for _, a := range s.people {
		a.pushSize(rows, cols)
	}
}

func (s *session) leaves(a *Attachment) {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *Attachment) bool { return w == a })
}
