package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"svc"
)

const (
	// ProbeLimit is how long the probe of a tool may take. A busy machine may need longer, so a repeated probe
	// has a longer limit.
	ProbeLimit = 10 * time.Second
	// probesAtOnce bounds the tools that are probed at the same time.
	probesAtOnce = 4
	// maxShown bounds, in characters, the part of a tool's output that is reported.
	maxShown = 200
	// maxShownPath bounds, in characters, the PATH in a reason.
	maxShownPath = 600
)

// selfName is the bin of entries whose tool is svc itself.
const selfName = "svc"

// Find returns the entry's executable, looked up in pathEnv, a list in the form of PATH. The error says what
// was missing and where, and which command tells more. If svc is not found under this name, for example because
// a download was started in place, Find returns the running program.
func (e Entry) Find(pathEnv string) (string, error) {
	if filepath.IsAbs(e.Bin) {
		if _, err := exec.LookPath(e.Bin); err != nil {
			return "", fmt.Errorf("no executable %s; %s", e.Bin, e.hint())
		}
		return e.Bin, nil
	}
	for _, dir := range filepath.SplitList(pathEnv) {
		if !filepath.IsAbs(dir) {
			continue // its meaning depends on the working directory
		}
		if found, err := exec.LookPath(filepath.Join(dir, e.Bin)); err == nil {
			return found, nil
		}
	}
	if e.Bin == selfName {
		return os.Executable()
	}
	return "", fmt.Errorf("no executable %q in PATH (%s); %s", e.Bin, cut(pathEnv, maxShownPath), e.hint())
}

func (e Entry) hint() string {
	return fmt.Sprintf("install it or set bin in [providers.%s], then run: svc provider doctor %s", e.ID, e.ID)
}

// Probe checks whether the entry's tool is installed: it finds bin in pathEnv and runs it with the arguments of
// installed_detection, without a terminal and for at most ProbeLimit. Exit code 0 means available; any other
// result, also a missing binary, is a reason in the report and never an error.
func Probe(ctx context.Context, e Entry, pathEnv string) svc.ProviderReport {
	return probe(ctx, e, pathEnv, ProbeLimit)
}

// ProbeAll probes every entry of a catalog, a few at a time.
func ProbeAll(ctx context.Context, c *Catalog, pathEnv string) map[string]svc.ProviderReport {
	return ProbeEntries(ctx, c.Entries(), pathEnv, ProbeLimit)
}

// ProbeEntries probes some entries, a few at a time; limit is the time for each.
func ProbeEntries(ctx context.Context, entries []Entry, pathEnv string, limit time.Duration) map[string]svc.ProviderReport {
	var (
		mu      sync.Mutex // guards reports
		reports = make(map[string]svc.ProviderReport, len(entries))
		group   errgroup.Group
	)
	group.SetLimit(probesAtOnce)
	for _, e := range entries {
		group.Go(func() error {
			report := probe(ctx, e, pathEnv, limit)
			report.PromptLimit, report.Turns = e.PromptLimit(), e.Turns()
			report.Conversation, report.Resumes = e.Conversation, e.Resumes()
			if e.Message == MessagePaste {
				report.Message = string(MessagePaste)
			}
			mu.Lock()
			defer mu.Unlock()
			reports[e.ID] = report
			return nil
		})
	}
	_ = group.Wait() // no probe returns an error
	return reports
}

func probe(ctx context.Context, e Entry, pathEnv string, limit time.Duration) svc.ProviderReport {
	bin, err := e.Find(pathEnv)
	if err != nil {
		return svc.ProviderReport{Reason: err.Error()}
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, errOut head
	cmd := detached(limited, bin, e.InstalledDetection)
	cmd.Env = probeEnv(pathEnv)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = cmd.Cancel() // a process that it has left running holds its output open
	}
	said := out.line()
	if said == "" {
		said = errOut.line()
	}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && limited.Err() == nil {
		return svc.ProviderReport{Available: true, Version: said}
	}
	command := strings.Join(append([]string{bin}, e.InstalledDetection...), " ")
	return svc.ProviderReport{Reason: cut(command, maxShown) + " " + complaint(ctx, limited, err, limit, errOut.line()) + "; " + e.recheck()}
}

func (e Entry) recheck() string { return "run: svc provider doctor " + e.ID }

// complaint describes how a probe has failed.
func complaint(ctx, limited context.Context, err error, limit time.Duration, said string) string {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "was interrupted"
	case limited.Err() != nil:
		return fmt.Sprintf("did not answer within %s", limit)
	case errors.As(err, &exit) && exit.Exited() && said != "":
		return fmt.Sprintf("exited with code %d: %s", exit.ExitCode(), said)
	case errors.As(err, &exit) && exit.Exited():
		return fmt.Sprintf("exited with code %d", exit.ExitCode())
	case errors.As(err, &exit):
		return "ended by " + exit.String()
	default:
		return "could not be started: " + err.Error()
	}
}

// detached prepares a process in a session of its own: it has no terminal for questions, and when its time is
// over, every process that it has started is killed with it.
func detached(ctx context.Context, bin string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = "/" // the worker's own directory may be gone
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for children that keep the output open
	return cmd
}

// probeEnv returns the worker's environment without its secrets, with the given PATH.
func probeEnv(pathEnv string) []string {
	env := split(os.Environ())
	maps.DeleteFunc(env, func(name, _ string) bool { return !mayInherit(name) })
	env["PATH"] = pathEnv
	return join(env)
}

// head keeps the beginning of what is written to it and drops the rest.
type head struct{ kept bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	const most = 4096
	h.kept.Write(p[:min(len(p), max(0, most-h.kept.Len()))])
	return len(p), nil
}

// line returns the first line that is not blank, without control characters and limited in length.
func (h *head) line() string {
	for line := range strings.Lines(strings.ToValidUTF8(h.kept.String(), "")) {
		line = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, line)
		if line = strings.TrimSpace(line); line != "" {
			return cut(line, maxShown)
		}
	}
	return ""
}

// cut shortens a text to at most this many characters.
func cut(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
