package rundir

import "golang.org/x/sys/unix"

// exchange swaps two names on the same disk atomically.
func exchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }
