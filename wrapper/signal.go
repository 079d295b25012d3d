package wrapper

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"svc"
	"svc/rundir"
)

const signalUsage = `usage: svc exec signal progress --message TEXT [--percent N] [--needs-input | --submitted PROMPT] [--conversation ID]
       svc exec signal completed --result success|partial_success|user_rejected [--reason TEXT] [--conversation ID]
       svc exec signal failed --error TEXT
       svc exec signal --from claude|codex|copilot|gemini|opencode|qwen [JSON]   (else JSON on standard input)
`

// Signal is "svc exec signal", which hooks call. It writes a signal to the spool and then posts it; the worker
// delivers what could not be posted. It prints nothing on standard output, which some tools read as an answer.
// It returns 0 even when the signal was only spooled or could not be spooled, since a hook must never disturb
// the agent. Bad usage returns 1, and so does a panic, which would otherwise end a Go program with 2: claude
// then blocks its agent.
func Signal(args []string, std IO) (code int) {
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(std.Stderr, "svc exec signal: nothing reported: %v\n", cause)
			code = exitHook
		}
	}()
	// The report takes a few seconds at most; the end of its own session must not interrupt it.
	signal.Ignore(syscall.SIGHUP, syscall.SIGTERM)
	s, err := parseSignal(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(std.Stderr, signalUsage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(std.Stderr, "svc exec signal: %v\n%s", err, signalUsage)
		return exitHook
	}
	if s.from != "" {
		return signalFromHook(s, std)
	}
	sess, err := sessionOf(std)
	if err != nil {
		fmt.Fprintf(std.Stderr, "svc exec signal: %v\n", err)
		return exitHook
	}
	if err := sess.check(s.signal); err != nil {
		fmt.Fprintf(std.Stderr, "svc exec signal: %v\n%s", err, signalUsage)
		return exitHook
	}
	sess.report(s.signal, std.Stderr)
	return 0
}

// signalArgs are the parsed arguments: a signal, or the tool whose hook input is to be translated.
type signalArgs struct {
	signal svc.Signal
	from   string
	rest   []string
}

