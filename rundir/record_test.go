package rundir_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"svc/rundir"
)

type note struct {
	Text string `json:"text"`
}

func written(t *testing.T) (path string, data []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "note")
	if err := rundir.WriteRecord(path, note{"a few words, ünïcode too"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

func TestARecordIsReadAsItWasWrittenAndForTheOwnerAlone(t *testing.T) {
	t.Parallel()
	path, _ := written(t)
	var got note
	if err := rundir.ReadRecord(path, &got); err != nil || got.Text != "a few words, ünïcode too" {
		t.Errorf("got %q, %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v; want the record alone", len(files), err)
	}
}

func TestARecordCutAtAnyLengthIsCorrupt(t *testing.T) {
	t.Parallel()
	path, data := written(t)
	for n := range data {
		if err := os.WriteFile(path, data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		var got note
		if err := rundir.ReadRecord(path, &got); !errors.Is(err, rundir.ErrCorrupt) {
			t.Errorf("cut to %d of %d bytes: got %v, %q", n, len(data), err, got)
		}
	}
}

func TestARecordWithAnyByteChangedIsCorrupt(t *testing.T) {
	t.Parallel()
	path, data := written(t)
	for n := range data {
		changed := bytes.Clone(data)
		changed[n] ^= 0x04
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := rundir.ReadRecord(path, &note{}); !errors.Is(err, rundir.ErrCorrupt) {
			t.Errorf("byte %d changed: got %v", n, err)
		}
	}
	if err := os.WriteFile(path, append(data, 'x'), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rundir.ReadRecord(path, &note{}); !errors.Is(err, rundir.ErrCorrupt) {
		t.Errorf("trailing data: got %v", err)
	}
}

func TestAMissingRecordIsToldApartFromADamagedOne(t *testing.T) {
	t.Parallel()
	err := rundir.ReadRecord(filepath.Join(t.TempDir(), "none"), &note{})
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, rundir.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte("svc-record-1 0000000003 00000000\n{}\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "launch")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := rundir.TakeLaunch(path)
		if err != nil && !errors.Is(err, rundir.ErrCorrupt) {
			t.Fatalf("damage must be reported as such: %v", err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the launch file is still there: %v", err)
		}
		if err == nil {
			again := filepath.Join(t.TempDir(), "again")
			if err := rundir.WriteRecord(again, l); err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
		}
	})
}
