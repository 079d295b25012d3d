package mirror

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/clocktest"
)

func TestChangesReachAFollowerWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, leader, follower := pair(t)
		steps := []func(){
			func() { leader.append("run/1.log", lines("one", 100_000)) },
			func() { leader.append("run/1.log", "two\n") },
			func() { leader.write("run/pane.json", "a screen") },
			func() { leader.write("run/pane.json", "one more") },
			func() { leader.write("run/pane.json", "less") },
			func() { leader.write("workspaces/w/1.bundle", lines("bundle", 200_000)) },
			func() { leader.remove("run/pane.json") },
			func() { leader.remove("run/1.log") },
		}
		for i, step := range steps {
			step()
			settle(2 * time.Second)
			if diff := differences(leader.tree(), follower.tree()); len(diff) > 0 {
				t.Fatalf("after step %d: %q", i, diff)
			}
		}
		if status := follower.puller.Status(); status.Pending != 0 || time.Since(status.Equal) > 2*time.Second || status.Source == "" {
			t.Errorf("status is %+v, want one without anything pending", status)
		}
	})
}

func TestAGrownFileCostsWhatItGrewBy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, leader, _ := pairWithLog(t)
		before := n.sent
		leader.append("run/1.log", "more\n")
		settle(2 * time.Second)
		if got := n.sent - before; got != 5 {
			t.Errorf("%d bytes were sent for 5 new ones", got)
		}
	})
}

func TestAFollowerThatWasAwayFetchesWhatItLacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, leader, follower := pairWithLog(t)
		follower.stop()
		leader.append("run/1.log", "more\n")
		leader.append("other/1.log", "other\n")
		before := n.sent
		follower.follow(always("leader"))
		settle(2 * time.Second)
		if diff := differences(leader.tree(), follower.tree()); len(diff) > 0 {
			t.Errorf("after its return: %q", diff)
		}
		if got := n.sent - before; got != 11 {
			t.Errorf("%d bytes were sent for 11 new ones", got)
		}
	})
}

func TestWhatWasNotReportedComesWithTheNextComparison(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, leader, follower := pair(t)
		must(t, os.WriteFile(leader.path("unreported"), []byte("x"), 0o600))
		settle(defaultFullInterval + 2*time.Second)
		if got := follower.content("unreported"); got != "x" {
			t.Errorf("the follower has %q", got)
		}
	})
}

func TestAFollowerFurtherBehindThanTheLeaderRemembersComparesEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, leader, follower := pair(t)
		leader.source.changes.most = 3
		n.set("leader", nil)
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			leader.write(name, name)
		}
		n.set("leader", leader.source)
		settle(3 * time.Second)
		if diff := differences(leader.tree(), follower.tree()); len(diff) > 0 {
			t.Error(diff)
		}
	})
}

// A follower must never lose anything because the leader has less or cannot be reached.
func TestAbsenceRemovesNothing(t *testing.T) {
	t.Parallel()
	empty := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(headerSource, "new")
		_, _ = w.Write([]byte(`{"cursor":"new.1"}` + "\n"))
	}
	for name, leader := range map[string]http.HandlerFunc{
		"an empty listing": empty,
		"a listing that breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(headerSource, "new")
			_, _ = w.Write([]byte(`{"path":"other","size":1,"mtime":1}` + "\n"))
		},
		"an error":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		"another page": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n, old, follower := pair(t)
				old.append("run/1.log", "text\n")
				settle(2 * time.Second)
				before := follower.tree()
				n.set("leader", leader)
				if follower.stop(); name != "an empty listing" { // the others are not complete listings: Gone must not be called
					follower.gone = func(string) bool { return true }
				}
				follower.follow(always("leader"))
				settle(2 * defaultFullInterval)
				if diff := differences(before, follower.tree()); len(diff) > 0 {
					t.Error(diff)
				}
			})
		})
	}
}