func parseSignal(args []string) (signalArgs, error) {
	if len(args) == 0 {
		return signalArgs{}, errors.New("which signal? give its kind, or --from")
	}
	var out signalArgs
	flags := flag.NewFlagSet("signal", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	s := &out.signal
	s.Source = svc.FromHook
	percent, prompt := -1, ""
	kind := svc.SignalKind("")
	if !strings.HasPrefix(args[0], "-") {
		kind, args = svc.SignalKind(args[0]), args[1:]
	}
	switch s.Kind = kind; kind {
	case svc.SignalProgress:
		flags.StringVar(&s.Message, "message", "", "")
		flags.IntVar(&percent, "percent", -1, "")
		flags.BoolVar(&s.NeedsInput, "needs-input", false, "")
		flags.StringVar(&prompt, "submitted", "", "")
		flags.StringVar(&s.Conversation, "conversation", "", "")
	case svc.SignalCompleted:
		flags.StringVar((*string)(&s.Result), "result", "", "")
		flags.StringVar(&s.Reason, "reason", "", "")
		flags.StringVar(&s.Conversation, "conversation", "", "")
	case svc.SignalFailed:
		flags.StringVar(&s.Error, "error", "", "")
	case "":
		flags.StringVar(&out.from, "from", "", "")
	default:
		return out, fmt.Errorf("%q is not reported by hooks", kind)
	}
	if err := flags.Parse(args); err != nil {
		return out, err
	}
	out.rest = flags.Args()
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if given["percent"] {
		s.Percent = &percent
	}
	if given["submitted"] {
		s.Submitted = svc.PromptDigest(prompt)
	}
	return out, out.check(given)
}

func (a signalArgs) check(given map[string]bool) error {
	needed := map[svc.SignalKind]string{
		svc.SignalProgress: "message", svc.SignalCompleted: "result", svc.SignalFailed: "error", "": "from",
	}[a.signal.Kind]
	if !given[needed] {
		return fmt.Errorf("--%s is missing", needed)
	}
	if a.signal.Kind == "" {
		if _, known := translators[a.from]; !known {
			return fmt.Errorf("--from %q is not a tool whose hooks are known", a.from)
		}
		return nil
	}
	if len(a.rest) > 0 {
		return fmt.Errorf("%q is one argument too many", a.rest[0])
	}
	return nil
}

// session is the session that a process runs in, as its environment describes it.
type session struct {
	attempt    rundir.Attempt
	token      string // the run's own; empty: nothing can be posted
	poster     *poster
	promptFile string
	fields     []string // signal fields that the orchestrator accepts in addition to those of the first version
}

var errNoSession = errors.New("not inside a session of svc: SVC_RUN_DIR is not set, or is not the folder of an attempt")

func sessionOf(std IO) (*session, error) {
	attempt, ok := rundir.AttemptAt(std.env("SVC_RUN_DIR"))
	if !ok {
		attempt, ok = earlierSession(std)
	}
	if !ok {
		return nil, errNoSession
	}
	token := std.env("SVC_SIGNAL_TOKEN")
	return &session{
		attempt: attempt, token: token, poster: newPoster(attempt.Dir, std.env("SVC_API_URL"), token),
		promptFile: std.env("SVC_PROMPT_FILE"), fields: strings.Fields(std.env("SVC_SIGNAL_FIELDS")),
	}, nil
}

// earlierSession finds the attempt of a session that an earlier version started, which has the data directory
// in its environment.
func earlierSession(std IO) (rundir.Attempt, bool) {
	number, err := strconv.Atoi(std.env("SVC_ATTEMPT"))
	runID, dataDir := std.env("SVC_RUN_ID"), std.env("SVC_DATA_DIR")
	return rundir.Dir(dataDir).Attempt(runID, number), err == nil && number >= 1 && svc.IsID(runID) && dataDir != ""
}

// stamp sets the fields that every signal of the session carries.
func (s *session) stamp(sig svc.Signal) svc.Signal {
	sig.RunID, sig.Attempt, sig.Source = s.attempt.RunID, s.attempt.Number, svc.FromHook
	sig.Timestamp = svc.TimeOf(time.Now())
	if !slices.Contains(s.fields, "conversation") {
		sig.Conversation = ""
	}
	return sig
}

// check validates a signal like the orchestrator, while a person can still read the error.
func (s *session) check(sig svc.Signal) error { return s.stamp(sig).Validate() }

// Reporter returns a function that reports signals of the session that std is in, like a provider's hook.
// Outside a session the function does nothing.
func Reporter(std IO) func(svc.Signal) {
	s, err := sessionOf(std)
	if err != nil {
		return func(svc.Signal) {} // a person has started the program in an ordinary terminal
	}
	return func(sig svc.Signal) {
		sig.Message, sig.Error = tidy(sig.Message), tidy(sig.Error)
		s.report(sig, std.Stderr)
	}
}

// report puts a signal into the spool and posts it, after the earlier hook signals of the attempt that are
// still in the spool: a progress that arrives after a later one is stale and dropped. An error is one line on
// stderr.
func (s *session) report(sig svc.Signal, stderr io.Writer) {
	sig = s.stamp(sig)
	if sig.Conversation != "" && s.attempt.Recall(rundir.Reported) != sig.Conversation {
		_ = s.attempt.Remember(rundir.Reported, sig.Conversation) // a hint for the wrapper
	}
	if _, err := s.attempt.Put(sig, s.token); err != nil {
		fmt.Fprintf(stderr, "svc exec signal: not reported: %v\n", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), postTimeout)
	defer cancel()
	switch err := s.poster.flush(ctx, s.attempt, fromHooks); {
	case errors.Is(err, errRefused):
		fmt.Fprintf(stderr, "svc exec signal: %v\n", err)
	case err != nil:
		fmt.Fprintf(stderr, "svc exec signal: kept in the spool for the worker to deliver: %v\n", err)
	}
}
