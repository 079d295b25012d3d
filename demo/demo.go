// Package demo is "svc exec demo": a scripted agent for newcomers and tests. It needs no key and no network,
// and reports like the hook of a real agent.
package demo

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"svc"
	"svc/wrapper"
)

const usage = `usage: svc exec demo [--delay D] [--lines N] [--sleep D] [--ask] [--fail-hook TEXT] [--exit N]
                     [--conversation ID | --resume ID] [-- PROMPT]

A scripted agent: it prints a short run, reports progress like a provider's hook, and ends.
`

// exitUsage is the exit code for wrong arguments.
const exitUsage = 2

// script describes the agent's behaviour.
type script struct {
	delay  time.Duration // the pause after each line
	lines  int           // the number of steps it prints
	sleep  time.Duration // the pause between its last step and its end
	ask    bool          // ask a person for Enter in the middle
	fail   string        // report failed with this text; empty: completed
	exit   int
	prompt string

	conversation, resume string // ids: the agent begins conversation, or resumes resume; empty: neither
}

// Run executes the script that args describe. Outside a session it prints the same and reports nothing.
func Run(args []string, std wrapper.IO) int {
	d, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(std.Stderr, usage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(std.Stderr, "svc exec demo: %v\n%s", err, usage)
		return exitUsage
	}
	return d.play(wrapper.Reporter(std), std)
}

func parse(args []string) (script, error) {
	var d script
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.DurationVar(&d.delay, "delay", 700*time.Millisecond, "")
	flags.IntVar(&d.lines, "lines", 6, "")
	flags.DurationVar(&d.sleep, "sleep", 0, "")
	flags.BoolVar(&d.ask, "ask", false, "")
	flags.StringVar(&d.fail, "fail-hook", "", "")
	flags.IntVar(&d.exit, "exit", 0, "")
	flags.StringVar(&d.conversation, "conversation", "", "")
	flags.StringVar(&d.resume, "resume", "", "")
	if err := flags.Parse(args); err != nil {
		return d, err
	}
	d.prompt = strings.Join(flags.Args(), " ")
	switch {
	case d.exit < 0 || d.exit > 255:
		return d, errors.New("--exit must be 0 to 255")
	case d.lines < 0 || d.delay < 0 || d.sleep < 0:
		return d, errors.New("--lines, --delay and --sleep must not be negative")
	}
	return d, nil
}

var steps = []string{
	"Reading the project, file by file",
	"Thinking about what was asked",
	"Drafting a plan in three steps",
	"Changing two files",
	"Running the tests: all green",
	"Writing down what was done",
}

// play prints the script and calls report with the signals that a hook would report.
func (d script) play(report func(svc.Signal), std wrapper.IO) int {
	say := func(format string, args ...any) {
		fmt.Fprintf(std.Stdout, format+"\n", args...)
		time.Sleep(d.delay)
	}
	tell := func(s svc.Signal) {
		if id := cmp.Or(d.resume, d.conversation); s.Kind != svc.SignalFailed && svc.IsConversation(id) {
			s.Conversation = id
		}
		report(s)
	}
	say("\x1b[1mHello!\x1b[0m I am the demo agent of svc. I change nothing; I only show how a run looks.")
	if d.resume != "" {
		say("I go on with our conversation %s.", d.resume)
	}
	if d.prompt != "" {
		say("You asked: \x1b[36m%s\x1b[0m", d.prompt)
	}
	for i := range d.lines {
		step := steps[i%len(steps)]
		percent := 100 * (i + 1) / d.lines
		say("  [%3d%%] %s", percent, step)
		tell(svc.Signal{Kind: svc.SignalProgress, Message: step, Percent: &percent})
		if d.ask && i == d.lines/2 {
			d.question(std, tell)
		}
	}
	time.Sleep(d.sleep)
	if d.fail != "" {
		tell(svc.Signal{Kind: svc.SignalFailed, Error: d.fail})
		say("\x1b[31mI could not do it:\x1b[0m %s", d.fail)
		return d.exit
	}
	tell(svc.Signal{Kind: svc.SignalCompleted, Result: svc.ResultSuccess})
	say("\x1b[32mDone.\x1b[0m Look at the log of this run, or start one with an agent of your own.")
	return d.exit
}

// question waits for a person, who can answer through attach or keys.
func (d script) question(std wrapper.IO, report func(svc.Signal)) {
	const question = "May I go on? Press Enter."
	report(svc.Signal{Kind: svc.SignalProgress, Message: question, NeedsInput: true})
	fmt.Fprintf(std.Stdout, "\x1b[33m%s\x1b[0m ", question)
	if std.Stdin != nil {
		_, _ = bufio.NewReader(std.Stdin).ReadString('\n') // the end of the input also counts as an answer
	}
	fmt.Fprintln(std.Stdout, "Thank you.")
	report(svc.Signal{Kind: svc.SignalProgress, Message: "going on"})
}
