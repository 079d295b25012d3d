package git

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteOut has the system begin what writeOut waits for.
func startWriteOut(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// writeOut hands a file's content to the disk, as core.fsyncMethod=writeout-only does. Where the file system cannot do that, it is synced.
func writeOut(f *os.File) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	if unix.SyncFileRange(int(f.Fd()), 0, 0, all) == nil {
		return nil
	}
	return f.Sync()
}