func TestWhatWasRemovedWhileAFollowerWasAwayIsRemovedThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, leader, follower := pair(t)
		for _, file := range []string{"gone/1.log", "gone/pane.json", "lost/1.log", "young/1.log", "kept/1.log"} {
			leader.write(file, file)
		}
		settle(2 * time.Second)
		follower.stop()
		leader.remove("gone/1.log")
		leader.remove("gone/pane.json")
		for _, file := range []string{"lost/1.log", "young/1.log"} { // lost by the leader's disk, not removed on purpose
			must(t, os.RemoveAll(filepath.Dir(leader.path(file))))
		}
		leader.serve()
		must(t, os.Chtimes(follower.path("young/1.log"), time.Time{}, time.Now().Add(-2*everything)))
		follower.gone = func(file string) bool { return !strings.HasPrefix(file, "lost/") }
		follower.follow(always("leader"))
		settle(2 * time.Second)
		got := follower.tree()
		for file, want := range map[string]bool{"gone/": false, "gone/1.log": false, "gone/pane.json": false, "lost/1.log": true, "young/1.log": true, "kept/1.log": true} {
			if _, has := got[file]; has != want {
				t.Errorf("the copy has %s: %v, want %v", file, has, want)
			}
		}
	})
}

func TestACopyThatIsLongerThanTheNewLeadersStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		leader, follower := newReplica(t, n, "leader"), newReplica(t, n, "follower")
		follower.append("run/1.log", lines("line", 1000))
		leader.append("run/1.log", lines("line", 10)) // later, but shorter
		follower.follow(always("leader"))
		defer follower.stop()
		settle(2 * time.Second)
		if got := follower.content("run/1.log"); got != lines("line", 1000) {
			t.Errorf("the follower has %d bytes, want its 5000", len(got))
		}
		leader.append("run/1.log", lines("line", 991)) // a worker sent the rest, and more
		settle(2 * time.Second)
		if diff := differences(leader.tree(), follower.tree()); len(diff) > 0 {
			t.Errorf("when the leader has more: %q", diff)
		}
	})
}

func TestOfTwoContentsTheLaterStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		leader, follower := newReplica(t, n, "leader"), newReplica(t, n, "follower")
		leader.write("run/pane.json", "an old screen of the leader")
		follower.write("run/pane.json", "the last screen")
		follower.follow(always("leader"))
		defer follower.stop()
		settle(2 * time.Second)
		if got := follower.content("run/pane.json"); got != "the last screen" {
			t.Errorf("the follower has %q", got)
		}
		leader.write("run/pane.json", "a screen after that")
		settle(2 * time.Second)
		if diff := differences(leader.tree(), follower.tree()); len(diff) > 0 {
			t.Error(diff)
		}
	})
}

// When its term ends, a deposed leader writes what it has in memory. Its successor may have written newer content
// before that. Order decides by the content which is newer, whichever of the two is the leader.
func TestTheLastWriteOfADeposedLeaderDoesNotWin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		successor, deposed := newReplica(t, n, "successor"), newReplica(t, n, "deposed")
		for _, r := range []*replica{successor, deposed} {
			r.order = func(file string) func(a, b []byte) bool {
				if file != "run/pane.json" {
					return nil
				}
				return func(a, b []byte) bool { return string(a) < string(b) }
			}
		}
		for _, file := range []string{"run/pane.json", "run/other.json"} {
			successor.write(file, "screen 2")
			deposed.write(file, "screen 1") // written later, but older content
		}
		deposed.follow(always("successor"))
		settle(2 * time.Second)
		deposed.stop()
		if got := deposed.content("run/pane.json"); got != "screen 2" {
			t.Errorf("the deposed leader kept %q", got)
		}
		if got := deposed.content("run/other.json"); got != "screen 1" {
			t.Errorf("of a file whose content does not say how old it is, the deposed leader has %q", got)
		}

		deposed.write("run/pane.json", "screen 1") // it leads again, with the older content
		successor.follow(always("deposed"))
		defer successor.stop()
		settle(2 * time.Second)
		if got := successor.content("run/pane.json"); got != "screen 2" {
			t.Errorf("the successor lost its screen to %q", got)
		}
		deposed.write("run/pane.json", "screen 3")
		settle(2 * time.Second)
		if got := successor.content("run/pane.json"); got != "screen 3" {
			t.Errorf("a newer screen was not taken: %q", got)
		}
		if left, _ := os.ReadDir(successor.path(temporary)); len(left) > 0 {
			t.Errorf("what was fetched in vain stays: %v", left)
		}
	})
}

func TestASmallFileDoesNotWaitForALargeOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, leader, follower := pair(t)
		// Each request takes a tenth of a second: the large file takes four seconds.
		n.set("leader", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			clocktest.Pass(100 * time.Millisecond)
			leader.source.ServeHTTP(w, r)
		}))
		leader.write("workspaces/w/1.bundle", strings.Repeat("x", 40*(64<<10)))
		settle(1500 * time.Millisecond)
		leader.append("run/1.log", "text\n")
		settle(2 * time.Second)
		if got := follower.content("workspaces/w/1.bundle"); got != "" {
			t.Error("the large file is there already: nothing was tried")
		}
		if got := follower.content("run/1.log"); got != "text\n" {
			t.Errorf("the small file waits: %q", got)
		}
		settle(6 * time.Second)
		if diff := differences(leader.tree(), follower.tree()); len(diff) > 0 {
			t.Error(diff)
		}
	})
}

func TestATransferThatBreaksOffIsResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, leader, follower := pair(t)
		const size = 10 * (64 << 10)
		leader.write("workspaces/w/1.bundle", strings.Repeat("x", size))
		n.mu.Lock()
		n.cut = func() int64 { return 10_000 } // each answer is cut; a listing is shorter
		n.mu.Unlock()
		settle(20 * time.Second)
		follower.stop() // a new process resumes the partial file
		follower.follow(always("leader"))
		settle(5 * time.Minute)
		if diff := differences(leader.tree(), follower.tree()); len(diff) > 0 {
			t.Fatal(diff)
		}
		if requests := len(n.asked); requests > size/10_000+10 {
			t.Errorf("%d requests for %d pieces: it began anew", requests, size/10_000)
		}
	})
}

func TestHostileListingsWriteNothingElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		follower := newReplica(t, n, "follower")
		outside := t.TempDir()
		must(t, os.Symlink(outside, follower.path("link")))
		must(t, os.WriteFile(filepath.Join(outside, "precious"), []byte("mine"), 0o600))
		must(t, os.Symlink(filepath.Join(outside, "precious"), follower.path("linked")))
		must(t, os.Mkdir(follower.path("folder"), 0o700))
		names := []string{"../out", "/out", "a/../../out", "a//b", "a/./b", "..", ".", "", "a/..", ".hidden", ".mirror/x", "a\\b", "a\x00b", "a b", "ü", "x.part",
			"link/out", "linked", "folder", "good/../out", strings.Repeat("a/", 20) + "a", strings.Repeat("a", 200), "-rf"}
		n.set("leader", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(headerSource, "hostile")
			if r.URL.Path == filePath {
				w.Header().Set(headerSize, "4")
				w.Header().Set(headerMtime, "4000000000000000000")
				_, _ = w.Write([]byte("evil and more than was said"))
				return
			}
			for _, name := range append(slices.Clone(names), "good/file") {
				_, _ = w.Write([]byte(`{"path":` + string(jsonOf(t, name)) + `,"size":4,"mtime":4000000000000000000}` + "\n"))
			}
			for _, name := range append(slices.Clone(names), "link/precious") {
				_, _ = w.Write([]byte(`{"path":` + string(jsonOf(t, name)) + `,"removed":true}` + "\n"))
			}
			_, _ = w.Write([]byte(`{"cursor":"hostile.1"}` + "\n"))
		}))
		follower.follow(always("leader"))
		settle(10 * time.Second)
		follower.stop()
		if got := follower.content("good/file"); got != "evil" {
			t.Errorf("a plain file beside them is %q, want the bytes that were announced", got)
		}
		entries, err := os.ReadDir(outside)
		must(t, err)
		if b, err := os.ReadFile(filepath.Join(outside, "precious")); len(entries) != 1 || err != nil || string(b) != "mine" {
			t.Errorf("outside: %v, %q, %v", entries, b, err)
		}
		entries, err = os.ReadDir(follower.dir)
		must(t, err)
		var left []string
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if want := []string{".mirror", "good"}; !slices.Equal(slices.DeleteFunc(left, func(s string) bool { return strings.HasPrefix(s, "link") || s == "folder" }), want) {
			t.Errorf("the folder has %q, want %q besides what was there", left, want)
		}
	})
}

