package worker

// Figures are the current numbers that operators monitor.
type Figures struct {
	Sessions  int  // sessions that the worker holds
	Spool     int  // signals that wait to be delivered
	Connected bool // to the orchestrator
}

// Figures returns the current numbers.
func (w *Worker) Figures() Figures {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Figures{Sessions: len(w.sessions), Spool: int(w.spool.depth.Load()), Connected: w.link != nil}
}
