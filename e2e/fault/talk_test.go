package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// judgedSite is a site that sends texts to its agents during faults (round), and then checks what arrived (judge).
type judgedSite interface {
	round(n int)
	judge()
}

// runRounds sends n texts in one round of a site, and judges the result. The long form has many sites with different
// seeds, and more rounds.
func runRounds(t *testing.T, n int, newSite func(t *testing.T, seed uint64) judgedSite) {
	t.Helper()
	seed := shortOrLong(1, rand.Uint64())
	t.Logf("seed %d", seed)
	for i := range shortOrLong(uint64(1), 25) {
		t.Run(fmt.Sprint("site ", i), func(t *testing.T) {
			s := newSite(t, seed+i)
			for range shortOrLong(1, 4) {
				s.round(n)
			}
			s.judge()
		})
	}
}

// talkSite is one host behind a network that can be cut. Its agents receive texts while processes are killed. Each
// agent writes the texts that it receives into a file outside of svc.
type talkSite struct {
	*site
	random *rand.Rand
	link   *proctest.Proxy
	host   *proctest.Worker
}

// newTalkSite creates a site whose host has one more provider. entry returns its entry in the catalog. The argument
// notes is the folder into which agents write the texts that they receive.
func newTalkSite(t *testing.T, seed uint64, provider string, entry func(lab *proctest.Lab, notes string) string) *talkSite {
	t.Helper()
	s := &talkSite{site: newSite(t, proctest.ServeOptions{OfflineAfter: "3s"}), random: rand.New(rand.NewPCG(seed, 0))}
	s.link = proctest.NewProxy(s.o)
	s.host = proctest.NewWorker(s.o, proctest.WorkerOptions{Server: s.link.URL})
	s.lab.Write(filepath.Join(s.host.Dir, "providers.toml"), proctest.Catalog+entry(s.lab, s.notes()))
	s.host.Start()
	s.lab.Write(filepath.Join(s.notes(), "made"), "")
	waittest.Eventually(t, "the host reports its providers", func() bool {
		h, err := s.client.Host(t.Context(), s.host.HostID)
		return err == nil && h.Providers[provider].Available
	})
	return s
}

// notes returns the folder into which agents write the texts that they receive.
func (s *talkSite) notes() string { return filepath.Join(s.lab.Dir, "notes") }

// noted returns the lines that an agent has written into its file; none if the file does not exist.
func (s *talkSite) noted(name string) (lines []string) {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.notes(), name))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// disturb causes faults in random order: it kills worker and orchestrator twice each and a session once, and cuts the
// link once.
func (s *talkSite) disturb() {
	s.t.Helper()
	part := []string{" exec run ", "tmux"}[s.random.IntN(2)]
	faults := []func(){
		s.restartWorker, s.restartWorker, s.restartOrchestrator, s.restartOrchestrator, s.cutLink,
		func() { s.killSession(part) },
	}
	s.random.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	for _, fault := range faults {
		fault()
		s.pause()
	}
}

// pause waits for up to half a second, which is about the time that the delivery of a message takes.
func (s *talkSite) pause() {
	proctest.Pause(time.Duration(s.random.Int64N(int64(500 * time.Millisecond))))
}

func (s *talkSite) restartWorker() {
	s.t.Helper()
	s.host.Kill()
	s.pause()
	s.host.Launch()
}

func (s *talkSite) restartOrchestrator() {
	s.t.Helper()
	s.o.Kill()
	s.pause()
	s.o.Start()
}

// cutLink resets the host's connections. In half of the calls all their data is dropped silently for some time before.
func (s *talkSite) cutLink() {
	if s.random.IntN(2) == 0 {
		s.link.Set(proctest.Weather{Swallow: true})
		s.pause()
		s.link.Set(proctest.Weather{})
	}
	s.link.Cut()
}

// killSession kills the wrapper or the tmux server of a random session, if there is one now.
func (s *talkSite) killSession(what string) {
	s.t.Helper()
	var found []proctest.Proc
	for _, p := range s.lab.Processes() {
		isTmux := strings.HasPrefix(p.Command, "tmux")
		if strings.Contains(p.Command, what) && isTmux == (what == "tmux") {
			found = append(found, p)
		}
	}
	if len(found) > 0 {
		kill(s.t, found[s.random.IntN(len(found))])
	}
}

// retry repeats a request with the same idempotency key until it is answered. It returns nil, or the error of a
// refusal.
func (s *talkSite) retry(key string, request func(context.Context) error) (refusal error) {
	ctx := api.WithIdempotencyKey(s.t.Context(), key)
	for s.t.Context().Err() == nil {
		try, cancel := context.WithTimeout(ctx, 4*time.Second)
		err := request(try)
		cancel()
		var refused *svc.Error
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused) && refused.Code != svc.CodeUnavailable:
			s.t.Logf("%s is refused: %v", key, err)
			return err
		}
		proctest.Pause(50 * time.Millisecond)
	}
	return fmt.Errorf("%s: %w", key, s.t.Context().Err())
}
