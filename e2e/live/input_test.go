package live

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// tmux runs a tmux command on the run's own tmux server and returns its output.
func (s *site) tmux(runID string, args ...string) string {
	s.t.Helper()
	sockets, err := filepath.Glob(filepath.Join(s.lab.Dir, "rt", "*", runID[:8]))
	if err != nil || len(sockets) != 1 {
		s.t.Fatalf("the run's socket: %v %v", sockets, err)
	}
	out, err := exec.CommandContext(s.t.Context(), "tmux", append([]string{"-S", sockets[0]}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// state returns everything in a tmux server that hostile input could change.
func (s *site) state(runID string) string {
	s.t.Helper()
	return s.tmux(runID, "list-sessions", "-F", "#{session_name} #{session_windows} #{session_attached}") +
		s.tmux(runID, "list-panes", "-a", "-F", "#{window_id} #{pane_id} #{pane_width}x#{pane_height} #{pane_in_mode} #{pane_pid}") +
		s.tmux(runID, "list-buffers") + s.tmux(runID, "show-options", "-g") + s.tmux(runID, "show-options", "-s") +
		s.tmux(runID, "show-options", "-g", "-w") + s.tmux(runID, "show-environment", "-g")
}

// hostileInputs returns inputs that contain commands or control sequences for a shell, for tmux or for a terminal.
func hostileInputs(canary string) []string {
	return []string{
		"; touch " + canary + " ;", "a;", ";", "\\;", "#{pane_id} #(touch " + canary + ") #S", "$(touch " + canary + ") `touch " + canary + "`",
		`"'"'"`, "%1 {} ~ \\n \\033", "one\ntwo\r\nthree\r", "\x02d\x02:kill-server\r\x02&y\x02[", "\x00\x01\x03\x04\x11\x13\x1a\x1c\x7f",
		"漢字 é 👍 e\u0301", "\x1b", "\x1b[A\x1b[1;5C\x1b[3~\x1b[15~", "\x1b[999z\x1b]0;title\x07", "\x1bx\x1b\x1b", "-X -R --help", strings.Repeat("long ", 50_000),
	}
}

func TestWhatIsTypedReachesTheProgramByteForByteAndDoesNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	typed, canary := s.lab.Path("typed"), s.lab.Path("canary")
	id := s.run(program("typed", typed, "the end"))
	holder := s.attach(id)
	holder.awaitData(mark{}, "[ready]")
	before := s.state(id)
	var want bytes.Buffer
	for _, input := range append(hostileInputs(canary), "the end") {
		if input == "the end" && s.state(id) != before {
			t.Errorf("the input changed tmux from\n%s\nto\n%s", before, s.state(id))
		}
		holder.typeIn(input)
		want.WriteString(input)
		waittest.Eventually(t, fmt.Sprintf("%.40q arrives", input), func() bool { return len(read(t, typed)) >= want.Len() })
		if got := read(t, typed); !bytes.Equal(got, want.Bytes()) {
			at := firstDifference(got, want.Bytes())
			t.Fatalf("after %.40q the program got %.60q, want %.60q", input, got[at:], want.Bytes()[at:])
		}
	}
	s.awaitEnd(id)
	if _, err := os.Stat(canary); err == nil {
		t.Error("a command in the input was executed")
	}
}

// TestWhatATerminalAnswersDoesNoHarm sends sequences that tmux interprets as responses of the
// terminal or as mouse events. tmux may discard them, but they must have no other effect.
func TestWhatATerminalAnswersDoesNoHarm(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	typed := s.lab.Path("typed")
	id := s.run(program("typed", typed, "the end"))
	holder := s.attach(id)
	holder.awaitData(mark{}, "[ready]")
	before := s.state(id)
	for _, input := range []string{
		"\x1b[?62;4;22c", "\x1b[>84;0;0c", "\x1bP>|tmux 3.9\x1b\\", "\x1b]10;rgb:0000/0000/0000\x07", "\x1b]52;c;c2VjcmV0\x07",
		"\x1b[M !!", "\x1b[<0;1;1M", "\x1b[<64;1;1M", "\x1b[I\x1b[O", "\x1b[200~pasted\x1b[201~", "\xff\xfe\xc3", "\x1b[8;10;10t", "\x1b[5;5R",
	} {
		holder.typeIn(input)
	}
	holder.typeIn("done")
	waittest.Eventually(t, "the input arrives", func() bool { return bytes.HasSuffix(read(t, typed), []byte("done")) })
	if after := s.state(id); after != before {
		t.Errorf("the input changed tmux from\n%s\nto\n%s", before, after)
	}
	if got := read(t, typed); !bytes.Contains(got, []byte("pasted")) {
		t.Errorf("the program got %q, without the pasted text", got)
	}
	holder.typeIn("the end")
	s.awaitEnd(id)
}

func TestKeysAreNamesOrWordsAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	typed, canary := s.lab.Path("typed"), s.lab.Path("canary")
	id := s.run(program("typed", typed, "theend"))
	s.awaitLog(id, "[ready]")
	before := s.state(id)
	for _, key := range append(hostileInputs(canary), "", "C-c", "enter ", "Ctrl+1", "a b", "é") {
		err := s.client.SendKeys(t.Context(), id, []string{"fine", key})
		if svc.CodeOf(err) != svc.CodeInvalidKeys {
			t.Errorf("key %.40q: %v", key, err)
		}
	}
	if after := s.state(id); after != before {
		t.Errorf("refused keys changed tmux from\n%s\nto\n%s", before, after)
	}
	if err := s.client.SendKeys(t.Context(), id, []string{"Up", "text:Up", "Enter", "F1", "Ctrl+C", "theend"}); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd(id)
	if got := string(read(t, typed)); got != "\x1b[AUp\rF1\x03theend" {
		t.Errorf("the program got %q", got)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a command in a key was executed")
	}
}

func TestCtrlCThroughAttachInterruptsTheAgent(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	id := s.run(program("typed", s.lab.Path("typed"), "the end\n", "usual mode"))
	holder := s.attach(id)
	holder.awaitData(mark{}, "[ready]")
	holder.typeIn("\x03")
	holder.awaitData(mark{}, "[interrupted]")
	holder.typeIn("the end\r")
	if r := s.awaitEnd(id); r.Status != svc.RunExited {
		t.Errorf("the run is %s", r.Status)
	}
}

// read returns the content of a file. It returns nothing if the file does not exist.
func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return text
}
