package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// childArg is the argument with which this program runs as the other side of a measurement. Clients are in a process
// of their own, so that the garbage collector and scheduler of one side do not affect the other.
const childArg = "child"

// childRoles are the functions of a child, by role. Each reads orders with ask, one JSON object per line, and answers
// with tell.
var childRoles = map[string]func(ctx context.Context, p pipe) error{
	"subscribers":  subscribers,
	"replayer":     replayer,
	"dispatched":   dispatched,
	"noop-workers": noopWorkers,
	"orchestrator": orchestrator,
	"fleet":        fleetWorkers,
	"member":       memberProcess,

	// Roles of the live targets. Except the first, they are programs of sessions, which use their terminal and not
	// the pipe to the parent.
	"live-worker":    liveWorker,
	"live-wrapper":   liveWrapper,
	"live-sink":      liveSink,
	"live-installed": liveInstalled,
	"live-printer":   livePrinter,
	"live-flood":     liveFlood,
	"live-echo":      liveEcho,
	"live-changer":   liveChanger,
}

// pipe is a child's connection to the parent.
type pipe struct {
	in  *bufio.Scanner
	out *json.Encoder
}

// ask reads the next order. The error is io.EOF when the parent is done.
func (p pipe) ask(v any) error {
	if !p.in.Scan() {
		return errors.Join(io.EOF, p.in.Err())
	}
	return json.Unmarshal(p.in.Bytes(), v)
}

func (p pipe) tell(v any) error { return p.out.Encode(v) }

func runChild(role string) error {
	run := childRoles[role]
	if run == nil {
		return fmt.Errorf("there is no role %q", role)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := pipe{bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)}
	p.in.Buffer(nil, 1<<20)
	err := run(ctx, p)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// child is a running child process, as the parent sees it.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	enc *json.Encoder
	dec *json.Decoder
}

func startChild(ctx context.Context, role string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self, childArg, role)}
	c.cmd.Stderr = os.Stderr
	c.cmd.Cancel = func() error { return c.in.Close() } // a child ends when its input is closed
	c.cmd.WaitDelay = 10 * time.Second
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.enc, c.dec = json.NewEncoder(c.in), json.NewDecoder(out)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	return c, nil
}

// order sends an order and waits for the answer.
func (c *child) order(order, answer any) error {
	if err := c.enc.Encode(order); err != nil {
		return fmt.Errorf("send an order to a child: %w", err)
	}
	if err := c.dec.Decode(answer); err != nil {
		return fmt.Errorf("read a child's answer: %w", err)
	}
	return nil
}

// close closes the child's input, after which it ends, and waits for it.
func (c *child) close() error {
	_ = c.in.Close()
	return c.cmd.Wait()
}
