// Command bench measures svc against its performance targets and prints one
// table. Every figure is taken beside a baseline or a peer in the same run, in
// turns, and the median of the turns counts: on a machine that is busy with
// other things the ratio still means something. It ends with status 1 when a
// target is missed clearly.
//
//	go run .                all targets
//	go run . 'lists|replay' the targets whose names fit
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

// target is one promise of docs/performance.md.
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
}

func main() {
	// Thousands of clients are cut off on purpose: no log line shall tell of each.
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

// program is the whole run, in the shape that lets pgtest stop its server.
type program struct{}

// Run measures every target that was asked for.
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

// profile writes where the orchestrator's side spends its time.
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

// raiseFileLimit takes all descriptors that the system allows: thousands of
// connections are opened.
func raiseFileLimit() {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return
	}
	l.Cur = l.Max
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) // what does not fit is reported by the dial that fails
}
