package live

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"svc/internal/proctest"
)

// toldSize is what the program says about its size.
var toldSize = regexp.MustCompile(`\[(?:start|changed) \d+x\d+\]`)

// sized runs the program that tells its size, and waits until it has done so for the first time.
func (s *site) sized() string {
	s.t.Helper()
	id := s.run(program("size"))
	s.awaitLog(id, "[start 220x50]")
	return id
}

// sizes is every size that the program was given, in order.
func (s *site) sizes(runID string) []string {
	s.t.Helper()
	var found []string
	for _, m := range toldSize.FindAll(s.relayed(runID), -1) {
		found = append(found, string(m))
	}
	return found
}

func TestViewersNeverChangeTheSizeWithoutTheLease(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	for _, n := range []int{2, 10, 50} {
		id := s.sized()
		holder := s.attach(id)
		holder.awaitLease(mark{})
		var viewers []*viewer
		for i := range n - 1 {
			if i%3 == 2 {
				viewers = append(viewers, s.watch(id))
			} else {
				viewers = append(viewers, s.attach(id))
			}
			viewers[i].resize(80+i, 20+i)
		}
		for i, v := range viewers {
			if i%3 == 2 {
				v.await(mark{}, "the screen", func(f frame) bool { return f.Type == "pane_snapshot" })
				continue
			}
			v.awaitData(mark{}, "[start 220x50]") // the whole screen, at its own size
			v.awaitError(mark{}, "lease_held")
			since := v.here()
			v.resize(90, 30)
			v.typeIn("not mine\r")
			v.awaitError(since, "lease_held")
		}
		holder.typeIn("here\r")
		for i, v := range viewers {
			if i%3 != 2 {
				v.awaitData(mark{}, "[said here]")
			}
		}
		s.awaitLog(id, "[said here]")
		if got := s.sizes(id); !slices.Equal(got, []string{"[start 220x50]"}) {
			t.Errorf("%d viewers changed the size: %v", n, got)
		}
		if bytes.Contains(s.relayed(id), []byte("not mine")) {
			t.Errorf("a viewer without the lease typed")
		}
		// They leave in any order, and the lease goes on; nobody asks for a size.
		for _, v := range viewers {
			v.leave()
		}
		since := holder.here()
		holder.resize(100, 30)
		holder.awaitSize(since, 100, 30)
		s.awaitLog(id, "[changed 100x30]")
		holder.leave()
		s.awaitLog(id, "[changed 220x50]")
		if got, want := s.sizes(id), []string{"[start 220x50]", "[changed 100x30]", "[changed 220x50]"}; !slices.Equal(got, want) {
			t.Errorf("the sizes were %v, want %v", got, want)
		}
		last := s.attach(id)
		last.awaitLease(mark{})
		last.typeIn("end\r")
		s.awaitEnd(id)
	}
}

// TestTheSizeIsTheLeaseHoldersWhoeverComesAndGoes has viewers come and go while the holder drags the
// corner of its window.
func TestTheSizeIsTheLeaseHoldersWhoeverComesAndGoes(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	id := s.sized()
	holder := s.attach(id)
	holder.awaitLease(mark{})
	var viewers []*viewer
	var asked []string
	for i := range either(12, 60) {
		cols, rows := 100+i, 20+i%20
		asked = append(asked, fmt.Sprintf("[changed %dx%d]", cols, rows))
		holder.resize(cols, rows)
		viewers = append(viewers, s.attach(id))
		if i%3 == 2 {
			viewers[i-1].leave()
		}
	}
	final := asked[len(asked)-1]
	s.awaitLog(id, final)
	for i, v := range viewers {
		if i%3 != 1 {
			v.awaitData(mark{}, final)
		}
	}
	// A program that is slow to ask may see the same size twice, and not see one; but it sees them in
	// order, and none comes back.
	at := -1
	for _, size := range s.sizes(id)[1:] {
		next := slices.Index(asked, size)
		if next < at {
			t.Errorf("the program saw %s after %s; all: %v", size, asked[at], s.sizes(id))
			break
		}
		at = next
	}
	since := viewers[0].here()
	holder.send(frame{Type: "release_lease"})
	viewers[0].awaitLease(since)
	viewers[0].awaitSize(since, 220, 50)
	viewers[0].typeIn("end\r")
	s.awaitEnd(id)
}
