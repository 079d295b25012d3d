package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc/config"
	"svc/wrapper"
)

// TestMain lets the test binary also act as the other programs of a worker's host: the wrapper inside a
// session, the writer of its log, and a worker that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "as-wrapper":
			os.Exit(wrapper.Run(os.Args[2:], wrapper.IO{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()}))
		case "as-inside":
			os.Exit(wrapper.Inside(nil, wrapper.IO{Stderr: os.Stderr, Env: os.Environ()}))
		case "as-sink":
			limit, err := strconv.ParseInt(os.Args[3], 10, 64)
			if err == nil {
				err = wrapper.Sink(os.Stdin, os.Args[4], limit, os.Args[5], os.Args[6])
			}
			exitWith(err)
		case "as-worker":
			exitWith(workerProcess(os.Args[2]))
		}
	}
	goleak.VerifyTestMain(m)
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// processSpec is the configuration of a worker in a separate process.
type processSpec struct {
	Config     config.Config
	Token      string
	RuntimeDir string
}

func workerProcess(specFile string) error {
	text, err := os.ReadFile(specFile)
	if err != nil {
		return err
	}
	var spec processSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	w, err := New(quick(Options{Config: &spec.Config, Token: config.Secret(spec.Token), RuntimeDir: spec.RuntimeDir}))
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// quick sets times and programs for tests.
func quick(o Options) Options {
	o.WrapperArgv = []string{os.Args[0], "as-wrapper"}
	o.InsideArgv = []string{os.Args[0], "as-inside", "-"}
	o.SinkArgv = []string{os.Args[0], "as-sink"}
	o.Liveness = 300 * time.Millisecond
	o.Reconcile = 300 * time.Millisecond
	o.Snapshots = 100 * time.Millisecond
	if o.ProbeAgain == 0 {
		o.ProbeAgain = 100 * time.Millisecond
	}
	if o.LogHold == 0 {
		o.LogHold = 3 * time.Second
	}
	o.Random = func() float64 { return 0.1 }
	return o
}
