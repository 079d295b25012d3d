package soak

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc"
	"svc/internal/proctest"
)

// settleLimit is the limit of the wait until all runs have ended. After it, the judge complains about those that have
// not.
const settleLimit = 2 * time.Minute

// settle waits, with limits, until all runs have ended, nothing of them remains on the hosts, and all readers have
// received the whole journal.
func (s *site) settle() {
	c := s.o.Client()
	s.waitFor(settleLimit, func() bool {
		for r, err := range c.AllRuns(context.Background(), svc.RunFilter{}) {
			if err != nil || r.Status.Active() || r.SessionEndedAt == nil && r.StartedAt != nil {
				return false
			}
		}
		return true
	})
	s.waitFor(settleLimit/2, func() bool { return len(s.leftovers()) == 0 })
	s.waitFor(settleLimit/4, func() bool {
		head, err := c.Events(context.Background(), svc.EventFilter{}, svc.Page{Limit: 1})
		if err != nil || len(head.Items) == 0 {
			return false
		}
		for _, f := range s.readers {
			if len(f.Events()) != int(head.Items[0].Seq) {
				return false
			}
		}
		return true
	})
}

// waitFor waits until a condition is true or the limit has passed. Unlike waittest.Eventually it does not fail the
// test.
func (s *site) waitFor(limit time.Duration, holds func() bool) {
	deadline := time.Now().Add(limit)
	for !holds() && time.Now().Before(deadline) {
		proctest.Pause(100 * time.Millisecond)
	}
}

// leftovers returns the processes, sockets and files of runs on the hosts. There should be none when no run is active.
func (s *site) leftovers() []string {
	var left []string
	running := map[int]bool{}
	for _, o := range s.all {
		running[o.PID()] = true
	}
	for _, h := range s.hosts {
		running[h.PID()] = true
	}
	for _, p := range s.lab.Processes() {
		if !running[p.PID] {
			left = append(left, "process "+p.Command)
		}
	}
	left = append(left, s.files(filepath.Join(s.lab.Dir, "rt"), regexp.MustCompile(`/svc-[0-9a-f]+/.`))...)
	for _, h := range s.hosts {
		left = append(left, s.files(h.Dir, regexp.MustCompile(`/spool/[^/]*[0-9].*|\.tmp-|/runs/.*[0-9a-f-]{36}\.[0-9]+$`))...)
	}
	slices.Sort(left)
	return left
}

// files returns the paths below a directory that match fits.
func (s *site) files(dir string, fits *regexp.Regexp) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && fits.MatchString(path) {
			found = append(found, "file "+strings.TrimPrefix(path, s.lab.Dir+"/"))
		}
		return nil // an error means that the file was removed meanwhile
	})
	return found
}

// gather collects the evidence. It is called after settle.
func (s *site) gather() *evidence {
	s.t.Helper()
	v := &evidence{
		Readers: map[string][]event{}, Runs: map[string]svc.Run{}, Hosts: map[string]string{}, Relayed: map[attempt][]byte{},
		AtEnd: s.atEnd, Screens: map[string]string{}, Answers: s.answers, Ledger: s.ledger, Truth: readTruth(s.t, s.truth),
		HostLogs: map[hostLog][]byte{}, Kills: s.kills, Full: s.full, Beats: map[string][]time.Time{},
		Left: s.leftovers(), OfflineAfter: offlineAfter, DispatchTimeout: dispatchTimeout, Down: s.down, Away: s.away, Apart: s.apart,
	}
	for name, f := range s.readers {
		for _, e := range f.Events() {
			v.Readers[name] = append(v.Readers[name], event{Seq: e.Seq, Topic: e.Topic, Payload: e.Payload})
		}
	}
	for _, h := range s.hosts {
		v.Hosts[h.HostID] = h.Name
		if v.Beats[h.Name] = h.proxy.Beats(); len(v.Beats[h.Name]) == 0 {
			s.t.Errorf("no heartbeat of %s arrived; the judge cannot check when it was connected", h.Name)
		}
		s.gatherHostLogs(v, h)
	}
	s.gatherRecords(v)
	return v
}

var logName = regexp.MustCompile(`^([0-9a-f-]{36})\.log$`)

func (s *site) gatherHostLogs(v *evidence, h *host) {
	err := filepath.WalkDir(h.Dir, func(path string, _ fs.DirEntry, err error) error {
		match := logName.FindStringSubmatch(filepath.Base(path))
		if err != nil || match == nil {
			return err
		}
		text, err := os.ReadFile(path)
		v.HostLogs[hostLog{h.Name, match[1]}] = text
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) gatherRecords(v *evidence) {
	ctx, c := s.t.Context(), s.o.Client()
	for e, err := range c.AllEvents(ctx, svc.EventFilter{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		var payload map[string]any
		if err := json.Unmarshal(e.Payload, &payload); err != nil {
			s.t.Fatal(err)
		}
		v.Journal = append(v.Journal, event{e.Seq, e.Topic, payload, e.CreatedAt.Std()})
	}
	slices.Reverse(v.Journal)
	came := map[int64]time.Time{}
	for _, e := range s.reader.Events() {
		came[e.Seq] = e.Came
	}
	correctTimes(v.Journal, s.jumps, came)
	for item, err := range c.AllWorkItems(ctx, svc.WorkItemFilter{ProjectID: s.project}) {
		if err != nil {
			s.t.Fatal(err)
		}
		v.Items = append(v.Items, item)
	}
	for listed, err := range c.AllRuns(ctx, svc.RunFilter{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		r, err := c.Run(ctx, listed.ID)
		if err != nil {
			s.t.Fatal(err)
		}
		v.Runs[r.ID] = r
		for n := 1; n <= r.Attempt; n++ {
			a := attempt{r.ID, n}
			if v.Relayed[a], err = readLog(ctx, c, a); err != nil && svc.CodeOf(err) != svc.CodeNotFound {
				s.t.Errorf("read the log of %s: %v", a, err)
			}
		}
		pane, err := c.Pane(ctx, r.ID)
		switch {
		case err == nil:
			v.Screens[r.ID] = pane.Capture
		case svc.CodeOf(err) != svc.CodeNoSnapshot:
			s.t.Errorf("read the screen of %s: %v", r.ID, err)
		}
	}
}
