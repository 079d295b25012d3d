package worker

import "sync"

// serial runs functions one after the other, in the order they were given,
// without making the giver wait. It costs a goroutine only while there is
// something to do.
type serial struct {
	tasks *sync.WaitGroup // who waits for the goroutine

	mu    sync.Mutex // guards queue and busy
	queue []func()
	busy  bool
}

func (s *serial) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, f)
	if s.busy {
		return
	}
	s.busy = true
	s.tasks.Go(s.work)
}

func (s *serial) work() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.busy = false
			s.mu.Unlock()
			return
		}
		f := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		f()
	}
}
