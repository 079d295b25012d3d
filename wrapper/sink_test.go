package wrapper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc/rundir"
)

// fullDisk is a file on a disk that is sometimes full.
type fullDisk struct {
	text strings.Builder
	full bool
	room int // bytes that can be written until it is full
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

// steps is an input that calls a function before each of its parts.
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
	if err := rundir.ReserveSinkState(path); err != nil {
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
		told = append(told, rundir.ReadSinkState(path))
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

func TestTheSinkAppendsSaysOnceThatItIsFullAndReadsOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("old "), 0o600); err != nil {
		t.Fatal(err)
	}
	in := strings.NewReader(strings.Repeat("x", 200_000))
	if err := Sink(in, path, 100_000, "", ""); err != nil {
		t.Fatal(err)
	}
	if in.Len() != 0 {
		t.Errorf("%d bytes were not read", in.Len())
	}
	if err := Sink(strings.NewReader("another attempt"), path, 100_000, "", ""); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "old " + strings.Repeat("x", 100_000-4) + fullNotice(100_000)
	if string(got) != want {
		t.Errorf("log has %d bytes and ends %q, want %d bytes", len(got), got[max(0, len(got)-120):], len(want))
	}
}
