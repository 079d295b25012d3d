package cli

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// keyReader reads keys from a terminal until it is stopped, and takes none after that: the next reader gets them all.
type keyReader struct {
	typed <-chan []byte // what was typed at once; closed when the terminal is gone
	stop  func()        // ends it and waits; it may be called again
}

// end stops a reader that was begun.
func (k keyReader) end() {
	if k.stop != nil {
		k.stop()
	}
}

// keyPatience is how long a stopped reader may go on looking for a key.
const keyPatience = 50 * time.Millisecond

func readKeys(in *os.File) keyReader {
	typed, stopping, done := make(chan []byte), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer close(typed)
		chunk := make([]byte, 4096)
		for {
			select {
			case <-stopping:
				return
			default:
			}
			ready := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}
			n, err := unix.Poll(ready, int(keyPatience.Milliseconds()))
			if n == 0 || errors.Is(err, unix.EINTR) {
				continue
			}
			if n, err = in.Read(chunk); err != nil || n == 0 {
				return
			}
			select {
			case typed <- bytes.Clone(chunk[:n]):
			case <-stopping:
				return
			}
		}
	}()
	return keyReader{typed: typed, stop: sync.OnceFunc(func() {
		close(stopping)
		<-done
	})}
}

// splitKeys takes apart what a terminal sent at once: an arrow is three bytes, everything else one.
func splitKeys(typed string) (keys []string) {
	for len(typed) > 0 {
		n := 1
		if len(typed) >= 3 && typed[0] == '\x1b' && (typed[1] == '[' || typed[1] == 'O') {
			n = 3
		}
		keys, typed = append(keys, typed[:n]), typed[n:]
	}
	return keys
}
