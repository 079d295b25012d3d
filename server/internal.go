package server

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

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
	s.mux.HandleFunc("GET "+internalRoot+"/worker/uplink", s.uplink)
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
	if err := s.registrations.pass(r.Context()); err != nil {
		return wire.Registered{}, err
	}
	return s.Engine.Register(r.Context(), reg, workerAuthOf(r.Context()).host)
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
	host := workerAuthOf(r.Context()).host
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
// ends. It does not wait for that: of a request that is over nothing is kept,
// neither a stack nor its headers, and an orchestrator has thousands of uplinks.
func (s *Server) uplink(w http.ResponseWriter, r *http.Request) {
	if err := upgradable(r); err != nil {
		writeError(w, r, err)
		return
	}
	if err := s.uplinks.pass(r.Context()); err != nil {
		writeError(w, r, err)
		return
	}
	if !s.lasting.enter() {
		writeError(w, r, shuttingDown)
		return
	}
	exchangeOf(r.Context()).lasting = true
	unlimited(w)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // workers are no browsers: the token alone decides
	})
	if err != nil {
		s.lasting.leave()
		return // Accept has answered
	}
	go s.serveUplink(conn, engine.Hello{
		HostID:     strings.Clone(r.Header.Get(wire.HeaderHostID)),
		InstanceID: strings.Clone(r.Header.Get(wire.HeaderInstanceID)),
		BootID:     strings.Clone(r.Header.Get(wire.HeaderBootID)),
		OnlyHost:   strings.Clone(workerAuthOf(r.Context()).host),
	})
}

// serveUplink serves a connection until it or the server ends.
func (s *Server) serveUplink(conn *websocket.Conn, hello engine.Hello) {
	defer s.lasting.leave()
	defer func() {
		_ = conn.CloseNow()
		if p := recover(); p != nil { // ends this connection alone, as it would a request
			s.log.Error("uplink ended", "host_id", hello.HostID, "error", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	err := s.Engine.ServeUplink(s.closing, wire.WebSocket(conn), hello)
	if err != nil && s.closing.Err() == nil {
		s.log.Debug("uplink ended", "host_id", hello.HostID, "error", err)
	}
}
