package rundir_test

import "golang.org/x/sys/unix"

func mountTmpfs(dir, options string) error { return unix.Mount("tmpfs", dir, "tmpfs", 0, options) }
