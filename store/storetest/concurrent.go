package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"svc"
	"svc/store"
)

const (
	concurrentCallers = 12 // of each store
	concurrentUnits   = 25 // of each caller
	concurrentRuns    = 8
	concurrentKeys    = 40
	concurrentRoom    = 3 // of each host
)

// Concurrent lets several stores on one database change the same few records at
// random. Then it compares the records with a model, which it computes from the
// journal: no update is lost, no key is used twice, no host has more runs than it
// may have, and no signal is recorded twice.
func Concurrent(t *testing.T, stores []*store.Store) {
	c := newConcurrentTest(t, stores)
	var wg sync.WaitGroup
	for i := range concurrentCallers * len(stores) {
		random := rand.New(rand.NewPCG(uint64(i), 7)) //nolint:gosec // a test
		wg.Go(func() {
			for range concurrentUnits {
				if err := c.step(stores[i%len(stores)], random); err != nil {
					t.Errorf("a unit of store %d: %v", i%len(stores), err)
				}
			}
		})
	}
	wg.Wait()
	c.verify()
}

// concurrentTest has the records that all callers change, and the results of the calls.
type concurrentTest struct {
	*world
	projects []svc.Project
	tasks    []svc.WorkItem // one of each project
	hosts    []svc.Host
	runs     []string

	mu      sync.Mutex                 // guards the rest
	answers map[string]map[string]bool // by key, the run ids that were returned for it
	taken   map[string]int             // by signal, how often it was recorded
}

func newConcurrentTest(t *testing.T, stores []*store.Store) *concurrentTest {
	c := &concurrentTest{world: newWorld(t, stores[0]), answers: map[string]map[string]bool{}, taken: map[string]int{}}
	for i := range 2 {
		p := c.project(fmt.Sprint("p", i))
		c.projects, c.tasks = append(c.projects, p), append(c.tasks, c.item(p, nil))
		h := c.host(fmt.Sprint("h", i))
		h.Status, h.MaxRuns = svc.HostOnline, ptr(concurrentRoom)
		c.write(func(tx *store.Tx) error { return tx.UpdateHost(c.ctx, &h) })
		c.hosts = append(c.hosts, h)
	}
	for i := range concurrentRuns {
		c.runs = append(c.runs, c.run(c.tasks[i%2]).ID)
	}
	return c
}

// unit is a random change, and the rows that it needs.
type unit struct {
	rows []store.Row
	do   func(ctx context.Context, tx *store.Tx) error
	done func() // called after the commit; nil: nothing is to be done
}

func (c *concurrentTest) step(s *store.Store, random *rand.Rand) error {
	kinds := []func(*rand.Rand) unit{c.progress, c.create, c.signal, c.claim, c.rename, c.complete}
	u := kinds[random.IntN(len(kinds))](random)
	random.Shuffle(len(u.rows), func(i, j int) { u.rows[i], u.rows[j] = u.rows[j], u.rows[i] })
	if err := s.WriteRepeatable(c.ctx, func(tx *store.Tx) error { return u.do(c.ctx, tx) }, u.rows...); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if u.done != nil {
		u.done()
	}
	return nil
}

