package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"svc/internal/proctest"
	"svc/internal/waittest"
)

// sink is a web server that receives notifications. It stores each of them at once, and can delay its responses.
type sink struct {
	url string

	mu   sync.Mutex // guards the rest
	held chan struct{}
	got  []notification
}

// notification is a received notification.
type notification struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Key   string `json:"key"`
	Title string `json:"title"`
	RunID string `json:"run_id"`
}

func newSink(t *testing.T) *sink {
	t.Helper()
	k := &sink{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n notification
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			return // the sender was killed meanwhile
		}
		if id := r.Header.Get("Svc-Notification-Id"); id != n.ID || id == "" {
			t.Errorf("a notification has the id %q in its header and %q in its body", id, n.ID)
		}
		if held := k.note(n); held != nil {
			select {
			case <-held:
			case <-r.Context().Done():
			}
		}
	}))
	k.url = server.URL
	t.Cleanup(server.Close)
	t.Cleanup(func() { k.hold()() })
	return k
}

// config returns the section of config.toml that sends questions to this sink.
func (k *sink) config() string {
	return fmt.Sprintf("[[notify]]\nname = \"hook\"\nkind = \"webhook\"\nurl = %q\non = [\"needs_input\"]\n", k.url)
}

func (k *sink) note(n notification) (held chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.got = append(k.got, n)
	return k.held
}

// hold delays all responses until release is called.
func (k *sink) hold() (release func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		k.held = make(chan struct{})
	}
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		close(k.held)
		k.held = nil
	})
}

// last returns the number of received notifications, and the newest.
func (k *sink) last() (n int, newest notification) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n = len(k.got); n > 0 {
		newest = k.got[n-1]
	}
	return n, newest
}

// times returns how often a notification with an id was received.
func (k *sink) times(id string) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range k.got {
		if one.ID == id {
			n++
		}
	}
	return n
}

// entries returns the number of inbox entries that were notified. Repetitions have the same id and count once. A digest
// counts as the number of its entries.
func (k *sink) entries(t *testing.T) (n int) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	ids, digests := map[string]string{}, map[string]int{}
	for _, one := range k.got {
		if one.Kind == "digest" {
			var many int
			if _, err := fmt.Sscanf(one.Title, "%d entries", &many); err != nil {
				t.Errorf("a digest is titled %q", one.Title)
			}
			digests[one.ID] = many
			continue
		}
		if id, known := ids[one.Key]; known && id != one.ID {
			t.Errorf("an entry of run %s was sent under the ids %s and %s", one.RunID, id, one.ID)
		}
		ids[one.Key] = one.ID
	}
	for _, many := range digests {
		n += many
	}
	return n + len(ids)
}

// asker is a run's script that asks a question and waits for the answer.
const asker = "svc exec signal progress --message 'which one?' --needs-input; read -r line; echo got $line"

// notifications makes the leader fail while it sends: the sink has not responded to the first question, the second is
// in the outbox, and the third is asked while there is no leader.
func (s *site) notifications(k *sink, asked *int, mark string, begin, end func(*site, *proctest.Orchestrator)) {
	s.t.Helper()
	leader := s.m.Leader()
	before, _ := k.last()
	release := k.hold()
	defer release()
	runs := []string{s.run(mark+" first", asker), s.run(mark+" second", asker)}
	var held notification
	waittest.Eventually(s.t, "the sink has received one question, and the other is in the outbox", func() bool {
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		defer cancel()
		var n int
		n, held = k.last()
		sinks, err := s.client.Sinks(ctx)
		return n > before && err == nil && len(sinks) == 1 && (sinks[0].Waiting == 2 || held.Kind == "digest") // a digest contains both
	})
	begin(s, leader)
	lost := time.Now()
	runs = append(runs, s.run(mark+" third", asker))
	*asked += len(runs)
	release()
	waittest.Eventually(s.t, "all questions are sent, and the interrupted try is repeated", func() bool {
		return k.entries(s.t) >= *asked && k.times(held.ID) > 1
	})
	s.logDuration("all questions are sent after", time.Since(lost), 12*time.Second+30*time.Second) // a digest is sent only some time after the one before
	wantOther(s, leader)
	end(s, leader)
	for i, id := range runs {
		s.answer(fmt.Sprintf("%s answer %d", mark, i), id, "this one")
	}
	for _, id := range runs {
		s.awaitEnd(id)
	}
	if n := k.entries(s.t); n != *asked {
		s.t.Errorf("%d questions were asked, %d were sent", *asked, n)
	}
}

// notified runs notifications once for each way in which a leader's term can end.
func (s *site) notified(t *testing.T, k *sink) {
	t.Helper()
	failures := []failure{{name: "killed", begin: kill, end: start}}
	if proctest.Long() {
		failures = append(failures, failure{name: "frozen", begin: freeze, end: wake}, failure{name: "drained", begin: drain, end: start})
	}
	asked := 0
	for round := range rounds() {
		for _, f := range failures {
			mark := fmt.Sprintf("notifications/%s/%d", f.name, round+1)
			if !s.in(t, mark, func() { s.notifications(k, &asked, mark, f.begin, f.end) }) {
				return
			}
		}
	}
}
