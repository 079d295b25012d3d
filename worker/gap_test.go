package worker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc/process"
	"svc/wire"
)

// fullDisk is a file on a disk that is full from time to time.
type fullDisk struct {
	text strings.Builder
	full bool
	room int // bytes that are left when it is full
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if !d.full {
		return d.text.Write(p)
	}
	n := min(d.room, len(p))
	d.room -= n
	d.text.Write(p[:n])
	return n, &os.PathError{Op: "write", Path: "log", Err: syscall.ENOSPC}
}

// steps is an input that does something before each of its parts.
type steps struct {
	parts []string
	do    func(next int)
	next  int
}

func (s *steps) Read(p []byte) (int, error) {
	s.do(s.next)
	if s.next == len(s.parts) {
		return 0, errors.New("the input broke")
	}
	s.next++
	return copy(p, s.parts[s.next-1]), nil
}

func TestALogOfADiskThatWasFullSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	if err := reserveSinkState(path); err != nil {
		t.Fatal(err)
	}
	state, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = state.Close() }()
	disk := &fullDisk{}
	var told []string
	in := &steps{parts: []string{"before ", "0123456789", "abcde", "after", "lost"}, do: func(next int) {
		told = append(told, readSinkState(path))
		disk.full, disk.room = next == 1 || next == 2 || next == 4, 4
		if next > 1 {
			disk.room = 0
		}
		if next == 5 {
			disk.full = false
		}
	}}
	if err := (&sinkLog{f: disk, state: state}).copy(in); err == nil || !strings.Contains(err.Error(), "the input broke") {
		t.Errorf("copy = %v", err)
	}
	want := "before 0123\r\n[svc: 11 bytes of output are missing here: no space left on device]\r\nafter" +
		"\r\n[svc: 4 bytes of output are missing here: no space left on device]\r\n"
	if got := disk.text.String(); got != want {
		t.Errorf("log\n%q, want\n%q", got, want)
	}
	const full = "no space left on device"
	if got := strings.Join(told, "|"); got != strings.Join([]string{"", "", full, full, "", full}, "|") {
		t.Errorf("the state was %q", got)
	}
}

func (l *lab) hints() (texts []string) {
	for _, f := range framesOf[*wire.RunHint](l.o) {
		texts = append(texts, f.Hint)
	}
	return texts
}

func TestALogWhoseWriterWasKilledSaysSoAndGoesOn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`echo first; while read line; do echo "got $line"; done`)
	l.wait("the first line", func() bool { return strings.Contains(l.o.log(run, 1), "first") })
	p := l.w.session(run, 1).where()
	for _, child := range process.Children(p.host.PID) {
		if child.PID != p.process.PID {
			if err := child.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.wait("the hint", func() bool { return strings.Contains(strings.Join(l.hints(), "\n"), "its writer ended") })
	l.wait("the mark in the log", func() bool { return strings.Contains(l.o.log(run, 1), "output is missing here") })
	l.wait("another writer", func() bool {
		found, err := p.server.Inspect(t.Context(), p.host)
		return err == nil && found.Piped
	})
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"more", "Enter"}})
	l.wait("the log to go on", func() bool { return strings.Contains(l.o.log(run, 1), "got more") })
	if n := strings.Count(l.o.log(run, 1), "output is missing here"); n != 1 {
		t.Errorf("the gap is marked %d times", n)
	}
	l.o.cut()
	before := len(l.hints())
	l.wait("the hint on the next connection", func() bool { return len(l.hints()) > before })
}

func TestScreensAreLookedAtWhenTheLogDoesNotGrow(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.SinkArgv = []string{"/bin/sh", "-c", "exec cat > /dev/null"} // as one whose every write fails
	l.start()
	run := l.begin(`echo first; while read line; do echo "got $line"; done`)
	l.wait("the first screen", func() bool { return l.o.count("snapshot") > 0 })
	state, err := os.OpenFile(l.dir.Attempt(run, 1).SinkPath(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = state.Close() }()
	tellSinkState(state, "no space left on device")
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"more", "Enter"}})
	l.wait("the screen to go on", l.o.shows(run, "got more"))
	l.wait("the hint", func() bool {
		return strings.Contains(strings.Join(l.hints(), "\n"), "output is missing from the log: no space left on device")
	})
}
