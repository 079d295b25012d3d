package server

import (
	"net/http"
	"net/url"
	"strconv"

	"svc"
	"svc/engine"
)

// maxClientFrame is the maximum size of a frame from an attached client, in bytes. A large paste fits.
const maxClientFrame = 2 << 20

// AttachWS attaches a client to the terminal of a running run.
func (l *Live) AttachWS(w http.ResponseWriter, r *http.Request) {
	target, err := l.Runs.Attachable(r.Context(), r.PathValue("id"))
	if err == nil {
		err = upgradable(r)
	}
	who := personOf(r)
	if err == nil {
		who.Lists, err = wantsWatchers(r.URL.Query())
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	// Attach before the socket is accepted: so the client has its place in the queue for the lease before it can
	// observe that its socket is open.
	a, joinErr := l.Runs.Attach(r.Context(), target, who)
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
	err = s.serve(r.Context(), socketEnds{next: a.Next, take: a.Handle, cut: a.Cut(), why: a.Why})
	a.Leave() // pass the lease on before the closing handshake, which may take a while
	s.close(err)
	l.Log.Debug("attach socket ended", "run_id", target.RunID, "reason", err)
}

// personOf returns the person who attaches. Without the role operator the person can only watch.
func personOf(r *http.Request) engine.Person {
	c, _ := svc.CallerOf(r.Context())
	return engine.Person{Name: c.Name, Watches: !c.Role.Includes(svc.RoleOperator)}
}

// wantsWatchers reports whether the client requests the list of people who see the terminal.
func wantsWatchers(v url.Values) (bool, error) {
	if !v.Has("watchers") {
		return false, nil
	}
	wants, err := strconv.ParseBool(v.Get("watchers"))
	if err != nil || len(v["watchers"]) != 1 {
		var bad svc.Problems
		bad.Add("watchers", "must be true or false")
		return false, bad.Err()
	}
	return wants, nil
}
