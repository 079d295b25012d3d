package git

import "golang.org/x/sys/unix"

// limitMemory bounds what a process, and whatever it starts from now on, may allocate, in bytes. Files that it maps do not count.
func limitMemory(pid int, most uint64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}, nil) // it may have ended
}
