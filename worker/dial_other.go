//go:build !linux

package worker

import "syscall"

// limitUnacknowledged is only implemented on Linux.
func limitUnacknowledged(string, string, syscall.RawConn) error { return nil }
