package wrapper

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"svc/rundir"
)

func TestOnAFullDiskTheRunGoesOnAndItsEndIsKept(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small disk needs the right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	l := launchOf(t, disk, "", `echo working; exit 3`)
	cmd := wrapperCommand(t, l)
	fill(t, disk)
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != 3 {
		t.Errorf("exit code %d:\n%s", got, out)
	}
	for _, want := range []string{"working", "is full; the run goes on"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	wantExit(t, l, 3, "")
	if got := spooled(t, rundir.Dir(disk)); !slices.Equal(got, []string{"finished"}) {
		t.Errorf("spool has %v", got)
	}
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
