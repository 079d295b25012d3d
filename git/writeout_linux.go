package git

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteOut starts to write a file's content to the disk. writeOut waits for the rest.
func startWriteOut(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// writeOut writes a file's content to the disk, as core.fsyncMethod=writeout-only does. If the file system does not
// support that, the file is synced.
func writeOut(f *os.File) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	if unix.SyncFileRange(int(f.Fd()), 0, 0, all) == nil {
		return nil
	}
	return f.Sync()
}
