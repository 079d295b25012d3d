package provider

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/internal/waittest"
)

const systemPath = "/usr/bin:/bin"

// script returns an entry whose presence check is a shell script.
func script(text string, args ...string) Entry {
	return Entry{ID: "x", Bin: "sh", InstalledDetection: append([]string{"-c", text, "sh"}, args...)}
}

func TestTheProbeTellsWhatItFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		entry   Entry
		version string // of an available tool
		reason  string // a part of the reason for an unavailable tool
	}{
		{"exit 0", script("echo 1.2.3; echo more"), "1.2.3", ""},
		{"the first line that says something", script(`printf '\n  \n  tool 2 \r\n'`), "tool 2", ""},
		{"a version on stderr", script("echo 3.0 >&2"), "3.0", ""},
		{"stdout before stderr", script("echo noise >&2; echo 4.0"), "4.0", ""},
		{"nothing said", script("exit 0"), "", ""},
		{"no escape sequences", script(`printf '\033[1mv5\033[0m'`), "[1mv5[0m", ""},
		{"its arguments", script(`echo "$2$1"`, "a", "b"), "ba", ""},
		{"without a terminal", script(`if [ -t 0 ] || (true </dev/tty) 2>/dev/null; then exit 9; fi; read line || echo none`), "none", ""},
		{"exit 3", script("echo why not >&2; exit 3"), "", "exited with code 3: why not; run: svc provider doctor x"},
		{"exit 4 in silence", script("exit 4"), "", "exited with code 4; run: svc provider doctor x"},
		{"a signal", script("kill -9 $$"), "", "ended by signal: killed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Probe(t.Context(), tt.entry, systemPath)
			if want := (tt.reason == ""); got.Available != want || got.Version != tt.version || !strings.Contains(got.Reason, tt.reason) || want != (got.Reason == "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestALongVersionIsCut(t *testing.T) {
	t.Parallel()
	got := Probe(t.Context(), script(`i=0; while [ $i -lt 2000 ]; do printf 'ä%s' 0123456789; i=$((i+1)); done`), systemPath)
	if n := len([]rune(got.Version)); !got.Available || n != 200 || !strings.HasPrefix(got.Version, "ä0123") {
		t.Errorf("%d characters: %+v", n, got)
	}
}

func TestAMissingBinaryIsAReasonThatSaysWhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ bin, path, want string }{
		{"no-such-tool", "/nowhere:" + dir, `no executable "no-such-tool" in PATH (/nowhere:` + dir + `); install it or set bin in [providers.x], then run: svc provider doctor x`},
		{"plain", dir, `no executable "plain" in PATH (` + dir + `)`},
		{"sh", "", `no executable "sh" in PATH ()`},
		{"sh", ".:bin:", `no executable "sh" in PATH (.:bin:)`},
		{filepath.Join(dir, "plain"), "/bin", "no executable " + filepath.Join(dir, "plain") + "; install it"},
	} {
		got := Probe(t.Context(), Entry{ID: "x", Bin: tt.bin}, tt.path)
		if got.Available || got.Version != "" || !strings.Contains(got.Reason, tt.want) {
			t.Errorf("%s in %q: got %+v, want %s", tt.bin, tt.path, got, tt.want)
		}
	}
	if long := Probe(t.Context(), Entry{ID: "x", Bin: "y"}, strings.Repeat("/dir:", 2000)).Reason; len(long) > 1000 {
		t.Errorf("the reason has %d bytes", len(long))
	}
}

func TestTheBinaryIsTakenFromTheGivenPathInOrder(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := os.Symlink("/bin/sh", filepath.Join(dir, "tool")); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Entry{Bin: "tool"}.Find("relative:/nowhere:" + first + ":" + second)
	if err != nil || got != filepath.Join(first, "tool") {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := (Entry{Bin: "/bin/sh"}).Find(""); err != nil || got != "/bin/sh" {
		t.Errorf("an absolute one: %s, %v", got, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (Entry{Bin: "svc"}).Find("/nowhere"); err != nil || got != self {
		t.Errorf("a download under another name is found as %s, %v", got, err)
	}
}

func TestAProbeThatHangsEndsWithAllItStarted(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	hangs := script(`trap '' TERM INT HUP; sleep 300 & echo $$ $! > "$1.new"; mv "$1.new" "$1"; sleep 300; sleep 300`, pids)
	start := time.Now()
	got := probe(t.Context(), hangs, systemPath, 500*time.Millisecond)
	if got.Available || !strings.Contains(got.Reason, "did not answer within 500ms") {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("it took %s", took)
	}
	data, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		waittest.Eventually(t, "process "+field+" is gone", func() bool { return !running(pid) })
	}
}

func TestAChildThatKeepsTheOutputOpenHoldsNothingUpAndIsEnded(t *testing.T) {
	t.Parallel()
	got := Probe(t.Context(), script("sleep 300 & echo $!"), systemPath)
	pid, err := strconv.Atoi(got.Version)
	if !got.Available || err != nil {
		t.Fatalf("got %+v", got)
	}
	waittest.Eventually(t, "the child is gone", func() bool { return !running(pid) })
}

func TestAProbeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan svc.ProviderReport, 1)
	go func() { done <- Probe(ctx, script("exec sleep 300"), systemPath) }()
	cancel()
	if got := <-done; got.Available || !strings.Contains(got.Reason, "was interrupted") {
		t.Errorf("got %+v", got)
	}
}

func TestAProbeSeesThePathButNoSecret(t *testing.T) {
	t.Setenv("SVC_WORKER_TOKEN", "geheim") // sets the process's environment, so not parallel
	t.Setenv("SVC_TOKEN", "geheim")
	t.Setenv("SVC_GATEWAY_API_KEY", "geheim")
	got := Probe(t.Context(), script(`if env | grep geheim; then exit 1; fi; echo "$PATH"`), systemPath)
	if !got.Available || got.Version != systemPath {
		t.Errorf("got %+v", got)
	}
}

func TestAllProvidersAreProbed(t *testing.T) {
	t.Parallel()
	c, err := Parse("c", []byte("[providers.here]\nbin='sh'\ninstalled_detection=['-c','echo 7']\n[providers.gone]\nbin='no-such-tool'\n"+
		"[providers.bad]\nbin='sh'\ninstalled_detection=['-c','exit 1']\n[providers.three]\nbin='true'\n[providers.four]\nbin='true'\n[providers.five]\nbin='true'\nmessage='paste'\ncompletion_signals=['native_hook']\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := ProbeAll(t.Context(), c, systemPath)
	if len(got) != 6 || got["here"] != (svc.ProviderReport{Available: true, Version: "7", PromptLimit: svc.MaxArgument}) || got["gone"].Available || got["bad"].Available || got["five"] != (svc.ProviderReport{Available: true, PromptLimit: svc.MaxArgument, Message: "paste", Turns: true, Version: got["five"].Version}) {
		t.Errorf("got %+v", got)
	}
}

// running reports whether a process exists and is no zombie.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}
