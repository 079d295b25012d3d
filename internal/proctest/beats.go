package proctest

import (
	"bytes"
	"encoding/binary"
)

// beats finds heartbeats in the bytes that a worker sends: the requests before its uplink, upgrades, of which only the
// last is accepted, and then masked WebSocket frames of JSON.
type beats struct {
	uplink bool   // the upgrade was seen, and frames follow
	rest   []byte // bytes that were not parsed yet
	skip   int    // bytes of the current frame that were not read yet
	beat   bool   // the current frame is a heartbeat
}

var (
	uplinkRequest = []byte("GET /api/internal/worker/uplink ")
	headerEnd     = []byte("\r\n\r\n")
	heartbeat     = []byte(`{"type":"heartbeat"`)
)

// count returns the number of heartbeats that are complete with this piece.
func (b *beats) count(piece []byte) (n int) {
	b.rest = append(b.rest, piece...)
	if !b.uplink && !b.upgrade() {
		return 0
	}
	for {
		if b.skip > 0 {
			passed := min(b.skip, len(b.rest))
			b.rest, b.skip = b.rest[passed:], b.skip-passed
			if b.skip > 0 {
				return n
			}
			if b.beat {
				n++
			}
		}
		if !b.frame() {
			return n
		}
	}
}

// upgrade drops the bytes before the frames. It returns false when the frames have not begun.
func (b *beats) upgrade() bool {
	at := bytes.Index(b.rest, uplinkRequest)
	if at < 0 {
		b.rest = b.rest[max(0, len(b.rest)-len(uplinkRequest)):]
		return false
	}
	end := bytes.Index(b.rest[at:], headerEnd)
	if end < 0 {
		return false
	}
	b.rest, b.uplink = b.rest[at+end+len(headerEnd):], true
	return true
}

// frame parses the header of the next frame. It returns false when the header is incomplete.
func (b *beats) frame() bool {
	if len(b.rest) < 2 {
		return false
	}
	if b.rest[0] == 'G' || b.rest[0] == 'P' { // no frame begins so: the upgrade was refused, and the next request follows
		b.uplink = false
		return b.upgrade() && b.frame()
	}
	length, head := int(b.rest[1]&0x7f), 2
	switch length {
	case 126:
		head = 4
	case 127:
		head = 10
	}
	if len(b.rest) < head+4 {
		return false
	}
	switch head {
	case 4:
		length = int(binary.BigEndian.Uint16(b.rest[2:]))
	case 10:
		length = int(binary.BigEndian.Uint64(b.rest[2:]))
	}
	mask, first := b.rest[head:head+4], b.rest[head+4:]
	want := min(length, len(heartbeat))
	if len(first) < want {
		return false
	}
	clear := make([]byte, want)
	for i := range clear {
		clear[i] = first[i] ^ mask[i%4]
	}
	b.beat = bytes.Equal(clear, heartbeat)
	b.rest, b.skip = first, length
	return length > 0 || b.frame() // after an empty frame, such as a ping, the next header follows
}
