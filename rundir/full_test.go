package rundir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"svc"
	"svc/rundir"
)

// smallDisk returns a directory on a separate disk of 256 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := mountTmpfs(dir, "size=256k"); err != nil {
		t.Skipf("a small disk needs the right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes until the disk is full.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); errors.Is(err, unix.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOnAFullDiskTheEndIsStillRecorded(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	d, err := rundir.Open(disk)
	if err != nil {
		t.Fatal(err)
	}
	a := create(t, d, 1)
	fill(t, disk)

	if _, err := d.Put(progress(a.RunID, "half")); !errors.Is(err, rundir.ErrNoSpace) {
		t.Errorf("progress on a full disk: %v", err)
	}
	if err := a.WriteWrapper(rundir.Wrapper{}); !errors.Is(err, rundir.ErrNoSpace) {
		t.Errorf("a record on a full disk: %v", err)
	}
	exit := rundir.Exit{Code: 3, At: at}
	if err := a.WriteExit(exit); err != nil {
		t.Errorf("exit: %v", err)
	}
	put(t, d, a.Signal(exit))

	if got, err := a.ReadExit(); err != nil || got != exit {
		t.Errorf("exit reads %+v, %v", got, err)
	}
	left := pending(t, d)
	if len(left) != 1 || left[0].Kind() != svc.SignalFinished {
		t.Errorf("pending %v", left)
	}
	for _, dir := range []string{d.SpoolPath(), a.Path()} {
		if files, _ := filepath.Glob(filepath.Join(dir, ".tmp-*")); len(files) != 0 {
			t.Errorf("left behind: %q", files)
		}
	}
}

func TestWithRoomOnDiskTheReserveIsGivenBack(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	exit := rundir.Exit{At: at}
	if err := a.WriteExit(exit); err != nil {
		t.Fatal(err)
	}
	put(t, d, a.Signal(exit))
	for _, name := range []string{"reserve.exit", "reserve.finished"} {
		if _, err := os.Stat(a.File(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
