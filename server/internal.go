package server

import (
	"net/http"

	"github.com/coder/websocket"

	"svc"
	"svc/engine"
	"svc/wire"
)

// internalRoutes are the worker's doors. They are no part of the public API
// and of its description.
func (s *Server) internalRoutes() {
	s.mux.HandleFunc("POST "+internalRoot+"/worker/register", s.registerWorker)
	s.mux.HandleFunc("POST "+internalRoot+"/runs/{id}/signals", s.signal)
	s.mux.HandleFunc("GET "+internalRoot+"/worker/uplink", s.last(s.uplink))
}

// internalBody reads the body of a worker's request.
func (s *Server) internalBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := s.readBody(w, r)
	if err == nil && len(body) == 0 {
		err = svc.Invalid("body", "is required: a JSON object")
	}
	return body, err
}

func (s *Server) registerWorker(w http.ResponseWriter, r *http.Request) {
	registered, err := s.takeRegistration(w, r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	writeJSON(w, r, http.StatusOK, registered)
}

func (s *Server) takeRegistration(w http.ResponseWriter, r *http.Request) (wire.Registered, error) {
	body, err := s.internalBody(w, r)
	if err != nil {
		return wire.Registered{}, err
	}
	var reg wire.Registration
	if err := wire.StrictJSON(body, &reg); err != nil {
		return wire.Registered{}, err
	}
	var bad svc.Problems
	if reg.HostName == "" {
		bad.Add("host_name", "is required")
	}
	if !svc.IsID(reg.InstanceID) {
		bad.Add("instance_id", "must be a UUID")
	}
	if err := bad.Err(); err != nil {
		return wire.Registered{}, err
	}
	return s.Engine.Register(r.Context(), reg, callerOf(r.Context()).host)
}

// outcome is the answer to a signal that was delivered.
type outcome struct {
	Outcome svc.Outcome `json:"outcome"`
}

func (s *Server) signal(w http.ResponseWriter, r *http.Request) {
	o, err := s.takeSignal(w, r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	writeJSON(w, r, http.StatusOK, outcome{o})
}

func (s *Server) takeSignal(w http.ResponseWriter, r *http.Request) (svc.Outcome, error) {
	body, err := s.internalBody(w, r)
	if err != nil {
		return "", err
	}
	sig, err := wire.ParseSignal(r.PathValue("id"), body)
	if err != nil {
		return "", err
	}
	sig.Via = "http"
	if err := s.mayReport(r, sig); err != nil {
		return "", err
	}
	if err := s.Engine.Believes(r.Context(), sig, r.Header.Get(wire.HeaderBootID)); err != nil {
		return "", err
	}
	return s.Engine.Ingest(r.Context(), sig)
}

// mayReport keeps a host's own token to the runs that the host was given. A
// signal of a superseded attempt passes: it may be a late one of its own, and
// it changes nothing.
func (s *Server) mayReport(r *http.Request, sig svc.Signal) error {
	host := callerOf(r.Context()).host
	if host == "" {
		return nil
	}
	run, err := s.Engine.Run(r.Context(), sig.RunID)
	if err != nil {
		return err
	}
	if run.HostID != nil && *run.HostID != host && !sig.NoAttempt && sig.Attempt >= run.Attempt {
		return svc.Errorf(svc.CodeUnauthorized, "this token is good for the runs of its own host alone")
	}
	return nil
}

// uplink upgrades a worker's connection and hands it to the engine until it
// ends.
func (s *Server) uplink(w http.ResponseWriter, r *http.Request) {
	if err := upgradable(r); err != nil {
		writeError(w, r, err)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // workers are no browsers: the token alone decides
	})
	if err != nil {
		return // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	err = s.Engine.ServeUplink(r.Context(), wire.WebSocket(conn), engine.Hello{
		HostID:     r.Header.Get(wire.HeaderHostID),
		InstanceID: r.Header.Get(wire.HeaderInstanceID),
		BootID:     r.Header.Get(wire.HeaderBootID),
		OnlyHost:   callerOf(r.Context()).host,
	})
	if err != nil && r.Context().Err() == nil {
		s.log.DebugContext(r.Context(), "uplink ended", "host_id", r.Header.Get(wire.HeaderHostID), "error", err)
	}
}