func TestASourceServesRegularFilesBelowItsFolderAlone(t *testing.T) {
	t.Parallel()
	n := &network{}
	leader := newReplica(t, n, "leader")
	outside := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(outside, []byte("secret"), 0o600))
	leader.write("run/1.log", "text")
	must(t, os.Symlink(outside, leader.path("run/2.log")))
	must(t, os.Symlink(filepath.Dir(outside), leader.path("folder")))
	must(t, syscall.Mkfifo(leader.path("run/3.log"), 0o600))
	must(t, os.WriteFile(leader.path("run/4.bundle.part"), []byte("unfinished"), 0o600))
	must(t, os.WriteFile(leader.path("run/.hidden"), []byte("hidden"), 0o600))
	for _, name := range []string{"run/2.log", "run/3.log", "folder/secret", "run", "../x"} {
		leader.source.Written(name)
	}
	ask := func(path string, query url.Values) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		leader.source.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+"?"+query.Encode(), nil))
		return answer
	}
	for _, since := range []string{"", leader.source.changes.at(0)} {
		got := ask(listPath, url.Values{"since": {since}}).Body.String()
		if strings.Count(got, `"path"`) != 1 || !strings.Contains(got, `"path":"run/1.log","size":4`) || !strings.Contains(got, `"cursor"`) {
			t.Errorf("since %q it lists\n%s", since, got)
		}
	}
	for path, want := range map[string]int{
		"run/1.log": 200, "run/2.log": 500, "run/3.log": 500, "run": 500, "folder/secret": 500, "run/9.log": 404,
		"../secret": 400, outside: 400, "run/4.bundle.part": 400, "run/.hidden": 400, "": 400,
	} {
		answer := ask(filePath, url.Values{"path": {path}})
		if answer.Code != want || strings.Contains(answer.Body.String(), "secret\n") || answer.Body.String() == "secret" {
			t.Errorf("%q is answered with %d %q, want %d", path, answer.Code, answer.Body, want)
		}
	}
	for _, query := range []url.Values{{"from": {"-1"}}, {"limit": {"x"}}, {"from": {"1"}, "check": {"2"}}} {
		query.Set("path", "run/1.log")
		if answer := ask(filePath, query); answer.Code != 400 {
			t.Errorf("%v is answered with %d", query, answer.Code)
		}
	}
}

func TestNothingIsFetchedWithoutRoomOnTheDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, leader, follower := pair(t)
		follower.stop()
		leader.append("run/1.log", "text\n")
		follower.follow(always("leader"), 1<<62)
		settle(5 * time.Second)
		if got := follower.content("run/1.log"); got != "" {
			t.Errorf("it has %q", got)
		}
		if status := follower.puller.Status(); status.Pending != 1 || !status.Equal.IsZero() {
			t.Errorf("status is %+v, want 1 pending", status)
		}
	})
}

func TestFilesComeOverRealSockets(t *testing.T) {
	t.Parallel()
	leader, follower := newReplica(t, &network{}, "leader"), newReplica(t, &network{}, "follower")
	leader.write("workspaces/w/1.bundle", strings.Repeat("bundle", 1_000_000))
	leader.append("run/1.log", "text\n")
	server := httptest.NewServer(leader.source)
	defer server.Close()
	p := &Puller{Dir: follower.dir, Client: server.Client(), Log: slog.New(slog.DiscardHandler), Interval: time.Millisecond,
		Base: func() (string, bool) { return server.URL, true }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	for p.Status().Equal.IsZero() {
		select {
		case err := <-done:
			t.Fatalf("Run ended: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if diff := differences(leader.tree(), follower.tree()); len(diff) > 0 {
		t.Error(diff)
	}
}
