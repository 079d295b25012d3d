package server

import (
	"cmp"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"svc"
	"svc/engine"
	"svc/wire"
)

// internalRoutes registers the endpoints for workers. They are not part of the public API and its description.
func (s *Server) internalRoutes() {
	s.mux.HandleFunc("POST "+internalRoot+"/worker/register", s.registerWorker)
	s.mux.HandleFunc("POST "+internalRoot+"/runs/{id}/signals", s.signal)
	s.mux.HandleFunc("POST "+internalRoot+"/runs/{id}/comments/{comment}/handled", s.handleComment)
	s.mux.HandleFunc("GET "+internalRoot+"/worker/uplink", s.uplink)
	s.workspaceReports()
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
	only := reporterOf(r.Context()).Host
	if err := s.Engine.PaceArrival(r.Context(), "register", cmp.Or(only, svc.Cut(reg.HostName, 300))); err != nil {
		return wire.Registered{}, err
	}
	leave, err := s.arrivals.Enter(r.Context())
	if err != nil {
		return wire.Registered{}, err
	}
	defer leave()
	return s.Engine.Register(r.Context(), reg, only)
}

// outcome is the response to a delivered signal.
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
	if err := relayedBefore(r.Header, &sig); err != nil {
		return "", err
	}
	who := reporterOf(r.Context())
	who.BootID = r.Header.Get(wire.HeaderBootID)
	return s.Engine.Report(r.Context(), who, sig)
}

// relayedBefore reads from the headers how much the host has relayed before an end.
func relayedBefore(h http.Header, sig *svc.Signal) error {
	if text := h.Get(wire.HeaderLogBytes); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return svc.Invalid(wire.HeaderLogBytes, "must be a number of bytes")
		}
		sig.LogBytes = n
	}
	sig.LastScreen = h.Get(wire.HeaderLastScreen) == "1"
	return nil
}

// arrivalMost is how long an arrival can hold its place in the line after the upgrade. Then the next one is admitted,
// although the worker has not sent its first heartbeat: it replays a long spool, or its network is slow.
const arrivalMost = 250 * time.Millisecond

// uplink upgrades a worker's connection and starts a goroutine that serves it. The handler then returns, so that the
// request's stack and headers are freed: an orchestrator has thousands of uplinks.
func (s *Server) uplink(w http.ResponseWriter, r *http.Request) {
	if err := upgradable(r); err != nil {
		writeError(w, r, err)
		return
	}
	named := wire.Identity{HostID: r.Header.Get(wire.HeaderHostID), InstanceID: r.Header.Get(wire.HeaderInstanceID), BootID: r.Header.Get(wire.HeaderBootID)}
	if err := named.Check(); err != nil {
		writeError(w, r, svc.Errorf(svc.CodeValidation, "%v", err))
		return
	}
	hello, err := helloOf(r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	who := reporterOf(r.Context())
	if payer := cmp.Or(who.Host, named.HostID); payer != "" {
		if err := s.Engine.PaceArrival(r.Context(), "connect", payer); err != nil {
			writeError(w, r, err)
			return
		}
	}
	leave, err := s.arrivals.Enter(r.Context())
	if err != nil {
		writeError(w, r, err)
		return
	}
	defer time.AfterFunc(arrivalMost, leave) // also after a panic
	refuse := func(err error) {
		leave()
		writeError(w, r, err)
	}
	if err := s.Engine.Admit(r.Context(), &hello); err != nil {
		refuse(err)
		return
	}
	if !s.longLived.enter() {
		refuse(shuttingDown)
		return
	}
	exchangeOf(r.Context()).longLived = true
	unlimited(w)
	if hello.Capabilities != nil {
		w.Header().Set(wire.HeaderCapabilities, wire.JoinCapabilities(hello.Capabilities))
	}
	conn, err := websocket.Accept(smallBuffers{w}, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // workers are not browsers: the token and the key are checked instead
	})
	if err != nil {
		leave()
		s.longLived.leave()
		return // Accept has sent the response
	}
	hello.Arrived = leave
	go s.serveUplink(conn, hello)
}

// helloOf returns what a worker reports about itself when it opens the uplink. The strings are copied, because the
// connection outlives the request.
func helloOf(r *http.Request) (engine.Hello, error) {
	caps, err := wire.HeaderCapabilitiesOf(r.Header.Values(wire.HeaderCapabilities))
	if err != nil {
		return engine.Hello{}, svc.Errorf(svc.CodeValidation, "%v", err)
	}
	header := func(name string) string { return strings.Clone(r.Header.Get(name)) }
	who := reporterOf(r.Context())
	return engine.Hello{
		HostID: header(wire.HeaderHostID), InstanceID: header(wire.HeaderInstanceID), BootID: header(wire.HeaderBootID),
		OnlyHost: strings.Clone(who.Host), Generation: who.Generation,
		Key: header(wire.HeaderWorkerKey), Challenge: header(wire.HeaderChallenge), Signature: header(wire.HeaderSignature),
		Containment: oneOf(r.Header.Get(wire.HeaderContainment), "off", "bwrap"), Scopes: oneOf(r.Header.Get(wire.HeaderScopes), "on", "off"),
		Capabilities: caps,
	}, nil
}

// oneOf returns word if it is one of the known words, else the empty string.
func oneOf(word string, known ...string) string {
	for _, k := range known {
		if word == k {
			return k
		}
	}
	return ""
}

// serveUplink serves a connection until the connection or the server ends.
func (s *Server) serveUplink(conn *websocket.Conn, hello engine.Hello) {
	defer s.longLived.leave()
	defer hello.Arrived()
	defer func() {
		_ = conn.CloseNow()
		if p := recover(); p != nil { // ends only this connection, as in a request
			s.log.Error("uplink ended", "host_id", hello.HostID, "error", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	err := s.Engine.ServeUplink(s.closing, wire.WebSocket(conn), hello)
	if err != nil && s.closing.Err() == nil {
		s.log.Debug("uplink ended", "host_id", hello.HostID, "error", err)
	}
}
