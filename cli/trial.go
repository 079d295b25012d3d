package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/spf13/cobra"

	"svc"
	"svc/config"
	"svc/provider"
	"svc/rundir"
	"svc/safetext"
)

// trial is the result of starting a provider's tool with a tiny prompt.
type trial struct {
	Provider string `json:"provider"`
	Gateway  string `json:"gateway"` // empty: the tool's own sign-in
	Model    string `json:"model"`   // empty: the tool decides
	OK       bool   `json:"ok"`
	ExitCode int    `json:"exit_code"` // -1: it was killed, or did not start
	Hook     string `json:"hook"`      // what its hooks reported; empty: nothing, or it has none
	TookMS   int64  `json:"took_ms"`
	Reason   string `json:"reason"` // why it did not work; empty: it did
	Output   string `json:"output"` // the end of what it wrote
}

const (
	tinyPrompt  = "Reply with the single word: ready"
	trialOutput = 16 << 10 // how many bytes at the end of the tool's output are kept
	trialWithin = 2 * time.Minute
)

func (a *app) providerTest() *cobra.Command {
	var model string
	within := trialWithin
	cmd := &cobra.Command{
		Use: "test ID", Short: "Test a provider's tool on this machine with a tiny prompt", Args: takes("ID"), ValidArgsFunction: a.completes(providerNames),
		Long: "Start a provider's tool on this machine as a session would, in an empty folder, with the prompt\n" +
			strconv.Quote(tinyPrompt) + ", and show the result: whether it is signed in, whether the\n" +
			"gateway and the model answer, and whether its hooks report. It needs no orchestrator, and costs what the model costs.\n" +
			"The exit code is 0 when the tool ended with 0 and no hook reported a failure, 1 otherwise.",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			t, err := a.tryProvider(cmd.Context(), cfg, args[0], model, within)
			if err != nil {
				return err
			}
			if err := printOne(a, trialView(), t); err != nil || t.OK {
				return err
			}
			return exitCode(exitFailed)
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "`MODEL` for the tool (default: [runs] model when [runs] provider is this tool)")
	cmd.Flags().DurationVar(&within, "within", within, "how long the tool may take")
	return a.answering(cmd)
}

func trialView() view[trial] {
	return view[trial]{
		name: func(t trial) string { return t.Provider },
		fields: func(t trial) []field {
			verdict := "✓ it works"
			if !t.OK {
				verdict = "✕ " + t.Reason
			}
			gateway := t.Gateway
			if gateway == "" {
				gateway = "none; the tool uses its own sign-in"
			}
			return []field{
				{"provider", t.Provider}, {"verdict", verdict}, {"gateway", gateway}, {"model", t.Model}, {"hook", t.Hook},
				{"took", (time.Duration(t.TookMS) * time.Millisecond).Round(100 * time.Millisecond).String()}, {"wrote", t.Output},
			}
		},
	}
}

