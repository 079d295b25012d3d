package proctest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc"
	"svc/internal/waittest"
)

// Event is one message of the event stream.
type Event struct {
	Seq     int64
	Topic   svc.Topic
	Payload map[string]any
	Came    time.Time // when the follower received it
}

// Text returns a member of the payload as text; empty when the member does not exist.
func (e Event) Text(member string) string {
	switch v := e.Payload[member].(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// Follower follows the whole event stream from the beginning of the journal, with one cursor, through every restart
// of the orchestrator. It checks what the stream guarantees: each seq once, and no gap.
type Follower struct {
	o      *Orchestrator
	url    string
	token  string
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex // guards the rest
	events  []Event
	broken  string        // the first violation of the guarantee
	news    chan struct{} // closed and replaced with each event
	Resumed int           // how often the stream was opened
}

// Follow starts a follower. The orchestrator must have been started at least once, because the first start makes the
// token.
func (o *Orchestrator) Follow() *Follower {
	o.lab.TB.Helper()
	return o.FollowBy(o.URL)
}

// FollowBy is Follow through another URL, such as that of a proxy.
func (o *Orchestrator) FollowBy(url string) *Follower {
	o.lab.TB.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := &Follower{o: o, url: url, token: o.Token(), cancel: cancel, done: make(chan struct{}), news: make(chan struct{})}
	go f.run(ctx)
	o.lab.TB.Cleanup(f.Close)
	return f
}

// Close ends the follower and fails the test if the stream has violated its guarantee.
func (f *Follower) Close() {
	f.cancel()
	<-f.done
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != "" {
		f.o.lab.TB.Errorf("event stream: %s", f.broken)
		f.broken = ""
	}
}

func (f *Follower) run(ctx context.Context) {
	defer close(f.done)
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Transport: transport}
	for ctx.Err() == nil {
		f.stream(ctx, client)
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stream reads one connection to its end, from the cursor on.
func (f *Follower) stream(ctx context.Context, client *http.Client) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/api/v1/events/stream", nil)
	if err != nil {
		return
	}
	request.Header.Set("Authorization", "Bearer "+f.token)
	request.Header.Set("Last-Event-ID", strconv.FormatInt(f.cursor(), 10))
	answer, err := client.Do(request)
	if err != nil {
		return // the test has stopped the orchestrator
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return
	}
	f.mu.Lock()
	f.Resumed++
	f.mu.Unlock()
	f.read(answer.Body)
}

// read reads the messages of one connection. A connection that ends in the middle of a line is no violation: the next
// connection repeats the message.
func (f *Follower) read(body io.Reader) {
	lines := bufio.NewReader(body)
	var e Event
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			e.Seq, err = strconv.ParseInt(value, 10, 64)
		case "event":
			e.Topic = svc.Topic(value)
		case "data":
			err = json.Unmarshal([]byte(value), &e.Payload)
		case "":
			f.take(e)
			e = Event{}
		}
		if err != nil {
			f.breach(fmt.Sprintf("%q: %v", line, err))
		}
	}
}

func (f *Follower) cursor() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) == 0 {
		return 0
	}
	return f.events[len(f.events)-1].Seq
}

func (f *Follower) take(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Seq != int64(len(f.events))+1 && f.broken == "" {
		f.broken = fmt.Sprintf("after %d events came seq %d (%s)", len(f.events), e.Seq, e.Topic)
	}
	e.Came = time.Now()
	f.events = append(f.events, e)
	close(f.news)
	f.news = make(chan struct{})
}

func (f *Follower) breach(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken == "" {
		f.broken = what
	}
}

// Events returns the events that were received so far.
func (f *Follower) Events() []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events[:len(f.events):len(f.events)]
}

// Where returns the events so far for which pass is true.
func (f *Follower) Where(pass func(Event) bool) []Event {
	var found []Event
	for _, e := range f.Events() {
		if pass(e) {
			found = append(found, e)
		}
	}
	return found
}

// Of returns the events so far of a run or a host, with one of the topics; no topics means all.
func (f *Follower) Of(id string, topics ...svc.Topic) []Event {
	return f.Where(func(e Event) bool {
		if e.Text("run_id") != id && e.Text("host_id") != id {
			return false
		}
		for _, t := range topics {
			if t == e.Topic {
				return true
			}
		}
		return len(topics) == 0
	})
}

// Await waits until the events so far meet a condition.
func (f *Follower) Await(limit time.Duration, what string, fulfilled func([]Event) bool) {
	f.o.lab.TB.Helper()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		f.mu.Lock()
		news, events := f.news, f.events[:len(f.events):len(f.events)]
		f.mu.Unlock()
		if fulfilled(events) {
			return
		}
		select {
		case <-news:
		case <-timeout.C:
			f.o.lab.TB.Fatalf("not within %v: %s; the last of %d events: %v", limit, what, len(events), events[max(0, len(events)-8):])
		}
	}
}

// AwaitRun waits for the first event of a run with one of the topics, and returns it.
func (f *Follower) AwaitRun(id string, topics ...svc.Topic) Event {
	f.o.lab.TB.Helper()
	var found []Event
	f.Await(waittest.Patience, fmt.Sprintf("run %s has %v", id, topics), func([]Event) bool {
		found = f.Of(id, topics...)
		return len(found) > 0
	})
	return found[0]
}
