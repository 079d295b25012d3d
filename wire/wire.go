// Package wire is the contract between orchestrator and worker: every frame of the uplink, the registration, and the
// body of a signal.
//
// Frames are JSON objects with a type. A peer ignores fields that it does not know, so fields may be added to a
// frame. A frame that requires a capability is sent only to a peer that announced it. The meaning of a frame or field
// never changes. The golden files under testdata are the contract as data: a change of them is a change of the
// protocol.
//
// History:
//
//	2026-11  heartbeat, run_dispatch and its ack, snapshot, signal, log_chunk,
//	         error; capabilities stop, keys, attach, log_ack, providers,
//	         orphans, inventory.
//	2026-11  heartbeat gains refusing; run_hint with capability hints.
//	2026-11  log_end and the field complete of log_ack (capability log_end);
//	         run_recall and run_unknown (recall); log_read and log_gone (log_read).
//	2026-11  goodbye, with a capability of the same name.
//	2026-11  snapshot gains final, which screen_ack answers (final_screen).
//	2026-11  run_dispatch gains workspace; workspace_request and workspace_result (workspace).
//	2026-11  workspace_request gains land (land).
//	2026-11  keys gains named keys: Escape, Up, Ctrl+R, text:… (keys2).
//	2026-11  heartbeat gains catalog_error.
//	2026-11  log_chunk gains times.
//	2026-11  paste (capability paste); providers gains how each takes messages, and whether it reports turns.
//	2026-11  progress signals gain submitted and idle.
//	2026-11  the upgrade request carries Svc-Capabilities.
//	2026-11  run_dispatch gains conversation, and so do the payloads of progress and completed (conversation).
//	2026-11  goaway, with a capability of the same name.
//	2026-11  screen_read and screen_gone (screen_read).
//	2026-11  heartbeat_ack gains challenge, and the response to the upgrade request Svc-Capabilities (resume).
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"svc"
)

// MaxFrame is the maximum size of a frame in bytes; each side closes the connection when it receives a larger one.
const MaxFrame = 4 << 20

// The capabilities that this version supports.
const (
	CapStop      = "stop"
	CapKeys      = "keys"
	CapAttach    = "attach"
	CapLogAck    = "log_ack"
	CapProviders = "providers"
	CapOrphans   = "orphans"
	CapInventory = "inventory"
	CapHints     = "hints"
	CapLogEnd    = "log_end"
	CapRecall    = "recall"
	CapLogRead   = "log_read"
	CapGoodbye   = "goodbye"
	CapFinal     = "final_screen"
	CapKeys2     = "keys2"
	CapWorkerKey = "worker_key"
	CapWorkspace = "workspace"
	CapLand      = "land"
	CapGoaway    = "goaway"
	CapPaste     = "paste"

	CapConversation = "conversation"
	CapScreenRead   = "screen_read"
	CapPresets      = "presets"
	CapSigned       = "signed_requests"
	CapResume       = "resume"
)

// Capabilities lists the capabilities that this version supports, in the order in which it announces them.
var Capabilities = []string{CapStop, CapKeys, CapAttach, CapLogAck, CapProviders, CapOrphans, CapInventory, CapHints, CapLogEnd, CapRecall, CapLogRead, CapGoodbye, CapFinal, CapKeys2, CapWorkerKey, CapWorkspace, CapLand, CapPaste, CapConversation, CapGoaway, CapScreenRead, CapPresets, CapSigned, CapResume}

// Shared returns the announced capabilities that this version supports too.
func Shared(announced []string) []string {
	shared := []string{}
	for _, known := range Capabilities {
		for _, a := range announced {
			if a == known {
				shared = append(shared, known)
				break
			}
		}
	}
	if len(shared) == len(Capabilities) {
		return Capabilities // one list for thousands of connections
	}
	return shared
}

// The headers by which svc's worker identifies itself when it opens the uplink.
const (
	HeaderHostID     = "Svc-Host-Id"
	HeaderInstanceID = "Svc-Instance-Id"
	HeaderBootID     = "Svc-Boot-Id"

	// The proof that the worker has the key that is pinned to its host (capability worker_key).
	HeaderWorkerKey = "Svc-Worker-Key" // the worker's public key, base64
	HeaderChallenge = "Svc-Challenge"  // from the response to the registration
	HeaderSignature = "Svc-Signature"  // of UplinkProof, base64; on other requests of RequestProof
	HeaderBodyHash  = "Svc-Body-Hash"  // on other requests (capability signed_requests): SHA-256 of the body, hex

	// The capabilities, separated by commas; absent: those of the registration. In the response, those of both sides;
	// absent: the orchestrator does not support resume.
	HeaderCapabilities = "Svc-Capabilities"

	// What the orchestrator had acknowledged before the end of an attempt that the request reports. Absent: the end
	// does not depend on it.
	HeaderLogBytes   = "Svc-Log-Bytes"   // size of the attempt's log in bytes
	HeaderLastScreen = "Svc-Last-Screen" // 1: also the screen at the end

	// How the worker runs sessions.
	HeaderContainment = "Svc-Containment" // off or bwrap
	HeaderScopes      = "Svc-Scopes"      // on or off
)

