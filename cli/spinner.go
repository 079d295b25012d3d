package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"svc/safetext"
)

// spinner shows on a terminal what the command waits for. Elsewhere it prints nothing.
type spinner struct {
	a    *app
	done chan struct{}
	gone sync.WaitGroup

	mu   sync.Mutex // guards text
	text string
}

func (a *app) spin() *spinner {
	s := &spinner{a: a, done: make(chan struct{})}
	if isTerminal(a.err) {
		s.gone.Go(s.animate)
	}
	return s
}

func (s *spinner) animate() {
	tick := time.NewTicker(120 * time.Millisecond)
	defer tick.Stop()
	frames, began := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"), time.Now()
	for i := 0; ; i++ {
		select {
		case <-s.done:
			s.a.err.printf("\r\x1b[K")
			return
		case <-tick.C:
		}
		s.mu.Lock()
		line := fmt.Sprintf("%c %s · %s", frames[i%len(frames)], s.text, age(time.Since(began)))
		s.mu.Unlock()
		s.a.err.printf("\r\x1b[K%s", ansi.Truncate(string(safetext.Line(line)), max(20, width(s.a.err)-1), "…"))
	}
}

// say changes the text.
func (s *spinner) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

// stop removes the line from the screen. It must be called once only.
func (s *spinner) stop() {
	close(s.done)
	s.gone.Wait()
}
