package hub

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"svc"
)

// The frames between the orchestrator and a client of the attach socket.

type errorFrame struct {
	Type    string   `json:"type"`
	Code    svc.Code `json:"code"`
	Message string   `json:"message"`
}

// takenFrame tells the former holder who has the lease now.
type takenFrame struct {
	errorFrame
	By string `json:"by"`
}

type leaseFrame struct {
	Type       string   `json:"type"`
	RunID      string   `json:"run_id"`
	AttachedAt svc.Time `json:"attached_at"`
}

type sizeFrame struct {
	Type string `json:"type"`
	Rows int    `json:"rows"`
	Cols int    `json:"cols"`
}

func frame(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("svc/hub: a frame of plain fields did not encode: " + err.Error())
	}
	return b
}

func errorOf(code svc.Code, message string) []byte { return frame(errorFrame{"error", code, message}) }

func leaseAcquired(runID string, at svc.Time) []byte {
	return frame(leaseFrame{"lease_acquired", runID, at})
}

func leaseTaken(by string) []byte {
	return frame(takenFrame{errorFrame{"error", svc.CodeLeaseTaken, by + " has taken over the keyboard; you see the output and may take it back"}, by})
}

// takeLease is the frame with which a client takes the lease from its holder.
const takeLease = "take_lease"

// codeMalformed is the code of the error frame for an invalid frame of the client.
const codeMalformed svc.Code = "malformed_frame"

var (
	leaseHeld = errorOf(svc.CodeLeaseHeld, "someone else is typing; you see the output and may type when they leave or release the lease")
	hostAway  = errorOf(svc.CodeHostNotConnected, "the run's host is not connected; the terminal comes back when it is")
	mayNot    = errorOf(svc.CodeForbidden, "your token may watch but not type; typing needs the role operator")
	notTyped  = errorOf(svc.CodeHostNotConnected, "what you typed did not reach the run: its terminal is not connected")
)

// dataFrame returns a frame with terminal output. The bytes are copied.
func dataFrame(b []byte) []byte {
	const head, foot = `{"type":"data","bytes":"`, `"}`
	out := make([]byte, 0, len(head)+base64.StdEncoding.EncodedLen(len(b))+len(foot))
	out = append(out, head...)
	out = base64.StdEncoding.AppendEncode(out, b)
	return append(out, foot...)
}

// clientFrame is a frame from a client; which fields are used depends on the type.
type clientFrame struct {
	Type  string `json:"type"`
	Bytes []byte `json:"bytes"`
	Rows  int    `json:"rows"`
	Cols  int    `json:"cols"`
}

// maxSide is the maximum of a terminal's rows and columns. A larger size is treated as invalid.
const maxSide = 1000

func goodSize(rows, cols int) bool {
	return rows >= 1 && rows <= maxSide && cols >= 1 && cols <= maxSide
}

// parseClient parses and validates a client's frame; the error's text is sent to the client.
func parseClient(b []byte) (clientFrame, error) {
	var f clientFrame
	if err := json.Unmarshal(b, &f); err != nil {
		return f, errors.New("the frame is not a JSON object of the known fields")
	}
	switch f.Type {
	case "input":
		if len(f.Bytes) == 0 {
			return f, errors.New("input needs bytes, in base64")
		}
	case "resize":
		if !goodSize(f.Rows, f.Cols) {
			return f, fmt.Errorf("resize needs rows and cols from 1 to %d", maxSide)
		}
	case "release_lease", takeLease:
	default:
		return f, fmt.Errorf("unknown frame type %.60q", f.Type)
	}
	return f, nil
}