// tryProvider starts the tool in a new folder inside the data directory: some tools refuse hook configs in folders
// that other users can write to.
func (a *app) tryProvider(ctx context.Context, cfg *config.Config, id, model string, within time.Duration) (trial, error) {
	entry, err := a.catalogEntry(cfg, id)
	if err != nil {
		return trial{}, err
	}
	if entry.TUIType != provider.LineOriented {
		return trial{}, &problem{what: id + " stays open for a person, so no answer can be waited for",
			next: "test the entry of the same tool that works through a prompt, or start a run and attach to it", exit: exitUsage}
	}
	if _, err := config.EnsureDataDir(cfg.DataDir); err != nil {
		return trial{}, err
	}
	dir, err := os.MkdirTemp(cfg.DataDir, "provider-test-")
	if err != nil {
		return trial{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if model == "" && svc.ToolOf(cfg.Runs.Provider) == svc.ToolOf(id) {
		model = cfg.Runs.Model
	}
	attempt := rundir.Dir(dir).Attempt(svc.NewRunID(), 1)
	cmd, gateway, err := a.trialCommand(cfg, entry, attempt, model)
	if err != nil {
		return trial{}, err
	}
	t := trial{Provider: id, Gateway: withoutSecrets(gateway.URL), Model: model}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	began := time.Now()
	output, err := runInTerminal(ctx, cmd)
	t.TookMS = time.Since(began).Milliseconds()
	t.Output = strings.TrimSpace(string(output))
	t.judge(ctx, cmd, err, attempt, within)
	return t, nil
}

// catalogEntry returns an entry of this machine's catalog.
func (a *app) catalogEntry(cfg *config.Config, id string) (provider.Entry, error) {
	catalog := provider.Defaults()
	if found, err := provider.Load(cfg.CatalogPath); err == nil {
		catalog = found
	} else if !errors.Is(err, os.ErrNotExist) {
		return provider.Entry{}, err
	}
	if !catalog.Has(id) {
		return provider.Entry{}, missing("provider", id)
	}
	return catalog.Entry(id)
}

// trialCommand returns the command of the tool, with the arguments and the environment of a session.
func (a *app) trialCommand(cfg *config.Config, entry provider.Entry, attempt rundir.Attempt, model string) (*exec.Cmd, provider.Gateway, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, provider.Gateway{}, err
	}
	work := filepath.Join(string(attempt.Dir), "work")
	hooks := ""
	for _, step := range []func() error{
		func() error { return os.Mkdir(work, 0o700) },
		attempt.Create,
		func() error { return attempt.WritePrompt(tinyPrompt) },
		func() (err error) {
			hooks, err = entry.RenderHooks(attempt.HooksPath(), cfg.ServerURL(), attempt.RunID)
			return err
		},
	} {
		if err := step(); err != nil {
			return nil, provider.Gateway{}, err
		}
	}
	gateway := provider.ResolveGateway(cfg.Gateway, func(name string) (string, bool) { v := a.getenv(name); return v, v != "" })
	env := entry.Environ(provider.Session{
		Base: a.environWithSelf(self), Gateway: gateway, HooksConfig: hooks, Dir: work, SelfDir: filepath.Dir(self),
		// Without a token, the hooks only store their reports in the folder.
		Vars: map[string]string{"SVC_RUN_ID": attempt.RunID, "SVC_ATTEMPT": "1", "SVC_RUN_DIR": attempt.Path(), "SVC_PROMPT_FILE": attempt.PromptPath()},
	})
	bin, err := entry.Find(a.searchPath(self))
	if err != nil {
		return nil, gateway, &problem{what: "the tool of " + entry.ID + " was not found", why: err.Error(), next: "svc provider doctor " + entry.ID, exit: exitFailed, err: err}
	}
	values := provider.Values{Prompt: tinyPrompt, PromptFile: attempt.PromptPath(), APIKey: gateway.APIKey, Model: model, HooksConfig: hooks}
	cmd := &exec.Cmd{Path: bin, Dir: work, Env: env}
	if entry.OnStdin(tinyPrompt) {
		values.Prompt = ""
		if cmd.Stdin, err = os.Open(attempt.PromptPath()); err != nil {
			return nil, gateway, err
		}
	}
	cmd.Args = append([]string{bin}, entry.Argv(values)...)
	return cmd, gateway, nil
}

// runInTerminal runs a program in a terminal of its own until the program or ctx ends. It returns the end of the
// program's output as plain text. Afterwards the program and the processes that it started in its terminal have
// ended.
func runInTerminal(ctx context.Context, cmd *exec.Cmd) (output []byte, err error) {
	if input, ok := cmd.Stdin.(*os.File); ok {
		defer func() { _ = input.Close() }()
	}
	// Ctty is its output, which is always the terminal; its input may be the prompt's file.
	own := &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	terminal, err := pty.StartWithAttrs(cmd, &pty.Winsize{Rows: 40, Cols: 160}, own)
	if err != nil {
		return nil, err
	}
	defer func() { _ = terminal.Close() }()
	read := make(chan []byte, 1)
	go func() { read <- lastOutput(terminal) }()
	group := -cmd.Process.Pid // pty starts the program in a session, and so in a process group, of its own
	end := context.AfterFunc(ctx, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
	defer end()
	err = cmd.Wait()
	_ = syscall.Kill(group, syscall.SIGHUP) // a process that it started must not keep the terminal open
	_ = terminal.SetReadDeadline(time.Now().Add(2 * time.Second))
	return <-read, err
}

// lastOutput reads until the terminal closes and returns the end of the output.
func lastOutput(terminal io.Reader) []byte {
	filter := safetext.Plain()
	var kept []byte
	chunk := make([]byte, 4<<10)
	for {
		n, err := terminal.Read(chunk)
		kept = filter.Append(kept, chunk[:n])
		if len(kept) > 2*trialOutput {
			kept = bytes.Clone(kept[len(kept)-trialOutput:])
		}
		if err != nil { // on Linux, reading fails with EIO once every process has closed the terminal
			kept = filter.Finish(kept)
			return bytes.ToValidUTF8(kept[max(0, len(kept)-trialOutput):], nil)
		}
	}
}

// judge decides whether the tool works, and sets the reason if it does not.
func (t *trial) judge(ctx context.Context, cmd *exec.Cmd, err error, attempt rundir.Attempt, within time.Duration) {
	t.ExitCode = -1
	if cmd.ProcessState != nil {
		t.ExitCode = cmd.ProcessState.ExitCode()
	}
	failed := ""
	if reports, _, pendingErr := attempt.Pending(); pendingErr == nil {
		for _, r := range reports {
			t.Hook = string(r.Frame.Kind)
			if said, err := r.Frame.Parse(r.Frame.RunID); err == nil && said.Kind == svc.SignalFailed {
				failed = said.Error
				break
			}
		}
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		t.Reason = fmt.Sprintf("it did not end within %s; it may wait for an answer", within)
	case ctx.Err() != nil:
		t.Reason = "it was interrupted"
	case failed != "":
		t.Reason = "its hook reported a failure: " + failed
	case t.ExitCode > 0:
		t.Reason = fmt.Sprintf("it ended with exit code %d", t.ExitCode)
	case err != nil:
		t.Reason = err.Error()
	default:
		t.OK = true
	}
}
