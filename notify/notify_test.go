package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"svc"
	"svc/internal/clocktest"
	"svc/store"
	"svc/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is a transport that plays the servers of all sinks. It uses no network, so that the fake clock of a bubble
// advances while an answer is delayed.
type receiver struct {
	mu     sync.Mutex // guards the rest
	answer func(r *http.Request) (status int, err error)
	header http.Header // of the answers
	got    []delivery  // all requests, whatever the answer was
}

type delivery struct {
	to, id, signature, body string
	at                      time.Time
	taken                   bool
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	status := http.StatusOK
	if answer != nil {
		status, err = answer(req)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, delivery{req.URL.Host, req.Header.Get("Svc-Notification-Id"), req.Header.Get("Svc-Signature"), string(body), time.Now(), err == nil && status < 300})
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Header: r.header.Clone(), Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
}

func (r *receiver) answers(answer func(*http.Request) (int, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func status(code int) func(*http.Request) (int, error) {
	return func(*http.Request) (int, error) { return code, nil }
}

// take returns and removes the requests that were sent to a host since the last call.
func (r *receiver) take(host string) (got []delivery) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var rest []delivery
	for _, d := range r.got {
		if d.to == host {
			got = append(got, d)
		} else {
			rest = append(rest, d)
		}
	}
	r.got = rest
	return got
}

// fixture is a database with a task, and a Dispatcher for it, in a bubble with a fake clock.
type fixture struct {
	t    *testing.T
	dir  string
	ctx  context.Context
	st   *store.Store
	to   *receiver
	logs *bytes.Buffer
	*Dispatcher
	stop func()
	item svc.WorkItem
}

func bubble(t *testing.T, test func(o *fixture), sinks ...svc.Sink) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := &fixture{t: t, dir: dir, ctx: t.Context(), to: &receiver{}, logs: &bytes.Buffer{}}
		o.start(sinks...)
		p := svc.Project{ID: svc.NewID(), Name: "p", Slug: "web", Status: svc.ProjectActive, CreatedAt: 1, UpdatedAt: 1, Version: 1}
		o.write(func(tx *store.Tx) error { return tx.InsertProject(o.ctx, p) })
		o.item = svc.WorkItem{ID: svc.NewID(), ProjectID: p.ID, Kind: svc.KindTask, Title: "Fix it", Status: svc.ItemTodo, StatusSource: svc.SourceByHand,
			Position: "a", CreatedAt: 1, UpdatedAt: 1, Version: 1}
		o.item.Path = o.item.ID
		o.write(func(tx *store.Tx) error { return tx.InsertWorkItem(o.ctx, &o.item) })
		o.pass(2 * time.Second) // the sinks are in the database now: entries from here on are sent
		test(o)
		o.stop()
	})
}

// start opens the database and runs a Dispatcher for it.
func (o *fixture) start(sinks ...svc.Sink) {
	o.t.Helper()
	o.connect(sinks...)
	o.serve()
}

// serve runs the Dispatcher until stop is called.
func (o *fixture) serve() {
	ctx, cancel := context.WithCancel(o.ctx)
	served := make(chan error, 1)
	go func() { served <- o.Dispatcher.Run(ctx) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-served, o.st.Close()); err != nil {
			o.t.Error(err)
		}
	})
}

// connect opens the database and creates a Dispatcher, without running it.
func (o *fixture) connect(sinks ...svc.Sink) {
	o.t.Helper()
	log := slog.New(slog.NewTextHandler(o.logs, nil))
	st, err := store.Open(o.ctx, storetest.Fresh(o.t, o.dir), store.Options{Log: log})
	o.must(err)
	o.st, o.Dispatcher = st, New(Config{Store: st, Sinks: sinks, PublicURL: "https://svc.example", Log: log, Transport: o.to})
}

func (o *fixture) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *fixture) write(fn func(*store.Tx) error) {
	o.t.Helper()
	o.must(o.st.Write(o.ctx, fn))
}

func (o *fixture) pass(d time.Duration) {
	clocktest.Pass(d)
	synctest.Wait()
}

