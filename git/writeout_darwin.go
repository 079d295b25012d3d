package git

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteOut does nothing, because this system has no call that starts to write without waiting.
func startWriteOut(*os.File) {}

// writeOut writes a file's content to the disk, as core.fsyncMethod=writeout-only does. On this system fsync does not
// flush the disk's own cache.
func writeOut(f *os.File) error { return unix.Fsync(int(f.Fd())) }