// progress increments the counters of several runs.
func (c *concurrentTest) progress(random *rand.Rand) (u unit) {
	var ids []string
	for _, i := range random.Perm(len(c.runs))[:1+random.IntN(4)] {
		ids, u.rows = append(ids, c.runs[i]), append(u.rows, store.RunRow(c.runs[i]))
	}
	u.do = func(ctx context.Context, tx *store.Tx) error {
		for _, id := range ids {
			if err := countUp(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	}
	return u
}

func countUp(ctx context.Context, tx *store.Tx, id string) error {
	r, err := tx.LockRun(ctx, id)
	if err != nil {
		return err
	}
	r.LastProgressSeq++
	tx.Emit(svc.TopicRunSignal, map[string]any{"run_id": id, "count": r.LastProgressSeq})
	return tx.UpdateRun(ctx, &r)
}

// create inserts a run under an idempotency key that other callers use too.
func (c *concurrentTest) create(random *rand.Rand) unit {
	key, task := fmt.Sprint("key-", random.IntN(concurrentKeys)), c.tasks[random.IntN(len(c.tasks))]
	var answer string
	return unit{rows: []store.Row{store.KeyRow(key), store.TargetRow(task.ID)},
		do: func(ctx context.Context, tx *store.Tx) error {
			kept, found, err := tx.Kept(ctx, key, 0)
			if err != nil || found {
				answer = kept.Result
				return err
			}
			if _, err := tx.LockRunTarget(ctx, task.ID); err != nil {
				return err
			}
			id := svc.NewRunID()
			answer = id
			tx.Emit(svc.TopicRunCreated, map[string]any{"run_id": id, "key": key})
			if err := tx.InsertRun(ctx, svc.Run{ID: id, TaskID: task.ID, ProjectID: task.ProjectID, Provider: "provider_a", SessionName: svc.SessionName(id),
				Status: svc.RunPending, Attempt: 1, Args: []string{}, Env: map[string]string{}, RestartPolicy: svc.RestartNever,
				PendingSince: tx.Now, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}); err != nil {
				return err
			}
			return tx.KeepResult(ctx, key, "fingerprint", id)
		},
		done: func() {
			if c.answers[key] == nil {
				c.answers[key] = map[string]bool{}
			}
			c.answers[key][answer] = true
		}}
}

// signal records one of a few signals.
func (c *concurrentTest) signal(random *rand.Rand) unit {
	s := svc.Signal{RunID: c.runs[random.IntN(len(c.runs))], Attempt: 1 + random.IntN(3), Kind: svc.SignalStarted, Source: svc.FromWrapper}
	fresh := false
	return unit{rows: []store.Row{store.RunRow(s.RunID)},
		do: func(ctx context.Context, tx *store.Tx) (err error) {
			if _, err = tx.LockRun(ctx, s.RunID); err == nil {
				fresh, err = tx.TakeSignal(ctx, s)
			}
			return err
		},
		done: func() {
			if fresh {
				c.taken[fmt.Sprint(s.RunID, s.Attempt)]++
			}
		}}
}

// claim gives a pending run to a host that has room, or makes a placed run
// pending again.
func (c *concurrentTest) claim(random *rand.Rand) unit {
	id, h := c.runs[random.IntN(len(c.runs))], c.hosts[random.IntN(len(c.hosts))]
	return unit{rows: []store.Row{store.RunRow(id), store.HostRow(h.ID)},
		do: func(ctx context.Context, tx *store.Tx) error {
			r, err := tx.LockRun(ctx, id)
			if err != nil {
				return err
			}
			if r.HostID != nil {
				r.Status, r.HostID = svc.RunPending, nil
				tx.Emit(svc.TopicRunRequeued, map[string]any{"run_id": id})
				return tx.UpdateRun(ctx, &r)
			}
			room, err := tx.Capacities(ctx, []string{h.ID})
			if err != nil || room[h.ID].Free <= 0 {
				return err
			}
			r.Status, r.HostID = svc.RunSpawning, &h.ID
			tx.Emit(svc.TopicRunSpawning, map[string]any{"run_id": id, "host_id": h.ID})
			if err := tx.UpdateRun(ctx, &r); err != nil {
				return err
			}
			return tx.DispatchedTo(ctx, []string{h.ID})
		}}
}

// rename changes a project that it finds by its slug.
func (c *concurrentTest) rename(random *rand.Rand) unit {
	p := c.projects[random.IntN(len(c.projects))]
	return unit{rows: []store.Row{store.ProjectRow(p.Slug)},
		do: func(ctx context.Context, tx *store.Tx) error { return describe(ctx, tx, p.Slug) }}
}

func describe(ctx context.Context, tx *store.Tx, project string) error {
	p, err := tx.LockProject(ctx, project)
	if err != nil {
		return err
	}
	p.Description += "x"
	tx.Emit(svc.TopicProjectUpdated, map[string]any{"project_id": p.ID, "length": len(p.Description)})
	return tx.UpdateProject(ctx, &p)
}

// complete changes a run and its project.
func (c *concurrentTest) complete(random *rand.Rand) unit {
	i := random.IntN(len(c.runs))
	return unit{rows: []store.Row{store.RunRow(c.runs[i]), store.RunProjectRow(c.runs[i])},
		do: func(ctx context.Context, tx *store.Tx) error {
			if err := countUp(ctx, tx, c.runs[i]); err != nil {
				return err
			}
			return describe(ctx, tx, c.projects[i%2].ID)
		}}
}

// verify computes the model from the journal and compares the records with it.
func (c *concurrentTest) verify() {
	counts, hosts, lengths, created := map[string]int64{}, map[string]string{}, map[string]int{}, map[string]string{}
	for i, e := range c.journal() {
		if e.Seq != int64(i)+1 {
			c.t.Fatalf("event %d has seq %d", i, e.Seq)
		}
		var p struct {
			RunID     string `json:"run_id"`
			HostID    string `json:"host_id"`
			ProjectID string `json:"project_id"`
			Key       string
			Count     int64
			Length    int
		}
		c.must(json.Unmarshal(e.Payload, &p))
		switch e.Topic {
		case svc.TopicRunSignal:
			if counts[p.RunID]++; counts[p.RunID] != p.Count {
				c.t.Fatalf("event %d counts run %s to %d, want %d: an update was lost, or the order is not that of the commits", e.Seq, p.RunID, p.Count, counts[p.RunID])
			}
		case svc.TopicProjectUpdated:
			if lengths[p.ProjectID]++; lengths[p.ProjectID] != p.Length {
				c.t.Fatalf("event %d describes project %s with %d letters, want %d", e.Seq, p.ProjectID, p.Length, lengths[p.ProjectID])
			}
		case svc.TopicRunCreated:
			if first, has := created[p.Key]; has {
				c.t.Errorf("key %s made run %s and run %s", p.Key, first, p.RunID)
			}
			created[p.Key] = p.RunID
		case svc.TopicRunRequeued:
			delete(hosts, p.RunID)
		case svc.TopicRunSpawning:
			hosts[p.RunID] = p.HostID
			if n := countValues(hosts, p.HostID); n > concurrentRoom {
				c.t.Errorf("event %d gives a host its %d. run", e.Seq, n)
			}
		}
	}
	for _, id := range c.runs {
		r, err := c.Run(c.ctx, id)
		c.must(err)
		if r.LastProgressSeq != counts[id] || r.HostID == nil && hosts[id] != "" || r.HostID != nil && hosts[id] != *r.HostID {
			c.t.Errorf("run %s is at %d on %v, the journal says %d on %q", id, r.LastProgressSeq, r.HostID, counts[id], hosts[id])
		}
	}
	for _, p := range c.projects {
		if got, err := c.Project(c.ctx, p.ID); err != nil || len(got.Description) != lengths[p.ID] {
			c.t.Errorf("project %s has %d letters, the journal says %d (%v)", p.ID, len(got.Description), lengths[p.ID], err)
		}
	}
	for key, answers := range c.answers {
		if len(answers) != 1 || !answers[created[key]] {
			c.t.Errorf("key %s was answered with %v, and made %q", key, answers, created[key])
		}
	}
	for signal, n := range c.taken {
		if n != 1 {
			c.t.Errorf("signal %s was taken %d times", signal, n)
		}
	}
}

func countValues(m map[string]string, value string) (n int) {
	for _, v := range m {
		if v == value {
			n++
		}
	}
	return n
}
