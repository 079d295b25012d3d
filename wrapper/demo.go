package wrapper

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
)

const demoUsage = `usage: svc exec demo [--delay D] [--lines N] [--sleep D] [--ask] [--fail-hook TEXT] [--exit N]
                     [--conversation ID | --resume ID] [-- PROMPT]

A scripted agent: it prints a short run, reports progress like a provider's hook, and ends.
`

// demo is how the scripted agent behaves.
type demo struct {
	delay  time.Duration // between two lines
	lines  int           // how many steps it shows
	sleep  time.Duration // how long it stays after its work
	ask    bool          // ask a person for Enter in the middle
	fail   string        // report failed with this text; empty: completed
	exit   int
	prompt string

	conversation, resume string // ids: it begins the first, or goes on with the second; empty: neither
}

// Demo is "svc exec demo": a tiny agent that needs no key and no network. Outside a session it shows
// the same, and reports nothing.
func Demo(args []string, std IO) int {
	d, err := parseDemo(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(std.Stderr, demoUsage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(std.Stderr, "svc exec demo: %v\n%s", err, demoUsage)
		return exitUsage
	}
	sess, err := sessionOf(std)
	if err != nil {
		sess = nil // started by a person on a terminal, outside a session: nothing is reported
	}
	return d.play(sess, std)
}

func parseDemo(args []string) (demo, error) {
	var d demo
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

var demoSteps = []string{
	"Reading the project, file by file",
	"Thinking about what was asked",
	"Drafting a plan in three steps",
	"Changing two files",
	"Running the tests: all green",
	"Writing down what was done",
}

func (d demo) play(sess *session, std IO) int {
	say := func(format string, args ...any) {
		fmt.Fprintf(std.Stdout, format+"\n", args...)
		time.Sleep(d.delay)
	}
	report := func(s svc.Signal) {
		if s.Kind != svc.SignalFailed {
			in(cmp.Or(d.resume, d.conversation), &s)
		}
		if sess != nil {
			sess.report(s, std.Stderr)
		}
	}
	say("\x1b[1mHello!\x1b[0m I am the demo agent of svc. I change nothing; I only show how a run looks.")
	if d.resume != "" {
		say("I go on with our conversation %s.", d.resume)
	}
	if d.prompt != "" {
		say("You asked: \x1b[36m%s\x1b[0m", d.prompt)
	}
	for i := range d.lines {
		step := demoSteps[i%len(demoSteps)]
		percent := 100 * (i + 1) / d.lines
		say("  [%3d%%] %s", percent, step)
		report(svc.Signal{Kind: svc.SignalProgress, Message: step, Percent: &percent})
		if d.ask && i == d.lines/2 {
			d.question(std, report)
		}
	}
	time.Sleep(d.sleep)
	if d.fail != "" {
		report(svc.Signal{Kind: svc.SignalFailed, Error: tidy(d.fail)})
		say("\x1b[31mI could not do it:\x1b[0m %s", d.fail)
		return d.exit
	}
	report(*completed())
	say("\x1b[32mDone.\x1b[0m Look at the log of this run, or start one with an agent of your own.")
	return d.exit
}

// question waits for a person, who may answer through attach or keys.
func (d demo) question(std IO, report func(svc.Signal)) {
	const question = "May I go on? Press Enter."
	report(svc.Signal{Kind: svc.SignalProgress, Message: question, NeedsInput: true})
	fmt.Fprintf(std.Stdout, "\x1b[33m%s\x1b[0m ", question)
	if std.Stdin != nil {
		_, _ = bufio.NewReader(std.Stdin).ReadString('\n') // the end of input is an answer too
	}
	fmt.Fprintln(std.Stdout, "Thank you.")
	report(svc.Signal{Kind: svc.SignalProgress, Message: "going on"})
}
