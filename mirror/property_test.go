package mirror

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func jsonOf(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	must(t, err)
	return b
}

// world is a set of replicas, of which one leads, and the content that the workers have. A replica's log must be a
// prefix of the worker's.
type world struct {
	t        *testing.T
	rng      *rand.Rand
	net      *network
	replicas []*replica
	leader   string // empty: none
	logs     map[string]string
	panes    map[string]string
	removed  map[string]bool
	longest  map[string]int // by replica and log: the longest length that was seen, in bytes
	purged   map[int]int    // by number: how often the run was removed. The next run of that number has another name
	steps    int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), net: &network{}, leader: "r0",
		logs: map[string]string{}, panes: map[string]string{}, removed: map[string]bool{}, longest: map[string]int{}, purged: map[int]int{}}
	faults := rand.New(rand.NewPCG(seed, 2))
	w.net.cut = func() int64 { return int64(faults.IntN(200_000)) - 100_000 } // half of all answers break off, if they are long enough
	for i := range 3 {
		r := newReplica(t, w.net, fmt.Sprint("r", i))
		r.gone = w.gone
		w.replicas = append(w.replicas, r)
		r.follow(w.whoLeads)
	}
	return w
}

// gone reports whether retention has removed a file, as the database does.
func (w *world) gone(file string) bool {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	return w.removed[file]
}

func (w *world) whoLeads() string {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	return w.leader
}

func (w *world) lead(name string) {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	w.leader = name
}

func (w *world) leading() *replica {
	return w.replicas[slices.IndexFunc(w.replicas, func(r *replica) bool { return r.name == w.leader })]
}

// elect makes a random replica the leader, as a new process without memory. Workers then send it what it lacks of
// their logs, and it removes what retention removed.
func (w *world) elect() {
	w.lead("")
	synctest.Wait()
	r := w.replicas[w.rng.IntN(len(w.replicas))]
	r.stop()
	r.serve()
	w.catchUp(r, func() bool { return w.rng.IntN(4) == 0 })
	for _, other := range w.replicas {
		if other.stop == nil {
			other.follow(w.whoLeads)
		}
	}
	w.lead(r.name)
}

// catchUp adds to a leader what it lacks, except logs whose worker is away, and removes from it what retention removed.
func (w *world) catchUp(r *replica, away func() bool) {
	for _, log := range slices.Sorted(maps.Keys(w.logs)) {
		text := w.logs[log]
		if have := len(r.content(log)); have < len(text) && !away() {
			r.append(log, text[have:])
		}
	}
	for _, pane := range slices.Sorted(maps.Keys(w.panes)) {
		w.pane(r, pane)
	}
	for file := range w.removed {
		if _, err := os.Stat(r.path(file)); err == nil {
			r.remove(file)
		}
	}
}

func (w *world) pane(r *replica, name string) {
	w.panes[name] = fmt.Sprint(w.rng.Uint64(), strings.Repeat(" screen", w.rng.IntN(100)))
	r.write(name, w.panes[name])
}

func (w *world) step() {
	w.steps++
	r := w.leading()
	number := w.rng.IntN(6)
	run := fmt.Sprintf("run-%d-%d", number, w.purged[number])
	switch n := w.rng.IntN(100); {
	case n < 50:
		log := run + "/1.log"
		if w.rng.IntN(10) == 0 {
			log = run + "/" + fmt.Sprint(w.steps) + ".log"
		}
		text := w.logs[log]
		if have := len(r.content(log)); have < len(text) {
			r.append(log, text[have:]) // the worker is back
		}
		more := strings.Repeat(fmt.Sprint(w.steps, "\n"), 1+w.rng.IntN(1<<w.rng.IntN(14)))
		w.logs[log] += more
		r.append(log, more)
	case n < 65:
		w.pane(r, run+"/pane.json")
	case n < 72:
		for _, file := range []string{run + "/1.log", run + "/pane.json"} {
			delete(w.logs, file)
			delete(w.panes, file)
			w.net.mu.Lock()
			w.removed[file] = true
			w.net.mu.Unlock()
			if _, err := os.Stat(r.path(file)); err == nil {
				r.remove(file)
			}
		}
		w.purged[number]++
	case n < 78:
		w.elect()
	case n < 84: // a replica's puller is stopped at any moment and started again
		other := w.replicas[w.rng.IntN(len(w.replicas))]
		other.stop()
		other.follow(w.whoLeads)
	default:
		settle(time.Duration(w.rng.IntN(3000)) * time.Millisecond)
	}
}

// check fails the test if a copy of a log became shorter, or has bytes that its worker did not write.
func (w *world) check() {
	for _, r := range w.replicas {
		for log, text := range w.logs {
			got := r.content(log)
			if !strings.HasPrefix(text, got) {
				w.t.Fatalf("step %d: %s of %s is not a part of the worker's", w.steps, log, r.name)
			}
			k := r.name + " " + log
			if len(got) < w.longest[k] {
				w.t.Fatalf("step %d: %s of %s had %d bytes and has %d", w.steps, log, r.name, w.longest[k], len(got))
			}
			w.longest[k] = len(got)
		}
	}
}

// finish ends all faults, connects all workers, and expects that all trees become equal.
func (w *world) finish() {
	w.net.mu.Lock()
	w.net.cut = nil
	w.net.mu.Unlock()
	r := w.leading()
	w.catchUp(r, func() bool { return false })
	for _, other := range w.replicas {
		other.stop() // a new Puller compares everything, and looks for files that were removed
		other.follow(w.whoLeads)
	}
	settle(2*defaultFullInterval + time.Minute)
	for log, text := range w.logs {
		if got := r.content(log); got != text {
			w.t.Errorf("the leader's %s has %d bytes, want the worker's %d", log, len(got), len(text))
		}
	}
	want := r.tree()
	for _, other := range w.replicas {
		if diff := differences(want, other.tree()); len(diff) > 0 {
			w.t.Errorf("%s, with %s leading: %q", other.name, r.name, diff)
		}
		other.stop()
	}
}

func TestEveryHistoryEndsInEqualTrees(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, seed)
				for range 100 {
					w.step()
					synctest.Wait()
					w.check()
				}
				w.finish()
			})
		})
	}
}
