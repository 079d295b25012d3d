// Package textbuffer has a buffer for what a process or a log writes while a test reads it.
package textbuffer

import (
	"strings"
	"sync"
)

// Buffer keeps what is written to it. It may be read meanwhile; its zero value is empty.
type Buffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

// Write appends.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is all that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
