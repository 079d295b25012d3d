package git

import "golang.org/x/sys/unix"

// limitMemory bounds the bytes that a process, and those that it starts from now on, may allocate. Mapped files do
// not count.
func limitMemory(pid int, most uint64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}, nil) // the process may have ended
}
