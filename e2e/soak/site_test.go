package soak

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"svc/api"
	"svc/internal/pgtest"
	"svc/internal/proctest"
)

const (
	workers      = 3
	offlineAfter = 6 * time.Second
	// A run fails after it has waited this long for a host. No fault disconnects a host for so long, but longOutage
	// stops the orchestrator for longer.
	dispatchTimeout = time.Minute
)

// site is the whole system under test, and the evidence that is collected while it runs.
type site struct {
	t           *testing.T
	lab         *proctest.Lab
	o           *proctest.Orchestrator // used by clients and workers: the only orchestrator, or the balancer
	all         []*proctest.Orchestrator
	m           *proctest.Members // nil: there is only one
	links       []*pgtest.Link    // the proxy of each member to the database
	cluster     *pgtest.Cluster   // nil: SQLite
	hosts       []*host
	readers     map[string]*proctest.Follower
	reader      *proctest.Follower // the reader without a proxy
	readerProxy *proctest.Proxy    // the proxy of another reader
	project     string
	disks       bool   // the disks of the hosts and orchestrators are small file systems, which can be filled
	truth       string // the folder of the agents' notes
	clock       string // the file that moves the orchestrator's clock; empty: the clock is not moved
	jumps       []jump // of that clock; the first has the offset 0

	answering sync.WaitGroup // goroutines that wait for a question

	mu      sync.Mutex // guards the rest
	ledger  []write
	answers []string
	kills   map[attempt]string
	full    []outage
	down    []outage
	away    []outage
	apart   []outage
	atEnd   map[attempt][]byte
	figures map[string]int
	ended   map[string]bool // runs that have ended or were stopped, by the events of reader
	asking  map[string]bool // runs that have asked a question
}

// host is a worker behind a proxy.
type host struct {
	*proctest.Worker
	proxy *proctest.Proxy
}

func newSite(t *testing.T, kind string, clock bool) *site {
	t.Helper()
	s := &site{
		t: t, lab: proctest.NewLab(t), kills: map[attempt]string{}, atEnd: map[attempt][]byte{}, figures: map[string]int{},
		readers: map[string]*proctest.Follower{}, ended: map[string]bool{}, asking: map[string]bool{},
	}
	s.truth = s.folder("truth")
	options := proctest.ServeOptions{
		OfflineAfter: offlineAfter.String(),
		Config: fmt.Sprintf("[runs]\ndispatch_timeout = %q\nack_timeout = \"5s\"\n[events]\noutput_interval = \"1s\"\n[retention]\nrelay_min_free = 0\n",
			dispatchTimeout),
	}
	if kind != onSQLite {
		s.cluster = pgtest.NewCluster(t)
		options.Database = s.cluster.DSN
	}
	s.disks = true
	for i := range workers {
		s.disks = s.disks && s.smallDisk(hostName(i), "96m")
	}
	if kind == withMembers {
		s.prepareMembers(options)
	} else {
		s.disks = s.disks && s.smallDisk("orchestrator", "256m")
		s.o = proctest.NewOrchestrator(s.lab, options)
		s.all = []*proctest.Orchestrator{s.o}
	}
	if clock {
		s.clock = s.lab.Path("clock")
		s.setClock(0)
		for _, o := range s.all {
			o.Setenv(clockEnv, s.clock)
		}
	}
	for _, o := range s.all {
		o.Launch()
	}
	for _, o := range s.all {
		o.AwaitReady()
	}
	s.readerProxy = proctest.NewProxy(s.o)
	s.reader = s.o.Follow()
	s.readers["direct"], s.readers["through a bad network"] = s.reader, s.o.FollowBy(s.readerProxy.URL)
	if s.m != nil {
		for _, o := range s.all {
			s.readers["of "+o.Name()] = o.Follow()
		}
	}
	for i := range workers {
		s.hosts = append(s.hosts, s.newHost(hostName(i)))
	}
	project, err := s.o.Client().CreateProject(t.Context(), api.CreateProject{Name: "Soak", Cwd: api.Some(s.lab.Dir)})
	if err != nil {
		t.Fatal(err)
	}
	s.project = project.ID
	return s
}

func hostName(i int) string { return fmt.Sprintf("h%d", i+1) }

// newHost starts a worker whose provider sh passes the host's name to its scripts.
func (s *site) newHost(name string) *host {
	s.t.Helper()
	h := &host{proxy: proctest.NewProxy(s.o)}
	h.Worker = proctest.NewWorker(s.o, proctest.WorkerOptions{Name: name, Server: h.proxy.URL})
	s.lab.Write(filepath.Join(h.Dir, "providers.toml"), strings.Replace(proctest.Catalog,
		`["-c", "{prompt}"]`, fmt.Sprintf(`["-c", "{prompt}", %q]`, name), 1))
	h.Start()
	return h
}

// folder creates a folder in the lab.
func (s *site) folder(name string) string {
	s.t.Helper()
	dir := s.lab.Path(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

// smallDisk mounts a small file system on a folder of the lab. It returns false if this user may not.
func (s *site) smallDisk(name, size string) bool {
	s.t.Helper()
	dir := s.folder(name)
	if err := syscall.Mount("svc-soak", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		s.t.Logf("the soak has no full disks, because a small file system cannot be mounted here: %v", err)
		return false
	}
	s.t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			s.t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return true
}

// count increments a figure of the report.
func (s *site) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures[what]++
}

// alive reports whether a process runs, and counts it if it has ended without a fault. An orchestrator
// ends so if it cannot open its database at its start.
func (s *site) alive(p *proctest.Process) bool {
	if err, ended := p.Ended(); ended {
		s.t.Logf("%s ended by itself: %v", p.Name(), err)
		s.count("ended by itself: " + p.Name())
	}
	return p.Running()
}

// anyOrchestrator returns a random orchestrator. If there is only one, it does not use the random source.
func (s *site) anyOrchestrator(random *rand.Rand) *proctest.Orchestrator {
	if len(s.all) == 1 {
		return s.o
	}
	return s.all[random.IntN(len(s.all))]
}

// anyHost returns a random host.
func (s *site) anyHost(random *rand.Rand) *host { return s.hosts[random.IntN(len(s.hosts))] }

// remove deletes a file. The file may not exist.
func (s *site) remove(path string) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		s.t.Errorf("remove %s: %v", path, err)
	}
}
