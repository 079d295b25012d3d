// Package textbuffer has a buffer that a process or a log writes to while a test reads it.
package textbuffer

import (
	"strings"
	"sync"
)

// Buffer stores what is written to it. Reads and writes may be concurrent. The zero value is an empty buffer.
type Buffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

// Write appends p.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns everything that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
