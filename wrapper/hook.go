package wrapper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"svc"
	"svc/rundir"
)

// translator converts the JSON that a tool passes to its hooks into a signal. It returns nil when the event
// contains nothing about the run; why is then the reason, for the hook's log.
type translator func(s *session, input []byte) (sig *svc.Signal, why string)

var translators = map[string]translator{
	"claude": fromClaudeLike("claude"), "qwen": fromClaudeLike("qwen"), "copilot": fromCopilot,
	"codex": fromCodex, "gemini": fromGemini, "opencode": fromOpencode,
}

const (
	maxHookInput = 8 << 20
	hookPatience = 3 * time.Second // limit for a tool that opens its hook's input but never writes
	maxText      = 2000            // a tool's text is cut to this many bytes
)

// signalFromHook reports the signal of a hook. It always returns 0: some tools treat another code as an
// instruction to go on.
func signalFromHook(a signalArgs, std IO) int {
	sess, err := sessionOf(std)
	if err != nil {
		fmt.Fprintf(std.Stderr, "svc exec signal: %v\n", err)
		return 0
	}
	input, err := hookInput(a.rest, std.Stdin)
	if err != nil {
		fmt.Fprintf(std.Stderr, "svc exec signal: nothing reported: %v\n", err)
		return 0
	}
	sig, why := translators[a.from](sess, input)
	if sig == nil {
		fmt.Fprintf(std.Stderr, "svc exec signal: nothing reported: %s\n", why)
		return 0
	}
	if why := sess.afterFailure(*sig); why != "" {
		fmt.Fprintf(std.Stderr, "svc exec signal: nothing reported: %s\n", why)
		return 0
	}
	sess.report(*sig, std.Stderr)
	return 0
}

// hookInput returns the last argument if there is one (codex), otherwise standard input.
func hookInput(rest []string, stdin io.Reader) ([]byte, error) {
	if len(rest) > 0 {
		return []byte(rest[len(rest)-1]), nil
	}
	if stdin == nil {
		return nil, errors.New("no input")
	}
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1) // the reader may outlive the wait; the process ends right after
	go func() {
		var r result
		defer func() {
			if cause := recover(); cause != nil { // a panic would end the process with code 2
				r.err = fmt.Errorf("read standard input: %v", cause)
			}
			read <- r
		}()
		r.data, r.err = io.ReadAll(io.LimitReader(stdin, maxHookInput))
	}()
	select {
	case r := <-read:
		return r.data, r.err
	case <-time.After(hookPatience):
		return nil, errors.New("the tool wrote nothing to its hook's standard input")
	}
}

// afterFailure prevents a tool that sends "idle" after an error from reporting success: the first reported
// failure counts for the attempt. It returns why the signal must not be reported; empty: it may be.
func (s *session) afterFailure(sig svc.Signal) (why string) {
	switch sig.Kind {
	case svc.SignalFailed:
		_ = s.attempt.Remember(rundir.HookFailed, "failed") // without the note, the orchestrator still has the order of arrival
	case svc.SignalCompleted:
		if s.attempt.Recall(rundir.HookFailed) != "" {
			return "a failure was reported before"
		}
	}
	return ""
}

// prompt returns the run's prompt; empty when it is unknown.
func (s *session) prompt() string {
	text, err := os.ReadFile(s.promptFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func completed() *svc.Signal {
	return &svc.Signal{Kind: svc.SignalCompleted, Result: svc.ResultSuccess}
}

// withConversation sets the signal's conversation. A value that is not the id of a conversation is ignored, and the rest of
// the signal is kept.
func withConversation(conversation string, sig *svc.Signal) *svc.Signal {
	if svc.IsConversation(conversation) {
		sig.Conversation = conversation
	}
	return sig
}

// asks returns a progress signal with a question for a person.
func asks(question, otherwise string) *svc.Signal {
	if strings.TrimSpace(question) == "" {
		question = otherwise
	}
	return &svc.Signal{Kind: svc.SignalProgress, Message: tidy(question), NeedsInput: true}
}

// submitted returns a progress signal: the tool got a prompt and begins a turn with it.
func submitted(prompt string) *svc.Signal {
	return &svc.Signal{Kind: svc.SignalProgress, Message: "works on a prompt", Submitted: svc.PromptDigest(prompt)}
}

// waits returns a progress signal: the tool is at its prompt and waits for input.
func waits(words, otherwise string) *svc.Signal {
	sig := asks(words, otherwise)
	sig.Idle = true
	return sig
}

// tidy returns a tool's text in a form that a signal may carry: valid UTF-8 without NUL, limited to maxText.
func tidy(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", ""))
	if len(text) <= maxText {
		return text
	}
	cut := maxText - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
