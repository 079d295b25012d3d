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

// AttachConfig connects Attachments to the rest of the hub. Every field is required.
type AttachConfig struct {
	// Link finds the host's current uplink; false when it has none.
	Link func(hostID string) (Link, bool)
	// OnLease is called for each change of a lease, in order. Only Run calls it, and holds no lock then.
	OnLease func(LeaseEvent)
	// OnInput is called after a client has typed into a run, also only by Run. Several inputs before the call are
	// merged into one call with the name of the last person.
	OnInput func(runID, by string)
	// LeaseIdle is how long a holder may be idle before it loses the lease to the client that has waited longest; 0:
	// no limit.
	LeaseIdle func() time.Duration
	Log       *slog.Logger
}

// LeaseEvent is a change of a run's lease.
type LeaseEvent struct {
	RunID    string
	Attempt  int
	Acquired bool     // false: the lease was released
	Holder   string   // name of the person who got or lost the lease
	By       string   // name of the person who caused the change: the holder, or the person who took the lease over
	At       svc.Time // when the lease changed
}

// Person describes the person behind a client.
type Person struct {
	Name    string
	Watches bool // sees the output, but never gets the lease
	Lists   bool // wants the list of people who see the session
}

// Target is the session that a client attaches to.
type Target struct {
	RunID   string
	Attempt int
	HostID  string
}

// The reasons why the server ends an attachment.
var (
	ErrRunEnded  = errors.New("the run has ended")
	ErrShutdown  = errors.New("the server is shutting down")
	ErrSlow      = errors.New("the client does not read fast enough")
	ErrRelayLost = errors.New("the worker cannot relay this session")
	ErrMalformed = errors.New("too many malformed frames")
)

// SpawnRows and SpawnCols are the initial size of a session.
const (
	SpawnRows = 50
	SpawnCols = 220
)

// Attachments relays terminals between workers and interactive clients, and manages the single-writer lease of each
// run: every client receives the output, but only the lease holder can type.
//
// Each client has its own relay at the worker, so each gets a full redraw of the screen when it attaches. The input
// and the terminal size of the lease holder are sent through the holder's relay.
type Attachments struct {
	cfg AttachConfig

	mu      sync.Mutex // guards the fields below and every session; never held over I/O
	runs    map[string]*session
	relays  map[string]*Attachment // by attach_id
	all     map[*Attachment]struct{}
	viewers map[string][]*viewer // by run: who sees its screen without being attached
	closed  bool                 // no client may join any more
	leases  []LeaseEvent
	typed   map[string]string // by run: the person who typed last
	wake    chan struct{}     // for Run, of size one
}

// session is one attempt of a run with attached clients.
type session struct {
	Target
	holder     *Attachment
	since      svc.Time      // when the holder acquired the lease
	active     time.Time     // when the holder last sent a frame
	waiting    []*Attachment // the other clients that may type, the longest waiting first
	people     []*Attachment // all clients, in the order in which they joined
	rows, cols int           // the size that the holder last requested; initially the spawn size
	resized    bool          // a holder has changed the size from the spawn size
	shown      struct {      // the size that the worker last reported; zero: none yet
		rows, cols int
	}

	// sizing keeps the sizes that are sent to the worker in the order in which they were requested: a relay that is
	// opened with an old size, after a resize, would undo the resize. Lock it after Attachment.order and before
	// Attachments.mu.
	sizing sync.Mutex
}

// NewAttachments returns Attachments without clients. OnLease and OnInput are called only while Run is running.
func NewAttachments(cfg AttachConfig) *Attachments {
	return &Attachments{
		cfg: cfg, runs: map[string]*session{}, relays: map[string]*Attachment{}, all: map[*Attachment]struct{}{},
		viewers: map[string][]*viewer{}, typed: map[string]string{}, wake: make(chan struct{}, 1),
	}
}

// Ready returns nil when clients can attach to the host's runs now, else the error for the client. Call it before the
// socket is opened.
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

// Holder returns the lease of a run; false when no client holds it.
func (h *Attachments) Holder(runID string) (lease svc.Lease, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.runs[runID]
	if s == nil || s.holder == nil {
		return svc.Lease{}, false
	}
	return svc.Lease{AttachedAt: s.since, Holder: s.holder.who.Name}, true
}

// Join adds a client to a run. The first client that may type gets the lease; later ones get a frame that the lease
// is held. The caller must send the frames from Next to the client, pass the client's frames to Handle, and call
// Leave at the end. A run may end before Join: check the run again afterwards, and call End if it is over.
func (h *Attachments) Join(t Target, who Person) (*Attachment, error) {
	a := &Attachment{hub: h, who: who, joined: svc.TimeOf(time.Now()), wake: make(chan struct{}, 1), cut: make(chan struct{}), filter: safetext.Relay()}
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
			h.detach(s, ErrRunEnded) // the session of an attempt that is over
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

// RunEnded closes the sockets of this attempt of a run and of earlier ones, after their queued output was sent. Call
// it after the end of the attempt is visible to readers of the run.
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
		h.freeLease(s, s.holder.who.Name)
	}
	s.waiting = nil
	if h.runs[s.RunID] == s {
		delete(h.runs, s.RunID)
	}
	for _, a := range s.people {
		a.End(why)
	}
}

// HostGone informs the clients of a host that its uplink is lost. The clients stay attached.
func (h *Attachments) HostGone(hostID string) {
	for _, a := range h.onHost(hostID) {
		a.lost()
	}
}

// HostBack reopens every relay of a host that is not on the host's current uplink.
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

// FromWorker handles attach_data, attach_resized and attach_closed of a host. It never waits for a client. Frames
// about relays of other hosts are ignored, and a relay without a client is closed.
func (h *Attachments) FromWorker(hostID string, f wire.Frame) {
	switch f := f.(type) {
	case *wire.AttachData:
		if a := h.relay(hostID, f.AttachID); a != nil {
			a.pushData(f.Bytes)
		} else if link, ok := h.cfg.Link(hostID); ok {
			_ = link.Send(wire.AttachClose{AttachID: f.AttachID}) // otherwise the worker keeps sending its data
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

// resized sends the session's size to all its clients, each size once. The size that the holder last requested may be
// newer.
func (h *Attachments) resized(s *session, rows, cols int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.shown.rows, s.shown.cols = rows, cols
	for _, a := range s.people {
		a.pushSize(rows, cols)
	}
}

func (s *session) stopWaiting(a *Attachment) {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *Attachment) bool { return w == a })
}
