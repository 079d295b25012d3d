package worker

import "sync"

// serial runs functions one after the other, in the order of the calls of do, which does not wait for them. It
// has a goroutine only while functions are queued.
type serial struct {
	tasks *sync.WaitGroup // the goroutine belongs to it

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
