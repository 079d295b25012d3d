package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"svc"
)

// orchestratorOrder starts an orchestrator. Later orders request the usage of the running one.
type orchestratorOrder struct {
	Dir, Addr string
	Hosts     int // number of hosts to provision before anything is measured
}

// usage is what an orchestrator's process uses.
type usage struct {
	Memory  int64         // resident bytes, after a garbage collection
	Stacks  int64         // those of them that are stacks
	Heap    int64         // those of them that are objects of the heap
	CPU     time.Duration // since its start
	Uplinks int
	Offline int // worker.offline events in the journal
}

// orchestratorProcess is an orchestrator in a process of its own.
type orchestratorProcess struct {
	*child
	closed bool
}

func startOrchestrator(ctx context.Context, dir, addr string, hosts int) (*orchestratorProcess, usage, error) {
	c, err := startChild(ctx, "orchestrator")
	if err != nil {
		return nil, usage{}, err
	}
	o := &orchestratorProcess{child: c}
	var u usage
	if err := c.order(orchestratorOrder{dir, addr, hosts}, &u); err != nil {
		return nil, u, errors.Join(err, o.close())
	}
	return o, u, nil
}

func (o *orchestratorProcess) usage() (usage, error) {
	var u usage
	err := o.order(orchestratorOrder{}, &u)
	return u, err
}

func (o *orchestratorProcess) close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	return o.child.close()
}

// orchestrator is the role of the child process that runs an orchestrator.
func orchestrator(ctx context.Context, p pipe) (err error) {
	var o orchestratorOrder
	if err := p.ask(&o); err != nil {
		return err
	}
	g, err := newRig(ctx, o.Dir, o.Addr)
	if err != nil {
		return err
	}
	defer func() {
		closed := g.close()
		if err == nil || errors.Is(err, io.EOF) {
			err = closed
		}
	}()
	if err := g.provision(ctx, o.Hosts); err != nil {
		return err
	}
	for {
		u, err := g.usage(ctx)
		if err != nil {
			return err
		}
		if err := p.tell(u); err != nil {
			return err
		}
		if err := p.ask(&o); err != nil {
			return err
		}
	}
}

func (g *rig) usage(ctx context.Context) (usage, error) {
	var times syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &times); err != nil {
		return usage{}, err
	}
	u := usage{CPU: time.Duration(times.Utime.Nano() + times.Stime.Nano()), Uplinks: g.hub.Uplinks.Count()}
	list, err := g.engine.Events(ctx, svc.EventFilter{Topics: svc.Globs{string(svc.TopicWorkerOffline)}}, svc.Page{Limit: svc.MaxLimit})
	if err != nil {
		return u, err
	}
	u.Offline = len(list.Items)
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.Stacks, u.Heap = int64(m.StackInuse), int64(m.HeapAlloc) //nolint:gosec // never that large
	u.Memory, err = resident("self")
	return u, err
}

// resident returns a process's resident memory in bytes.
func resident(pid string) (int64, error) {
	b, err := os.ReadFile("/proc/" + pid + "/statm")
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
