package worker

// Figures are the numbers of the moment that operators watch.
type Figures struct {
	Sessions  int  // that the worker holds
	Spool     int  // signals that wait to be delivered
	Connected bool // to the orchestrator
}

// Figures reads them.
func (w *Worker) Figures() Figures {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Figures{Sessions: len(w.sessions), Spool: int(w.spool.depth.Load()), Connected: w.link != nil}
}
