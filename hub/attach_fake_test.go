package hub

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/wire"
)

const (
	hostA = "0190a000-0000-7000-8000-00000000000a"
	hostB = "0190a000-0000-7000-8000-00000000000b"
	runA  = "11111111-1111-4111-8111-111111111111"
	runB  = "22222222-2222-4222-8222-222222222222"
)

// fakeLink simulates a worker and records the frames that it is sent.
type fakeLink struct {
	mu     sync.Mutex
	frames []wire.Frame
	caps   []string
	broken bool
	onSend func(wire.Frame) // called before a frame is recorded; may be nil
}

func (l *fakeLink) Send(f wire.Frame) error {
	if l.onSend != nil {
		l.onSend(f)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return ErrNotConnected
	}
	l.frames = append(l.frames, f)
	return nil
}

func (l *fakeLink) Has(c string) bool { return slices.Contains(l.caps, c) }

// take returns the frames since the last call, in a form such as "open run 50x220".
func (l *fakeLink) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := []string{}
	for _, f := range l.frames {
		switch f := f.(type) {
		case wire.AttachOpen:
			said = append(said, fmt.Sprintf("open %s/%d %dx%d", f.RunID[:2], f.Attempt, f.Rows, f.Cols))
		case wire.AttachInput:
			said = append(said, "input "+string(f.Bytes))
		case wire.AttachResize:
			said = append(said, fmt.Sprintf("resize %dx%d", f.Rows, f.Cols))
		case wire.AttachClose:
			said = append(said, "close")
		}
	}
	l.frames = nil
	return said
}

// opened returns the attach_ids of every attach_open since the last call of take.
func (l *fakeLink) opened() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for _, f := range l.frames {
		if o, ok := f.(wire.AttachOpen); ok {
			ids = append(ids, o.AttachID)
		}
	}
	return ids
}

// stage is a running Attachments with a simulated worker, inside a synctest bubble.
type stage struct {
	t       *testing.T
	hub     *Attachments
	mu      sync.Mutex
	links   map[string]*fakeLink
	leases  []string
	typed   []string
	holders []string // +name or -name, and the name of the person who caused it
	people  map[string]*person
	names   []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, people: map[string]*person{}, links: map[string]*fakeLink{hostA: {caps: []string{wire.CapAttach}}}}
	s.hub = NewAttachments(AttachConfig{
		Link: func(hostID string) (Link, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			l, ok := s.links[hostID]
			return l, ok
		},
		OnLease: func(e LeaseEvent) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if e.Acquired {
				s.leases = append(s.leases, fmt.Sprintf("acquired/%d", e.Attempt))
				s.holders = append(s.holders, "+"+e.Holder+" by "+e.By)
			} else {
				s.leases = append(s.leases, fmt.Sprintf("released/%d", e.Attempt))
				s.holders = append(s.holders, "-"+e.Holder+" by "+e.By)
			}
		},
		OnInput: func(runID, _ string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.typed = append(s.typed, runID)
		},
		LeaseIdle: func() time.Duration { return leaseIdle },
		Log:       quiet(),
	})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.hub.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return s
}

func (s *stage) link() *fakeLink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links[hostA]
}

func (s *stage) setLink(l *fakeLink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l == nil {
		delete(s.links, hostA)
		return
	}
	s.links[hostA] = l
}

func (s *stage) journal() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := strings.Join(s.leases, " ")
	s.leases = nil
	return said
}

// person is a client whose socket reads every frame.
type person struct {
	a     *Attachment
	mu    sync.Mutex
	shown []shown
	end   error
	done  chan struct{}
}

type shown struct {
	at    time.Time
	typ   string
	text  string // of a frame other than data: the type and its main field
	bytes []byte
}

// ann may type. A person whose name begins with viewer may not.
var ann = Person{Name: "ann"}

// leaseIdle is the stage's [AttachConfig.LeaseIdle].
const leaseIdle = 10 * time.Minute

