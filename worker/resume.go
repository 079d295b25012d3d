package worker

import (
	"time"

	"svc/wire"
)

// resumeWithin is how long a challenge is used after it was received. The orchestrator accepts it for three minutes. A
// worker that is refused registers, so the exact time does not matter.
const resumeWithin = 170 * time.Second

// resumption is what the worker needs to connect again without a registration.
type resumption struct {
	as wire.Registered // with the newest challenge of the connection
	at time.Time       // when that challenge was received; zero: there is none
}

// noteChallenge stores the challenge of a heartbeat's answer for the next connection.
func (w *Worker) noteChallenge(l *link, challenge string) {
	if challenge == "" {
		return
	}
	as := l.registered
	as.Challenge = challenge
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resumption = resumption{as, time.Now()}
}

// forgetChallenge makes the worker register before its next connection.
func (w *Worker) forgetChallenge() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resumption = resumption{}
}

// resumes returns the host as which the worker was connected, with the challenge for its next connection. ok is false
// if the worker must register.
func (w *Worker) resumes() (as wire.Registered, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.resumption
	if r.at.IsZero() || time.Since(r.at) > resumeWithin {
		return as, false
	}
	return r.as, true
}
