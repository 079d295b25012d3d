package mirror

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/clocktest"
)

// network is a transport that calls the handler of a request's host, without sockets, so that it works with a fake
// clock.
type network struct {
	mu    sync.Mutex
	hosts map[string]http.Handler
	cut   func() int64 // returns after how many bytes the body of an answer breaks off; negative: never. nil: never
	sent  int64        // bytes of files in the bodies of answers
	asked []string     // the paths of the files that were requested
	clock int64        // of the leaders, in nanoseconds: the system's clock may not advance between two writes
}

// tick returns a time that is later than all that it returned before.
func (n *network) tick() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clock++
	return time.Unix(1_000_000_000, n.clock)
}

func (n *network) set(host string, h http.Handler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts == nil {
		n.hosts = map[string]http.Handler{}
	}
	n.hosts[host] = h
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	h, cut := n.hosts[r.URL.Host], int64(-1)
	if n.cut != nil {
		cut = n.cut()
	}
	n.mu.Unlock()
	if h == nil || cut == 0 {
		return nil, errors.New("connection refused")
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	response := answer.Result()
	n.mu.Lock()
	if r.URL.Path == filePath {
		n.sent += int64(answer.Body.Len())
		n.asked = append(n.asked, r.URL.Query().Get("path"))
	}
	n.mu.Unlock()
	if cut > 0 && int64(answer.Body.Len()) > cut {
		response.Body = io.NopCloser(io.MultiReader(io.LimitReader(response.Body, cut), brokenReader{}))
	}
	return response, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// everything is a Keep with which all files count as old, although the leaders' clock is ahead of the fake one.
const everything = -100 * 365 * 24 * time.Hour

// replica is a folder with a Source and, while it follows, a Puller.
type replica struct {
	t      *testing.T
	net    *network
	name   string
	dir    string
	source *Source
	puller *Puller
	order  func(file string) func(a, b []byte) bool
	gone   func(file string) bool // stands for the shared record of removed files; nil: there is none
	stop   func()                 // ends the puller, and waits for it; nil: no puller runs
}

func newReplica(t *testing.T, n *network, name string) *replica {
	r := &replica{t: t, net: n, name: name, dir: t.TempDir()}
	r.serve()
	return r
}

// serve replaces the replica's Source, like a new process.
func (r *replica) serve() {
	r.source = NewSource(r.dir)
	r.net.set(r.name, r.source)
}

// follow starts a Puller that copies from the leader.
func (r *replica) follow(leader func() string, minFree ...int64) {
	r.puller = &Puller{Dir: r.dir, Client: &http.Client{Transport: r.net}, MinFree: append(minFree, 0)[0], Log: slog.New(slog.DiscardHandler), slice: 64 << 10,
		Base: func() (string, bool) { name := leader(); return "http://" + name, name != "" && name != r.name }}
	r.puller.Order = r.order
	if r.gone != nil {
		r.puller.Gone, r.puller.Keep = func(_ context.Context, file string) bool { return r.gone(file) }, everything
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.puller.Run(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run of %s: %v", r.name, err)
		}
		r.stop = nil
	}
}

func (r *replica) path(file string) string { return filepath.Join(r.dir, filepath.FromSlash(file)) }

func (r *replica) write(file, content string) {
	r.t.Helper()
	must(r.t, os.MkdirAll(filepath.Dir(r.path(file)), 0o700))
	must(r.t, os.WriteFile(r.path(file)+".new", []byte(content), 0o600))
	must(r.t, os.Rename(r.path(file)+".new", r.path(file)))
	r.written(file)
}

func (r *replica) append(file, content string) {
	r.t.Helper()
	must(r.t, os.MkdirAll(filepath.Dir(r.path(file)), 0o700))
	f, err := os.OpenFile(r.path(file), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	must(r.t, err)
	_, err = f.WriteString(content)
	must(r.t, errors.Join(err, f.Close()))
	r.written(file)
}

func (r *replica) written(file string) {
	at := r.net.tick()
	must(r.t, os.Chtimes(r.path(file), at, at))
	r.source.Written(file)
}

func (r *replica) remove(file string) {
	r.t.Helper()
	must(r.t, os.Remove(r.path(file)))
	_ = os.Remove(filepath.Dir(r.path(file))) // a folder that is not empty stays
	r.source.Removed(file)
}

// content returns the content of a file; empty: there is none.
func (r *replica) content(file string) string {
	b, err := os.ReadFile(r.path(file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Errorf("read %s: %v", file, err)
	}
	return string(b)
}

// state is the content and the time of a file of a tree.
type state struct {
	content string
	mtime   int64
}

// tree returns all files by name, and all folders by name with a slash at the end.
func (r *replica) tree() map[string]state {
	found := map[string]state{}
	err := filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == r.dir {
			return err
		}
		name, _ := filepath.Rel(r.dir, path)
		if name = filepath.ToSlash(name); e.IsDir() {
			if name == temporary {
				return filepath.SkipDir
			}
			found[name+"/"] = state{}
			return nil
		}
		info, err := e.Info()
		if err == nil {
			found[name] = state{r.content(name), info.ModTime().UnixNano()}
		}
		return err
	})
	must(r.t, err)
	return found
}

// differences returns the names of the files that differ between two trees.
func differences(want, got map[string]state) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if w, g := want[name], got[name]; w.content != g.content {
			names = append(names, name+" differs")
		} else if w != g {
			names = append(names, name+" has another time")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, has := want[name]; !has {
			names = append(names, name+" is too much")
		}
	}
	return names
}

// settle advances the fake clock, and waits until the pullers are idle.
func settle(d time.Duration) {
	clocktest.Pass(d)
	synctest.Wait()
}

func always(name string) func() string { return func() string { return name } }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pair returns a leader, and a follower that has polled the leader once.
func pair(t *testing.T) (n *network, leader, follower *replica) {
	n = &network{}
	leader, follower = newReplica(t, n, "leader"), newReplica(t, n, "follower")
	follower.follow(always("leader"))
	settle(0)
	t.Cleanup(func() {
		if follower.stop != nil {
			follower.stop()
		}
	})
	return n, leader, follower
}

// pairWithLog returns a pair in which both have a large log, run/1.log.
func pairWithLog(t *testing.T) (n *network, leader, follower *replica) {
	n, leader, follower = pair(t)
	leader.append("run/1.log", lines("line", 100_000))
	settle(2 * time.Second)
	return n, leader, follower
}

func lines(text string, n int) string { return strings.Repeat(text+"\n", n) }
