package proctest

import (
	"encoding/binary"
	"strings"
	"testing"
)

// masked returns a text frame as a client sends it.
func masked(text string) []byte {
	frame := []byte{0x81}
	switch {
	case len(text) < 126:
		frame = append(frame, 0x80|byte(len(text)))
	case len(text) < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(len(text)))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(len(text)))
	}
	mask := []byte{1, 2, 3, 4}
	frame = append(frame, mask...)
	for i := range len(text) {
		frame = append(frame, text[i]^mask[i%4])
	}
	return frame
}

func TestHeartbeatsAreFoundHoweverTheBytesAreCut(t *testing.T) {
	t.Parallel()
	var all []byte
	all = append(all, "POST /api/internal/worker/register HTTP/1.1\r\n\r\n{}"...)
	all = append(all, "GET /api/internal/worker/uplink HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"...)
	for _, text := range []string{
		`{"type":"heartbeat","host_id":"1"}`,
		`{"type":"log_chunk","text":"{\"type\":\"heartbeat\""}`,
		"", // a ping
		`{"type":"heartbeat","runs":"` + strings.Repeat("x", 300) + `"}`,
		`{"type":"snapshot","capture":"` + strings.Repeat("x", 70_000) + `"}`,
		`{"type":"heartbeat"}`,
	} {
		all = append(all, masked(text)...)
	}
	for _, size := range []int{1, 2, 7, 100, len(all)} {
		var b beats
		got := 0
		for at := 0; at < len(all); at += size {
			got += b.count(all[at:min(at+size, len(all))])
		}
		if got != 3 {
			t.Errorf("in pieces of %d bytes: %d heartbeats, want 3", size, got)
		}
	}
}

func TestHeartbeatsAreCountedAfterARefusedUpgrade(t *testing.T) {
	t.Parallel()
	const upgrade = "GET /api/internal/worker/uplink HTTP/1.1\r\nHost: h\r\n\r\n"
	const register = "POST /api/internal/worker/register HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
	text := string(heartbeat) + "}"
	frame := "\x81" + string([]byte{byte(0x80 | len(text)), 0, 0, 0, 0}) + text
	sent := register + upgrade + register + upgrade + frame + frame
	for size := 1; size <= len(sent); size++ {
		var b beats
		n := 0
		for at := 0; at < len(sent); at += size {
			n += b.count([]byte(sent[at:min(at+size, len(sent))]))
		}
		if n != 2 {
			t.Fatalf("in pieces of %d bytes there are %d heartbeats, want 2", size, n)
		}
	}
}
