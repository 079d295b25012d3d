package cli

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// keyReader reads keys from a terminal until it is stopped. It takes no key after that: the next reader gets all of
// them.
type keyReader struct {
	typed <-chan []byte // each element is the result of one read; closed at the end of the reader
	stop  func()        // ends the reader and waits for its goroutine; may be called more than once
}

// end stops a reader that was started. On the zero value it does nothing.
func (k keyReader) end() {
	if k.stop != nil {
		k.stop()
	}
}

// keyPatience bounds how long a stopped reader waits for a key before it ends.
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

// splitKeys splits the bytes that a terminal sent at once into keys: an arrow is three bytes, every other key one.
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
