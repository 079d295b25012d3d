package hub

import (
	"context"
	"time"
)

// shutdownGrace is how long clients have at a shutdown to receive their last output.
const shutdownGrace = 2 * time.Second

// idleCheck is the interval between two checks for idle holders.
const idleCheck = time.Second

// Run calls OnLease and OnInput until ctx ends. Then it closes every socket, delivers the remaining calls and returns
// when all clients have left.
func (h *Attachments) Run(ctx context.Context) error {
	idle := time.NewTicker(idleCheck)
	defer idle.Stop()
	for ctx.Err() == nil {
		h.runCallbacks()
		select {
		case <-h.wake:
		case <-idle.C:
			h.passIdle()
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	h.closed = true
	for _, s := range h.runs {
		h.detach(s, ErrShutdown)
	}
	h.mu.Unlock()
	grace := time.NewTimer(shutdownGrace)
	defer grace.Stop()
	for {
		h.runCallbacks()
		if h.empty() {
			return nil
		}
		select {
		case <-h.wake:
		case <-grace.C:
			h.cutAll()
		}
	}
}

func (h *Attachments) runCallbacks() {
	h.mu.Lock()
	leases, typed := h.leases, h.typed
	h.leases, h.typed = nil, map[string]string{}
	h.mu.Unlock()
	for _, e := range leases {
		h.cfg.OnLease(e)
	}
	for runID, by := range typed {
		h.cfg.OnInput(runID, by)
	}
}

func (h *Attachments) empty() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all) == 0 && len(h.leases) == 0 && len(h.typed) == 0
}

func (h *Attachments) cutAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for a := range h.all {
		a.cutOff(ErrShutdown)
	}
}

func (h *Attachments) wakeRun() { wakeUp(h.wake) }

func wakeUp(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
