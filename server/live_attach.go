package server

import (
	"net/http"

	"svc"
	"svc/hub"
)

// maxClientFrame bounds what an attached client may send at once: a large
// paste fits.
const maxClientFrame = 2 << 20

// AttachWS lets a client share the terminal of a running run.
func (l *Live) AttachWS(w http.ResponseWriter, r *http.Request) {
	target, err := l.attachable(r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	// It joins before it is told that its socket is open: whoever comes after it
	// is behind it in the line.
	a, joinErr := l.Attach.Join(target, personOf(r))
	if joinErr == nil {
		defer a.Leave()
	}
	s := accept(w, r)
	if s == nil {
		return
	}
	if joinErr != nil {
		s.close(joinErr)
		return
	}
	s.conn.SetReadLimit(maxClientFrame)
	// The run may have ended between the look and the join; whoever ends it now
	// finds this client.
	if now, err := l.Runs.Run(r.Context(), target.RunID); err == nil && targetOf(now) != target {
		a.End(hub.ErrRunEnded)
	}
	err = s.serve(r.Context(), socketEnds{next: a.Next, take: a.Handle, cut: a.Cut(), why: a.Why})
	a.Leave() // the lease goes on before the closing handshake, which may take a while
	s.close(err)
	l.Log.Debug("attach socket ended", "run_id", target.RunID, "reason", err)
}

// personOf is who attaches. Whoever may not operate watches.
func personOf(r *http.Request) hub.Person {
	c, _ := svc.CallerOf(r.Context())
	return hub.Person{Name: c.Name, Watches: !c.Role.Includes(svc.RoleOperator)}
}

// attachable finds what the request wants to attach to, or why it cannot.
func (l *Live) attachable(r *http.Request) (hub.Target, error) {
	run, err := l.Runs.Run(r.Context(), r.PathValue("id"))
	if err != nil {
		return hub.Target{}, err
	}
	target := targetOf(run)
	if target == (hub.Target{}) {
		return target, svc.Errorf(svc.CodeRunNotRunning, "run %s is %s; only a running run can be attached to", run.ID, run.Status)
	}
	if err := upgradable(r); err != nil {
		return target, err
	}
	return target, l.Attach.Ready(target.HostID)
}

// targetOf is the session of a run; zero when it cannot be attached to.
func targetOf(run svc.Run) hub.Target {
	if !run.Reachable() || run.HostID == nil {
		return hub.Target{}
	}
	return hub.Target{RunID: run.ID, Attempt: run.Attempt, HostID: *run.HostID}
}