func (s *stage) join(name, runID string) *person {
	s.t.Helper()
	return s.joinAs(name, runID, Person{Name: name, Watches: strings.HasPrefix(name, "viewer")})
}

// joinAs lets a person join under another name in the test, because a person may join twice.
func (s *stage) joinAs(name, runID string, who Person) *person {
	s.t.Helper()
	a, err := s.hub.Join(Target{RunID: runID, Attempt: 1, HostID: hostA}, who)
	if err != nil {
		s.t.Fatal(err)
	}
	p := &person{a: a, done: make(chan struct{})}
	go p.read()
	s.people[name] = p
	s.names = append(s.names, name)
	synctest.Wait()
	return p
}

func (p *person) read() {
	defer close(p.done)
	defer p.a.Leave()
	for {
		b, err := p.a.Next(context.Background())
		p.mu.Lock()
		if err != nil {
			p.end = err
			p.mu.Unlock()
			return
		}
		p.shown = append(p.shown, parseShown(b))
		p.mu.Unlock()
	}
}

func parseShown(b []byte) shown {
	var f struct {
		Type, Code, Bytes string
		Rows, Cols        int
		Watchers          []watcher
		More              int
	}
	if err := json.Unmarshal(b, &f); err != nil {
		panic(err)
	}
	out := shown{at: time.Now(), typ: f.Type, text: f.Type}
	switch f.Type {
	case "error":
		out.text = f.Code
	case "resize":
		out.text = fmt.Sprintf("resize %dx%d", f.Rows, f.Cols)
	case "watchers":
		out.text = "watchers(" + listed(f.Watchers, f.More) + ")"
	case "data":
		data, err := base64.StdEncoding.DecodeString(f.Bytes)
		if err != nil {
			panic(err)
		}
		out.bytes = data
	}
	return out
}

// listed formats a list of watchers: * holds the lease, ! is the client itself, ~ is not attached.
func listed(list []watcher, more int) string {
	var all []string
	for _, w := range list {
		text := w.Name
		if w.Mode == watcherLive {
			text = "~" + text
		}
		if w.Holds {
			text += "*"
		}
		if w.You {
			text += "!"
		}
		all = append(all, text)
	}
	if more > 0 {
		all = append(all, fmt.Sprintf("+%d", more))
	}
	return strings.Join(all, ",")
}

// said returns every frame other than data since the last call, with the name of its receiver.
func (s *stage) said() string {
	synctest.Wait()
	var all []string
	for _, name := range s.names {
		p := s.people[name]
		p.mu.Lock()
		for _, f := range p.shown {
			if f.typ != "data" {
				all = append(all, name+":"+f.text)
			}
		}
		p.shown = slices.DeleteFunc(p.shown, func(f shown) bool { return f.typ != "data" })
		p.mu.Unlock()
	}
	return strings.Join(all, " ")
}

func (p *person) output() (text string, frames []shown) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []byte
	for _, f := range p.shown {
		if f.typ == "data" {
			all = append(all, f.bytes...)
			frames = append(frames, f)
		}
	}
	return string(all), frames
}

func (p *person) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end
}

func (s *stage) sends(name, frame string) error {
	err := s.people[name].a.Handle([]byte(frame))
	synctest.Wait()
	return err
}

func (s *stage) leaves(name string) {
	s.people[name].a.End(svc.Errorf(svc.CodeInternal, "left"))
	<-s.people[name].done
	synctest.Wait()
}

// emit sends output of the session to the given relays.
func (s *stage) emit(ids []string, text string) {
	for _, id := range ids {
		s.hub.FromWorker(hostA, &wire.AttachData{AttachID: id, Bytes: []byte(text)})
	}
}

func input(text string) string {
	return `{"type":"input","bytes":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"}`
}

const (
	release = `{"type":"release_lease"}`
	resize  = `{"type":"resize","rows":41,"cols":123}`
)
