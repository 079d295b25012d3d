package worker

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"svc"
	"svc/config"
	"svc/wire"
)

// httpTimeout bounds one request to the orchestrator.
const httpTimeout = 15 * time.Second

// refused is the error for an answer of the orchestrator that is not a success.
type refused struct {
	status  int
	code    svc.Code // empty when the body was no error envelope
	text    string
	retryIn time.Duration // after it, it is this worker's turn; 0: not told
}

func (r *refused) Error() string {
	if r.code == "" {
		return fmt.Sprintf("status %d: %s", r.status, r.text)
	}
	return fmt.Sprintf("status %d %s: %s", r.status, r.code, r.text)
}

// whatToDo returns advice for the operator about a refusal that no retry can fix; empty for every other error.
func whatToDo(err error, hostName string) string {
	var r *refused
	if !errors.As(err, &r) {
		return ""
	}
	switch r.status {
	case http.StatusUnauthorized:
		return "put the token that `svc host create` printed, or the orchestrator's worker token, into SVC_WORKER_TOKEN or the file host_token"
	case http.StatusForbidden:
		return fmt.Sprintf("the host is known by another worker's key: if this one was installed anew, compare its worker_key with `svc host show %s` and accept it with `svc host clear-suspect %s`", hostName, hostName)
	case http.StatusNotFound:
		if r.code == svc.CodeHostNotFound {
			return fmt.Sprintf("create the host at the orchestrator: svc host create %s", hostName)
		}
		return "check [worker] server_url: there is no orchestrator at that address"
	case http.StatusBadRequest:
		return "the orchestrator does not understand this worker; install the same version on both sides"
	}
	return ""
}

// dialUplink opens the uplink. A worker that was connected shortly before opens it with the challenge of its last
// connection. Otherwise, or if the orchestrator refuses that, it registers first.
func (w *Worker) dialUplink(ctx context.Context) (wire.Conn, wire.Registered, error) {
	caps := w.capabilities(ctx)
	w.http.CloseIdleConnections() // they lead to the orchestrator that ended the last uplink, or to a frozen one
	if known, ok := w.resumes(); ok {
		conn, agreed, err := w.openSocket(ctx, known, caps)
		var r *refused
		switch {
		case err == nil && agreed != nil:
			known.Capabilities = agreed
			return conn, known, nil
		case err == nil: // an older version, which has not agreed on the capabilities
			_ = conn.Close("registering")
		case !errors.As(err, &r) || r.status >= 500:
			return nil, known, fmt.Errorf("open uplink: %w", err)
		}
		w.forgetChallenge()
	}
	registered, err := w.register(ctx, caps)
	if err != nil {
		return nil, registered, fmt.Errorf("register: %w", err)
	}
	conn, _, err := w.openSocket(ctx, registered, caps)
	if err != nil {
		return nil, registered, fmt.Errorf("open uplink: %w", err)
	}
	return conn, registered, nil
}

func (w *Worker) register(ctx context.Context, caps []string) (registered wire.Registered, err error) {
	body, err := json.Marshal(wire.Registration{
		HostName: w.opts.Config.Worker.HostName, Platform: w.opts.Platform, InstanceID: w.instanceID,
		Capabilities: caps, Version: w.opts.Version,
	})
	if err != nil {
		return registered, err
	}
	answer, err := w.post(ctx, "/api/internal/worker/register", body)
	if err != nil {
		return registered, err
	}
	if err := json.Unmarshal(answer, &registered); err != nil || !svc.IsID(registered.HostID) {
		return registered, fmt.Errorf("the answer is not an orchestrator's: %.200q", answer)
	}
	return registered, nil
}

// openSocket opens the uplink. agreed are the capabilities of both sides; nil: the orchestrator does not send them
// here, and those of the registration apply.
func (w *Worker) openSocket(ctx context.Context, as wire.Registered, caps []string) (conn wire.Conn, agreed []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, httpTimeout)
	defer cancel()
	header := http.Header{}
	header.Set("Authorization", "Bearer "+string(w.opts.Token))
	header.Set(wire.HeaderHostID, as.HostID)
	header.Set(wire.HeaderInstanceID, w.instanceID)
	header.Set(wire.HeaderBootID, w.bootID)
	header.Set(wire.HeaderCapabilities, wire.JoinCapabilities(caps))
	header.Set(wire.HeaderContainment, w.containment())
	header.Set(wire.HeaderScopes, w.scopes.state())
	if as.Challenge != "" {
		proof := wire.UplinkProof(as.HostID, w.instanceID, w.bootID, as.Challenge)
		header.Set(wire.HeaderWorkerKey, w.publicKey())
		header.Set(wire.HeaderChallenge, as.Challenge)
		header.Set(wire.HeaderSignature, base64.StdEncoding.EncodeToString(ed25519.Sign(w.key, proof)))
	}
	// "ws" follows "http": http becomes ws, https becomes wss.
	url := "ws" + strings.TrimPrefix(w.server(), "http") + "/api/internal/worker/uplink"
	c, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: w.http, HTTPHeader: header}) //nolint:bodyclose // Dial hands it over closed or in memory
	if err != nil {
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols && response.StatusCode >= 300 {
			return nil, nil, refusal(response)
		}
		return nil, nil, err
	}
	agreed, err = wire.HeaderCapabilitiesOf(response.Header.Values(wire.HeaderCapabilities))
	if err != nil {
		_ = c.CloseNow()
		return nil, nil, err
	}
	return wire.WebSocket(c), agreed, nil
}

// post sends JSON with the worker's token.
func (w *Worker) post(ctx context.Context, path string, body []byte) ([]byte, error) {
	return w.postAs(ctx, w.opts.Token, path, body)
}

// postAs sends JSON with a token and returns the answer's body. A status other than 2xx is returned as a
// *refused.
func (w *Worker) postAs(ctx context.Context, token config.Secret, path string, body []byte, headers ...http.Header) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, httpTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.server()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, more := range headers {
		maps.Copy(request.Header, more)
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	if token == w.opts.Token {
		w.signRequest(request, body)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(wire.HeaderBootID, w.bootID)
	response, err := w.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, refusal(response)
	}
	return io.ReadAll(io.LimitReader(response.Body, 1<<20))
}

// signRequest signs a request with the worker's key: it proves that the request with the worker's token is from
// this worker.
func (w *Worker) signRequest(r *http.Request, body []byte) {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	target := r.URL.RequestURI()
	if at := strings.Index(target, "/api/internal/"); at > 0 {
		target = target[at:] // a proxy removes the path before it
	}
	r.Header.Set(wire.HeaderBodyHash, hash)
	r.Header.Set(wire.HeaderSignature, base64.StdEncoding.EncodeToString(ed25519.Sign(w.key, wire.RequestProof(r.Method, target, hash))))
}

// publicKey returns the public half of the worker's key, in base64.
func (w *Worker) publicKey() string {
	return base64.StdEncoding.EncodeToString(w.key.Public().(ed25519.PublicKey))
}

func (w *Worker) server() string { return w.opts.Config.ServerURL() }

func refusal(response *http.Response) error {
	r := &refused{status: response.StatusCode, text: http.StatusText(response.StatusCode)}
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return r
	}
	if said, ours := wire.RefusalOf(body); ours {
		r.code, r.text, r.retryIn = said.Code, said.Message, said.RetryIn
	}
	return r
}