// asks inserts a run that waits for an answer.
func (o *fixture) asks(question string) svc.Run {
	o.t.Helper()
	return o.run(asking(question))
}

func asking(question string) func(*svc.Run, svc.Time) {
	return func(r *svc.Run, now svc.Time) {
		r.Status, r.NeedsInput, r.AskedAt, r.ProgressMessage = svc.RunRunning, true, &now, &question
	}
}

// fails inserts a run that has failed, with a task of its own.
func (o *fixture) fails() svc.Run {
	o.t.Helper()
	return o.run(func(r *svc.Run, now svc.Time) {
		code := 3
		r.Status, r.ExitCode, r.EndedAt, r.SessionEndedAt = svc.RunFailed, &code, &now, &now
	})
}

func (o *fixture) run(change func(*svc.Run, svc.Time)) (r svc.Run) {
	o.t.Helper()
	o.write(func(tx *store.Tx) (err error) {
		r, err = o.addRun(tx, change)
		return err
	})
	return r
}

func (o *fixture) addRun(tx *store.Tx, change func(*svc.Run, svc.Time)) (r svc.Run, err error) {
	item := o.item
	item.ID, item.Position = svc.NewID(), item.Position+svc.NewID()
	item.Path = item.ID
	if err := tx.InsertWorkItem(o.ctx, &item); err != nil {
		return r, err
	}
	id := svc.NewRunID()
	r = svc.Run{ID: id, TaskID: item.ID, ProjectID: item.ProjectID, Provider: "a", SessionName: id, Attempt: 1, Prompt: "the prompt", Args: []string{},
		Env: map[string]string{}, HostLabels: map[string]string{}, RestartPolicy: svc.RestartNever, PendingSince: 1, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
	change(&r, tx.Now)
	tx.Emit(svc.TopicRunCreated, r.EventPayload())
	return r, tx.InsertRun(o.ctx, r)
}

// answered clears the question of a run.
func (o *fixture) answered(r svc.Run) {
	o.t.Helper()
	o.write(func(tx *store.Tx) error {
		r, err := tx.LockRun(o.ctx, r.ID)
		if err != nil {
			return err
		}
		r.NeedsInput = false
		tx.Emit(svc.TopicRunSignal, r.EventPayload())
		return tx.UpdateRun(o.ctx, &r)
	})
}

func (o *fixture) state(name string) svc.SinkState {
	o.t.Helper()
	s, err := o.st.SinkState(o.ctx, name)
	o.must(err)
	return s
}

var hook = svc.Sink{Name: "hook", Kind: svc.SinkWebhook, URL: "http://hook/path?key=address", Secret: "shared", Dwell: svc.DefaultDwell}

func TestAnEntryIsToldOnceAndAtOnceOrAfterItsDwell(t *testing.T) {
	bubble(t, func(o *fixture) {
		r := o.asks("may I use svcr_1_abc_0123456789 or 0123456789abcdef0123456789abcdef?")
		o.pass(2 * time.Second)
		got := o.to.take("hook")
		if len(got) != 1 {
			t.Fatalf("a question was told %d times: %v", len(got), got)
		}
		var body map[string]any
		o.must(json.Unmarshal([]byte(got[0].body), &body))
		want := map[string]any{"id": got[0].id, "kind": "needs_input", "title": "Fix it", "text": "needs input: may I use [secret] or [secret]?", "project": "web",
			"task_id": r.TaskID, "run_id": r.ID, "host_id": nil, "url": "https://svc.example/runs/" + r.ID}
		for name, v := range want {
			if body[name] != v {
				t.Errorf("%s is %v, want %v", name, body[name], v)
			}
		}
		if strings.Contains(got[0].body, "prompt") || got[0].id == "" || !strings.HasPrefix(got[0].signature, "sha256=") {
			t.Errorf("sent %+v", got[0])
		}
		gone := o.fails()
		o.pass(5 * time.Second)
		o.write(func(tx *store.Tx) error {
			tx.Emit(svc.TopicInboxDismissed, map[string]any{})
			return tx.MarkInbox(o.ctx, "failed."+gone.ID+".1", nil, "ann")
		})
		stays := o.fails()
		o.pass(10 * time.Second)
		if early := o.to.take("hook"); len(early) != 0 {
			t.Errorf("sent before the dwell was over: %v", early)
		}
		o.pass(time.Minute)
		if got := o.to.take("hook"); len(got) != 1 || !strings.Contains(got[0].body, stays.ID) {
			t.Errorf("after the dwell %v were sent", got)
		}
	}, hook)
}

func TestASinkThatIsDownLosesNothingAndHoldsUpNobody(t *testing.T) {
	bubble(t, func(o *fixture) {
		o.to.answers(func(r *http.Request) (int, error) {
			switch r.URL.Host {
			case "hook":
				return 0, errors.New("connection refused")
			case "slow":
				<-r.Context().Done()
				return 0, r.Context().Err()
			}
			return 200, nil
		})
		first := o.asks("one?")
		closed := o.asks("closed?")
		o.pass(5 * time.Second)
		if got := o.to.take("well"); len(got) != 2 {
			t.Fatalf("beside a dead and a slow sink %d were told, want 2", len(got))
		}
		o.answered(closed)
		tries := o.to.take("hook")
		outage, most := 10*time.Minute, 30
		if os.Getenv("SVC_TEST_LONG") != "" {
			outage, most = time.Hour, 50
		}
		o.pass(outage)
		tries = append(tries, o.to.take("hook")...)
		ids := map[string]bool{}
		for _, d := range tries {
			ids[d.id] = true
		}
		if len(tries) < 5 || len(tries) > most || len(ids) > 2 || tries[1].at.Sub(tries[0].at) > 11*time.Second {
			t.Errorf("in %v there were %d tries of %d notifications", outage, len(tries), len(ids))
		}
		if s := o.state("hook"); s.Failures == 0 || s.Error != "it could not be reached: connection refused" || s.Waiting != 1 && s.Waiting != 2 {
			t.Errorf("the sink is %+v", s)
		}
		if strings.Contains(o.logs.String(), "address") || strings.Contains(o.logs.String(), "shared") {
			t.Errorf("a secret is in the log: %s", o.logs)
		}
		o.to.answers(nil)
		o.pass(11 * time.Minute)
		if got := o.to.take("hook"); len(got) != 1 || !strings.Contains(got[0].body, first.ID) || !ids[got[0].id] {
			t.Errorf("when it is back it is sent %v, want the open entry with its id", got)
		}
		if got := o.to.take("well"); len(got) != 0 {
			t.Errorf("the other sink was told again: %v", got)
		}
		if s := o.state("hook"); s.Failures != 0 || s.Error != "" || s.Waiting != 0 {
			t.Errorf("the sink is %+v", s)
		}
	}, hook, svc.Sink{Name: "slow", Kind: svc.SinkNtfy, URL: "http://slow/t"}, svc.Sink{Name: "well", Kind: svc.SinkSlack, URL: "http://well/s"})
}

func TestWhatASinkAnswersDecidesWhetherItIsTriedAgain(t *testing.T) {
	bubble(t, func(o *fixture) {
		for _, c := range []struct {
			status int
			final  bool
		}{{500, false}, {302, false}, {429, false}, {408, false}, {404, true}, {401, true}} {
			o.to.answers(status(c.status))
			r := o.asks("?")
			o.pass(2 * time.Minute)
			tries := o.to.take("hook")
			if c.final != (len(tries) == 1) {
				t.Errorf("after %d there were %d tries", c.status, len(tries))
			}
			if s := o.state("hook"); !strings.Contains(s.Error, fmt.Sprint(c.status)) || c.final != (s.Waiting == 0) {
				t.Errorf("after %d the sink is %+v", c.status, s)
			}
			o.to.answers(nil)
			o.pass(3 * time.Minute)
			o.answered(r)
			got := o.to.take("hook")
			if want := map[bool]int{true: 0, false: 1}[c.final]; len(got) != want || want == 1 && got[0].id != tries[0].id {
				t.Errorf("after %d, when it works again, it is sent %v", c.status, got)
			}
		}
	}, hook)
}

func TestManyOpeningsBecomeADigest(t *testing.T) {
	bubble(t, func(o *fixture) {
		o.write(func(tx *store.Tx) error {
			for range 500 {
				if _, err := o.addRun(tx, asking("?")); err != nil {
					return err
				}
			}
			return nil
		})
		o.pass(5 * time.Second)
		got := o.to.take("hook")
		if len(got) > oneByOne+1 || len(got) == 0 {
			t.Fatalf("500 openings were sent as %d messages", len(got))
		}
		o.pass(2 * time.Minute)
		got = append(got, o.to.take("hook")...)
		told := 0
		for _, d := range got {
			var m struct{ Kind, Title, Text string }
			o.must(json.Unmarshal([]byte(d.body), &m))
			n := 1
			if m.Kind == "digest" {
				if _, err := fmt.Sscanf(m.Title, "%d entries need you", &n); err != nil || strings.Count(m.Text, "Fix it: needs input") != min(n, digestTitles) {
					t.Errorf("a digest is %+v", m)
				}
			}
			told += n
		}
		if told != 500 || len(got) > 3*(oneByOne+1) {
			t.Errorf("%d messages told of %d entries, want 500", len(got), told)
		}
	}, hook)
}

func TestWhatWasWrittenIsSentAfterACrashAndWithTheSameID(t *testing.T) {
	bubble(t, func(o *fixture) {
		o.asks("?")
		// The process ends in the middle of a try, which was counted, but whose outcome is unknown.
		o.to.answers(func(r *http.Request) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		})
		o.pass(2 * time.Second)
		o.stop()
		cut := o.to.take("hook")
		o.to.answers(nil)
		o.start(hook)
		o.pass(2 * lease)
		got := o.to.take("hook")
		if len(cut) != 1 || len(got) != 1 || got[0].id != cut[0].id {
			t.Errorf("cut off was %v, then sent %v", cut, got)
		}
		o.stop()
		o.start(hook)
		o.pass(time.Minute)
		if again := o.to.take("hook"); len(again) != 0 {
			t.Errorf("after a restart it was sent again: %v", again)
		}
	}, hook)
}

