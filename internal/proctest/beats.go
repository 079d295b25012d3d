package proctest

import (
	"bytes"
	"encoding/binary"
)

// beats finds the heartbeats in the bytes that a worker sends: the requests before its uplink, the
// upgrade, and then masked WebSocket frames of JSON.
type beats struct {
	uplink bool   // the frames have begun
	rest   []byte // what is not understood yet
	skip   int    // bytes of the present frame that are still to come
	beat   bool   // the present frame is a heartbeat
}

var (
	uplinkRequest = []byte("GET /api/internal/worker/uplink ")
	headerEnd     = []byte("\r\n\r\n")
	heartbeat     = []byte(`{"type":"heartbeat"`)
)

// count is how many heartbeats are complete with this piece.
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

// upgrade drops what comes before the frames. False: they have not begun.
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

// frame reads the head of the next frame. False: it is not there yet.
func (b *beats) frame() bool {
	if len(b.rest) < 2 {
		return false
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
	return length > 0 || b.frame() // an empty frame, such as a ping, is followed at once
}
