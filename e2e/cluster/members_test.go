package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"svc"
	"svc/api"
	"svc/internal/pgtest"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// onWrote calls fn when the request of the context has been written.
func onWrote(ctx context.Context, fn func()) context.Context {
	once := sync.OnceFunc(fn)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { once() }})
}

func TestAnyOrchestratorAnswersForAll(t *testing.T) {
	t.Parallel()
	k := newSink(t)
	s := newSite(t, 3, pgtest.Start(t), k.config())
	s.in(t, "run", s.anyAnswers)
	s.in(t, "figures", s.ownFigures)
	s.in(t, "keys", s.sameKeys)
	s.in(t, "attach", s.attachments)
	s.in(t, "joiners", s.refusedJoins)
	s.notified(t, k)
	s.needs(t)
}

func (s *site) anyAnswers() {
	t := s.t
	for i, o := range s.m.All {
		id := s.run("run of "+o.Name(), "echo from "+o.Name()+"; read -r line; echo got $line")
		s.await(id, svc.TopicRunStarted)
		for _, at := range s.m.All {
			got, err := at.Client().Run(t.Context(), id)
			if err != nil || got.Status != svc.RunRunning {
				t.Errorf("%s: the run is %s: %v", at.Name(), got.Status, err)
			}
		}
		if err := o.Client().SendKeys(t.Context(), id, []string{"text:hello", "Enter"}); err != nil {
			t.Fatalf("keys by %s: %v", o.Name(), err)
		}
		s.awaitEnd(id)
		if _, text := s.log(s.m.All[(i+1)%len(s.m.All)], id); !strings.Contains(text, "got hello") {
			t.Errorf("its log is %q", text)
		}
	}
	var listed []svc.Replica
	waittest.Eventually(t, "three are listed, of which one leads and one has the uplink of the host", func() bool {
		list, err := s.client.Replicas(t.Context(), svc.Page{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		leaders, uplinks := 0, 0
		for _, r := range list.Items {
			if r.Leader {
				leaders++
			}
			uplinks += r.Uplinks
		}
		listed = list.Items
		return len(list.Items) == 3 && leaders == 1 && uplinks == 1
	})
	for _, o := range s.m.All {
		if address := strings.TrimPrefix(s.m.Peers[s.index(o)].URL, "http://"); !slices.ContainsFunc(listed, func(r svc.Replica) bool { return r.Address == address }) {
			t.Errorf("%s is not listed", o.Name())
		}
	}
}

// ownFigures sums the metrics of all orchestrators: exactly one leads, all report its term and can reach it, and one
// has the host's uplink.
func (s *site) ownFigures() {
	sums := map[string]float64{}
	for _, o := range s.m.All {
		answer, err := o.Get(s.t.Context(), "/metrics")
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^(svc_\w+)(?:\{status="online"\})? ([0-9.e+-]+)$`).FindAllStringSubmatch(string(text), -1) {
			value, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				s.t.Fatal(err)
			}
			sums[m[1]] += value
		}
	}
	for name, want := range map[string]float64{"svc_replica_leads": 1, "svc_replica_term": 3 * float64(s.term()), "svc_replica_leader_reachable": 3, "svc_replica_uplinks": 1, "svc_hosts": 1} {
		if sums[name] != want {
			s.t.Errorf("the sum of %s over all orchestrators is %v, want %v", name, sums[name], want)
		}
	}
	if sums["svc_replica_forwarded_total"] == 0 {
		s.t.Error("nothing was forwarded")
	}
}

// sameKeys sends the same idempotency key to two orchestrators at the same time.
func (s *site) sameKeys() {
	t := s.t
	leader, follower := s.m.Leader(), s.m.Follower()
	clients := []*api.Client{leader.Client(), follower.Client()}
	for pair := range 50 * rounds() {
		mark := fmt.Sprintf("same key %d", pair)
		s.note(mark, "")
		ids := make([]string, len(clients))
		var both sync.WaitGroup
		for i, client := range clients {
			both.Go(func() {
				var err error
				if ids[i], err = s.item(t.Context(), client, mark, nil); err != nil {
					t.Errorf("%s at %s: %v", mark, client.BaseURL, err)
				}
			})
		}
		both.Wait()
		if ids[0] != ids[1] {
			t.Errorf("%s created %v", mark, ids)
		}
		s.note(mark, ids[0])
	}
}

// refusedJoins starts orchestrators that must be refused: three with a different secret each, and one without a cluster
// address.
func (s *site) refusedJoins() {
	t := s.t
	joiners := map[string]*proctest.Orchestrator{
		"SVC_SIGNING_KEY":  s.m.Joiner("otherkey", s.dsn, "SVC_SIGNING_KEY="+strings.Repeat("0f", 32)),
		"SVC_TOKEN":        s.m.Joiner("othertoken", s.dsn, "SVC_TOKEN="+strings.Repeat("ab", 16)),
		"SVC_WORKER_TOKEN": s.m.Joiner("otherworker", s.dsn, "SVC_WORKER_TOKEN="+strings.Repeat("ab", 16)),
		"cluster_address":  proctest.NewOrchestrator(s.lab, proctest.ServeOptions{Name: "alone", Database: s.dsn}),
	}
	for _, o := range joiners {
		o.Launch()
	}
	for word, o := range joiners {
		if err := o.Wait(waittest.Patience); err == nil {
			t.Errorf("%s ended with 0", o.Name())
		}
		if said := o.Log(); !strings.Contains(said, word) {
			t.Errorf("%s does not name %s: %s", o.Name(), word, said)
		}
	}
}

// attachments attaches to a terminal through a follower, kills the leader, and attaches again.
func (s *site) attachments() {
	leader, follower := s.m.Leader(), s.m.Follower()
	id := s.run("attached", `while read -r line; do echo "[said $line]"; [ "$line" = end ] && exit 0; done`)
	s.await(id, svc.TopicRunStarted)
	first := s.attach(follower, id)
	first.typeIn("hello\r")
	first.awaitOutput("[said hello]")
	s.await(id, svc.TopicRunLeaseAcquired) // this event is committed asynchronously
	s.watchers(id)
	leader.Kill()
	first.awaitClose()
	leader.Launch()
	second := s.attach(follower, id)
	second.typeIn("again\r")
	second.awaitOutput("[said again]")
	second.typeIn("end\r")
	s.awaitEnd(id)
	second.awaitClose()
	s.awaitAllReady()
	var told []svc.Topic
	waittest.Eventually(s.t, "the lease was acquired and released twice", func() bool {
		told = nil
		for _, e := range s.readers["balancer"].Of(id, svc.TopicRunLeaseAcquired, svc.TopicRunLeaseReleased) {
			told = append(told, e.Topic)
		}
		return len(told) >= 4
	})
	if want := []svc.Topic{svc.TopicRunLeaseAcquired, svc.TopicRunLeaseReleased, svc.TopicRunLeaseAcquired, svc.TopicRunLeaseReleased}; !slices.Equal(told, want) {
		s.t.Errorf("the events of the lease are %v, want %v", told, want)
	}
}

// watchers lets clients at several orchestrators watch one terminal. Each client that requested the list must receive
// all watchers of all orchestrators. The owner holds the lease.
func (s *site) watchers(id string) {
	leader, follower := s.m.Leader(), s.m.Follower()
	ann := s.attachAs(leader, "list-ann", svc.RoleOperator, id)
	ann.awaitList("owner* list-ann!")
	ben := s.attachAs(follower, "list-ben", svc.RoleViewer, id)
	screen, err := s.clientAs(follower, "list-carl", svc.RoleViewer).WatchPane(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	ann.awaitList("owner* list-ann! list-ben ~list-carl")
	ben.awaitList("owner* list-ann list-ben! ~list-carl")
	_ = screen.CloseNow()
	_ = ann.conn.CloseNow()
	ben.awaitList("owner* list-ben!")
	_ = ben.conn.CloseNow()
}

func TestWhatWorkersRelayedOutlivesTheLeadersDiskAndTheHost(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2, pgtest.Start(t))
	leader, other := s.m.Leader(), s.m.Follower()
	id := s.run("relayed", "seq 1 20000; echo the end")
	s.awaitEnd(id)
	_, want := s.log(leader, id)
	copied := filepath.Join(other.Dir, "relay", id, "1.log")
	waittest.Eventually(t, "the log is copied", func() bool {
		text, err := os.ReadFile(copied)
		return err == nil && len(text) >= len(want)
	})
	s.worker.Kill()
	leader.Kill()
	if err := errors.Join(os.RemoveAll(s.worker.Dir), os.RemoveAll(leader.Dir)); err != nil {
		t.Fatal(err)
	}
	if status, text := s.log(other, id); status != 200 || text != want || !strings.Contains(want, "the end") {
		t.Errorf("the log is %d with %d bytes, want %d", status, len(text), len(want))
	}
}
