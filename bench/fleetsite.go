package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"svc"
	"svc/api"
	"svc/cli"
	"svc/internal/pgtest"
	"svc/internal/proctest"
)

var fleetToken = strings.Repeat("ab", 16)

// fleetSite is one or several orchestrators on a database of their own. Clients and workers connect to them directly,
// without a load balancer. Each orchestrator is the product's command in a child process of this program, which frees
// unused memory on a signal.
type fleetSite struct {
	all     []*proctest.Orchestrator
	peers   []string // the address of each for the others
	clients []*api.Client
	db      *sql.DB
}

func newFleetSite(t *holder, n, hosts int) *fleetSite {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, lab, dsn := &fleetSite{}, proctest.NewLab(t), pgtest.Start(t)
	for i := range n {
		peer := fmt.Sprintf("127.0.0.1:%d", proctest.FreePort(t))
		o := proctest.NewOrchestrator(lab, proctest.ServeOptions{Name: fmt.Sprintf("member%d", i), Database: dsn,
			Server: fmt.Sprintf("cluster_address = %q\ncluster_listen = %q\n", peer, peer),
			Env:    []string{"SVC_TOKEN=" + fleetToken, "SVC_WORKER_TOKEN=" + proctest.MemberWorkerToken, "SVC_SIGNING_KEY=" + strings.Repeat("5e", 32)}})
		o.Within(self, childArg, "member")
		transport := &http.Transport{MaxConnsPerHost: 64, MaxIdleConnsPerHost: 64}
		t.Cleanup(transport.CloseIdleConnections)
		s.all, s.peers = append(s.all, o), append(s.peers, peer)
		s.clients = append(s.clients, &api.Client{BaseURL: o.URL, Token: fleetToken, HTTP: &http.Client{Transport: transport}})
	}
	if s.db, err = sql.Open("pgx", dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	if err := s.addHosts(t, hosts); err != nil {
		t.Fatal(err)
	}
	for _, o := range s.all {
		o.Launch()
	}
	for _, o := range s.all {
		o.AwaitReady()
	}
	return s
}

// addHosts makes an orchestrator create the schema and one host, and copies that host in the database. To create
// thousands of hosts through the API would take minutes.
func (s *fleetSite) addHosts(t *holder, n int) error {
	first := s.all[0]
	first.Start()
	defer first.Stop()
	if _, err := s.client(0).CreateHost(t.Context(), api.CreateHost{Name: "host-0"}); err != nil {
		return err
	}
	_, err := s.db.ExecContext(t.Context(), `INSERT INTO hosts SELECT (jsonb_populate_record(h, jsonb_build_object('id', gen_random_uuid(), 'name', 'host-' || n))).*
		FROM hosts h, generate_series(1, $1::int - 1) n WHERE h.name = 'host-0'`, n)
	return err
}

// memberProcess runs the product's orchestrator with the arguments that follow its role and the path of the product. At
// SIGUSR1 it returns unused memory to the operating system.
func memberProcess(context.Context, pipe) error {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			debug.FreeOSMemory()
			debug.FreeOSMemory() // a sync.Pool keeps its contents for one more garbage collection
		}
	}()
	if code := cli.Main(os.Args[4:]); code != 0 {
		return fmt.Errorf("the orchestrator ended with %d", code)
	}
	return nil
}

// client returns the client of an orchestrator. i may be any number: it is taken modulo the number of orchestrators.
func (s *fleetSite) client(i int) *api.Client { return s.clients[i%len(s.clients)] }

func (s *fleetSite) urls() (urls []string) {
	for _, o := range s.all {
		urls = append(urls, o.URL)
	}
	return urls
}

// siteUse is what all orchestrators together use: bytes of memory, and the mean number of cores during crowdWatch.
type siteUse struct {
	memory int64
	cores  float64
	each   []string // the memory of each orchestrator
}

func (s *fleetSite) use(ctx context.Context) (u siteUse, err error) {
	cpu := s.cpu()
	if err := pause(ctx, crowdWatch); err != nil {
		return u, err
	}
	u.cores = (s.cpu() - cpu).Seconds() / crowdWatch.Seconds()
	for _, o := range s.all {
		o.Signal(syscall.SIGUSR1)
	}
	if err := pause(ctx, 5*time.Second); err != nil {
		return u, err
	}
	for _, o := range s.all {
		n, readErr := resident(strconv.Itoa(o.PID()))
		u.memory, err = u.memory+n, errors.Join(err, readErr)
		u.each = append(u.each, fmt.Sprintf("%d MB", n>>20))
	}
	return u, err
}

func (s *fleetSite) cpu() (sum time.Duration) {
	for _, o := range s.all {
		sum += cpuOf(o.PID())
	}
	return sum
}

// task creates a project with a task, and returns the task's ID.
func (s *fleetSite) task(ctx context.Context, title string) (id string, err error) {
	project, err := s.client(0).CreateProject(ctx, api.CreateProject{Name: title, Cwd: api.Some("/tmp")})
	if err != nil {
		return "", err
	}
	item, err := s.client(0).CreateWorkItem(ctx, api.CreateWorkItem{ProjectID: project.ID, Kind: svc.KindTask, Title: title})
	return item.ID, err
}

// fill journals more events than an orchestrator keeps in memory.
func (s *fleetSite) fill(ctx context.Context, title string) error {
	project, err := s.client(0).CreateProject(ctx, api.CreateProject{Name: title, Cwd: api.Some("/tmp")})
	if err != nil {
		return err
	}
	return parallel(16, fleetEvents, func(i int) error {
		_, err := s.client(i).CreateWorkItem(ctx, api.CreateWorkItem{ProjectID: project.ID, Kind: svc.KindTask, Title: title})
		return err
	})
}

// count runs a query that returns one number.
func (s *fleetSite) count(ctx context.Context, query string, args ...any) (n int, err error) {
	err = s.db.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}
