package worker

import (
	"os"
	"strings"
	"testing"

	"svc"
	"svc/wire"
)

const longPrompts = `
[providers.stdin]
bin = "/bin/sh"
argv_template = ["-c", "echo $# arguments; wc -c", "sh", "--text", "{prompt}"]
long_prompt = "stdin"
installed_detection = ["-c", "true"]

[providers.unseen]
bin = "/bin/sh"
argv_template = ["-c", "echo $# arguments; wc -c", "sh"]
long_prompt = "stdin"
installed_detection = ["-c", "true"]

[providers.file]
bin = "/bin/sh"
argv_template = ["-c", "echo $# arguments; wc -c <$1", "sh", "{prompt_file}"]
installed_detection = ["-c", "true"]
`

// A prompt that is too long for an argument is passed as the entry specifies, or the run fails before its tool
// starts.
func TestALongPromptIsHandedOverAsTheEntrySays(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if err := os.WriteFile(l.cfg.CatalogPath, []byte(catalog+longPrompts), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
	long := strings.Repeat("x", 200<<10)
	begin := func(provider, prompt string, args ...string) string {
		run := svc.NewRunID()
		l.o.send(&wire.RunDispatch{RunID: run, Attempt: 1, TaskID: svc.NewID(), Provider: provider, SessionName: svc.SessionName(run), Prompt: prompt, Args: args})
		return run
	}
	for provider, want := range map[string]string{"stdin": "0 arguments\r\n204800", "file": "1 arguments\r\n204800"} {
		run := begin(provider, long)
		if end := l.finished(run, 1); end.ExitCode != 0 || !strings.Contains(l.o.log(run, 1), want) {
			t.Errorf("%s: finished = %+v, log %.200q, want %q", provider, end, l.o.log(run, 1), want)
		}
	}
	// Without {prompt}, no prompt is an argument, and standard input is never the terminal.
	for prompt, want := range map[string]string{"short": "0 arguments\r\n5", "": "0 arguments\r\n0", long: "0 arguments\r\n204800"} {
		run := begin("unseen", prompt)
		if end := l.finished(run, 1); end.ExitCode != 0 || !strings.Contains(l.o.log(run, 1), want) {
			t.Errorf("a prompt of %d bytes: finished = %+v, log %.200q, want %q", len(prompt), end, l.o.log(run, 1), want)
		}
	}
	run := begin("stdin", "short") // standard input is the terminal
	l.wait("the tool that reads the terminal", func() bool { return strings.Contains(l.o.log(run, 1), "2 arguments") })
	l.stopRun(run, 1)

	run = begin("shell", long)
	l.wait("the failure", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalFailed)) > 0 })
	if got := l.o.signalsOf(run, 1, svc.SignalFailed)[0].Error; !strings.Contains(got, "204800 bytes") || !strings.Contains(got, "long_prompt") {
		t.Errorf("it failed with %q", got)
	}
	l.wait("what the entries take", func() bool {
		for _, f := range framesOf[*wire.Providers](l.o) {
			if p := f.Providers; p["shell"].PromptLimit == svc.MaxArgument && p["stdin"].Available && p["stdin"].PromptLimit == 0 && p["file"].PromptLimit == 0 {
				return true
			}
		}
		return false
	})
}