func TestOfManyOrchestratorsOneSends(t *testing.T) {
	bubble(t, func(o *fixture) {
		others := make([]*Dispatcher, 2)
		ctx, cancel := context.WithCancel(o.ctx)
		var wg sync.WaitGroup
		for i := range others {
			others[i] = New(o.Config)
			wg.Go(func() { o.must(others[i].Run(ctx)) })
		}
		o.to.answers(func(*http.Request) (int, error) { // slow, so that the others read the outbox meanwhile
			clocktest.Pass(3 * time.Second)
			return 200, nil
		})
		for range 3 {
			o.asks("?")
		}
		o.pass(time.Minute)
		var ids []string
		for _, d := range o.to.take("hook") {
			ids = append(ids, d.id)
		}
		if slices.Sort(ids); len(ids) != 3 || len(slices.Compact(ids)) != 3 {
			t.Errorf("three entries were sent as %q", ids)
		}
		cancel()
		wg.Wait()
	}, hook)
}

func TestSinksGetWhatTheyWant(t *testing.T) {
	bubble(t, func(o *fixture) {
		o.asks("?")
		o.fails()
		o.pass(time.Minute)
		for host, want := range map[string]int{"kinds": 1, "other": 0, "web": 2} {
			if got := o.to.take(host); len(got) != want {
				t.Errorf("%s got %d, want %d", host, len(got), want)
			}
		}
	}, svc.Sink{Name: "kinds", Kind: svc.SinkWebhook, URL: "http://kinds", On: []svc.InboxKind{svc.InboxFailed}},
		svc.Sink{Name: "other", Kind: svc.SinkWebhook, URL: "http://other", Projects: []string{"shop"}},
		svc.Sink{Name: "web", Kind: svc.SinkWebhook, URL: "http://web", Projects: []string{"web"}})
}