// UplinkProof returns the data that a worker signs with its Ed25519 key to open the uplink: the request line, its
// identity, and the orchestrator's challenge.
func UplinkProof(hostID, instanceID, bootID, challenge string) []byte {
	return []byte(strings.Join([]string{"svc uplink 1", "GET /api/internal/worker/uplink", hostID, instanceID, bootID, challenge}, "\n"))
}

// RequestProof returns the data that a worker signs with its Ed25519 key in every other request with its host's token
// (capability signed_requests): the request line and the hash of the body. target is path and query.
func RequestProof(method, target, bodyHash string) []byte {
	return []byte(strings.Join([]string{"svc request 1", method + " " + target, bodyHash}, "\n"))
}

// Registration is the body of POST /api/internal/worker/register.
type Registration struct {
	HostName     string   `json:"host_name"`
	Platform     string   `json:"platform"`
	InstanceID   string   `json:"instance_id"`
	Capabilities []string `json:"capabilities,omitempty"` // absent: a plain peer
	Version      string   `json:"version,omitempty"`      // absent: not reported
}

// Registered is the response to a Registration.
type Registered struct {
	HostID       string         `json:"host_id"`
	Status       svc.HostStatus `json:"status"`
	Capabilities []string       `json:"capabilities"` // the capabilities that both sides support
	// Challenge must be signed on the upgrade (capability worker_key); absent: no signature is required.
	Challenge string `json:"challenge,omitempty"`
}

// Frame is a message on the uplink.
type Frame interface {
	// Type returns the value of the frame's field "type".
	Type() string
	// check returns an error for a received frame with missing or invalid fields.
	check() error
}

// The codes of error frames that report a problem with a frame itself.
const (
	CodeMalformed    = "malformed_frame"
	CodeUnknownFrame = "unknown_frame"
)

// FrameError is the reason why a received frame was not accepted.
type FrameError struct {
	Code    string
	Message string
}

// Error returns the message.
func (e *FrameError) Error() string { return e.Message }

func malformed(format string, args ...any) error {
	return &FrameError{Code: CodeMalformed, Message: fmt.Sprintf(format, args...)}
}

// Encode returns the encoded frame with its type.
func Encode(f Frame) ([]byte, error) {
	var b bytes.Buffer
	err := EncodeTo(&b, f)
	return b.Bytes(), err
}

// EncodeTo writes a frame with its type to an empty buffer, which the caller may reuse for the next frame.
func EncodeTo(buf *bytes.Buffer, f Frame) error {
	buf.WriteString(`{"type":"` + f.Type() + `"`)
	body := buf.Len()
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false) // the frame is not embedded in HTML, and an escaped < takes six bytes
	if err := e.Encode(f); err != nil {
		return fmt.Errorf("encode %s frame: %w", f.Type(), err)
	}
	buf.Truncate(buf.Len() - 1) // the encoder has added a line end
	if fields := buf.Bytes()[body:]; len(fields) > len("{}") {
		fields[0] = ',' // the object that the type began continues with the fields
		return nil
	}
	buf.Truncate(body)
	buf.WriteByte('}')
	return nil
}

// DecodeUp decodes a frame from a worker. Its error is a *FrameError.
func DecodeUp(b []byte) (Frame, error) { return decode(b, upFrames) }

// DecodeDown decodes a frame from the orchestrator. Its error is a *FrameError.
func DecodeDown(b []byte) (Frame, error) { return decode(b, downFrames) }

// leadingType returns the type of a frame in which the type comes first, as in all frames that svc encodes. So a
// large frame need not be parsed twice.
func leadingType(b []byte, known map[string]func() Frame) (string, func() Frame) {
	rest, ok := bytes.CutPrefix(b, []byte(`{"type":"`))
	if !ok {
		return "", nil
	}
	name, _, ok := bytes.Cut(rest[:min(len(rest), 64)], []byte(`"`))
	if !ok {
		return "", nil
	}
	return string(name), known[string(name)]
}

func decode(b []byte, known map[string]func() Frame) (Frame, error) {
	if !utf8.Valid(b) {
		return nil, malformed("frame is not valid UTF-8")
	}
	name, make := leadingType(b, known)
	if make == nil {
		var head struct {
			Type *string `json:"type"`
		}
		if err := json.Unmarshal(b, &head); err != nil {
			return nil, malformed("frame is not a JSON object: %v", err)
		}
		if head.Type == nil || *head.Type == "" {
			return nil, malformed("frame has no type")
		}
		name = *head.Type
		if make = known[name]; make == nil {
			return nil, &FrameError{Code: CodeUnknownFrame, Message: fmt.Sprintf("unknown frame type %.60q", name)}
		}
	}
	f := make()
	if chunk, ok := f.(*LogChunk); !ok || !chunk.take(b) {
		if err := json.Unmarshal(b, f); err != nil {
			return nil, malformed("%s: %.200v", name, err)
		}
	}
	if f, ok := f.(clipper); ok {
		f.clip()
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f, nil
}
