package rundir

import "golang.org/x/sys/unix"

// exchange swaps two names of one disk in one step.
func exchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }
