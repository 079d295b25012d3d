package server

import (
	"net/http"
	"net/url"
	"strconv"

	"svc"
	"svc/engine"
)

// maxClientFrame bounds what an attached client may send at once: a large
// paste fits.
const maxClientFrame = 2 << 20

// AttachWS lets a client share the terminal of a running run.
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
	// It joins before it is told that its socket is open: whoever comes after it
	// is after it in the line.
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
	a.Leave() // the lease goes on before the closing handshake, which may take a while
	s.close(err)
	l.Log.Debug("attach socket ended", "run_id", target.RunID, "reason", err)
}

// personOf is who attaches. Whoever may not operate watches.
func personOf(r *http.Request) engine.Person {
	c, _ := svc.CallerOf(r.Context())
	return engine.Person{Name: c.Name, Watches: !c.Role.Includes(svc.RoleOperator)}
}

// wantsWatchers reports whether the client asks to be told who else sees the terminal.
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
