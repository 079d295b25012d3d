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

// network carries requests to handlers by the name of their host, without sockets: it works with a fake clock.
type network struct {
	mu    sync.Mutex
	hosts map[string]http.Handler
	cut   func() int64 // after how many bytes the body of an answer breaks off; negative: never. nil: never
	sent  int64        // bytes of bodies of files
	asked []string     // the paths of files that were asked for
	clock int64        // of the leaders, in nanoseconds: the system's has ticks in which much can happen
}

// tick is a time after all others.
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

// everything is a Keep with which all files are old: the leaders' clock is ahead of the fake one.
const everything = -100 * 365 * 24 * time.Hour

// replica is a folder, served and pulled.
type replica struct {
	t      *testing.T
	net    *network
	name   string
	dir    string
	source *Source
	puller *Puller
	order  func(file string) func(a, b []byte) bool
	gone   func(file string) bool // what the shared record says; nil: there is none
	stop   func()                 // ends the puller, and waits for it; nil: none runs
}

func newReplica(t *testing.T, n *network, name string) *replica {
	r := &replica{t: t, net: n, name: name, dir: t.TempDir()}
	r.serve()
	return r
}

// serve makes a process of it that serves.
func (r *replica) serve() {
	r.source = NewSource(r.dir)
	r.net.set(r.name, r.source)
}

// follow starts to pull from another.
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
	_ = os.Remove(filepath.Dir(r.path(file))) // not empty: it stays
	r.source.Removed(file)
}

// has is the content of a file; empty: there is none.
func (r *replica) has(file string) string {
	b, err := os.ReadFile(r.path(file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Errorf("read %s: %v", file, err)
	}
	return string(b)
}

// state is a file of a tree.
type state struct {
	content string
	mtime   int64
}

// tree is all files, and folders with a slash behind their name.
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
			found[name] = state{r.has(name), info.ModTime().UnixNano()}
		}
		return err
	})
	must(r.t, err)
	return found
}

// differences names what is not the same in two trees.
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

// settle lets the pullers work for a time of the fake clock.
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

// pair is a leader, and a follower that has pulled everything once.
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

// pairWithLog is a pair that both have a large log, run/1.log.
func pairWithLog(t *testing.T) (n *network, leader, follower *replica) {
	n, leader, follower = pair(t)
	leader.append("run/1.log", lines("line", 100_000))
	settle(2 * time.Second)
	return n, leader, follower
}

func lines(text string, n int) string { return strings.Repeat(text+"\n", n) }
