// Command bench measures svc against its performance targets and prints one table. Every figure is measured in turns
// with a baseline or a peer in the same run, and the median of the turns counts: the ratio remains useful on a
// machine with other load. The exit status is 1 when a target is missed clearly.
//
//	go run .                all targets
//	go run . 'lists|replay' the targets whose names match
//
// CPUPROFILE=file writes a profile of the orchestrator's side.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"syscall"
	"time"

	"svc/internal/pgtest"
)

// target is one target of docs/performance.md.
type target struct {
	name string
	run  func(context.Context, *report) error
}

var targets = []target{
	{"commit", groupCommit},
	{"lists", lists},
	{"reparent", reparent},
	{"replay", replay},
	{"stream", stream},
	{"dispatch", dispatch},
	{"waiting", waiting},
	{"slot", slot},
	{"subject", subject},
	{"burndown", burnDown},
	{"burndown-postgres", burnDownPostgres},
	{"fleet", fleet},
	{"screens", screens},
	{"echo", echo},
	{"recording", recording},
	{"workspaces", workspaces},
	{"copies", copies},
	{"members", members},
	{"members-fleet", membersFleet},
}

func main() {
	// Thousands of clients are disconnected on purpose: these events are not logged.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	raiseFileLimit()
	if len(os.Args) > 2 && os.Args[1] == childArg {
		if err := runChild(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", os.Args[2]+":", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(pgtest.Main(program{}))
}

// program is the whole run, in the form that pgtest needs to stop its server.
type program struct{}

// Run measures the targets whose names match the argument.
func (program) Run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wanted := regexp.MustCompile("")
	if len(os.Args) > 1 {
		var err error
		if wanted, err = regexp.Compile(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "bench: targets are named by a regular expression:", err)
			return 2
		}
	}
	if file := os.Getenv("CPUPROFILE"); file != "" {
		stop, err := profile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			return 2
		}
		defer stop()
	}
	r := &report{began: time.Now()}
	for _, t := range targets {
		if !wanted.MatchString(t.name) {
			continue
		}
		r.target = t.name
		r.note("measuring")
		if err := t.run(ctx, r); err != nil {
			r.fail(err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	r.print(os.Stdout)
	if r.missed() {
		return 1
	}
	return 0
}

// profile writes a processor profile of this process.
func profile(file string) (stop func(), err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}

// raiseFileLimit raises the limit of open files to the system's maximum, for thousands of connections.
func raiseFileLimit() {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return
	}
	l.Cur = l.Max
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) // if this fails, the dial that exceeds the limit reports it
}
