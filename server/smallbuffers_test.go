package server

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// maskedFrame returns a text frame as a client sends it, with a mask of zeros.
func maskedFrame(text string) string {
	head := []byte{0x81}
	if len(text) < 126 {
		head = append(head, 0x80|byte(len(text)))
	} else {
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(len(text)))
	}
	return string(head) + "\x00\x00\x00\x00" + text
}

func TestNoFrameIsLostThatAWorkerSendsBehindItsRequest(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, sizes := range [][]int{{30}, {900}, {3000}, {30, 1500, 30}, {9000, 30}} {
		t.Run(fmt.Sprint(sizes), func(t *testing.T) {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			all := "GET /api/internal/worker/uplink HTTP/1.1\r\nHost: svc\r\nAuthorization: Bearer " + workerToken + "\r\n" +
				"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
			for i, size := range sizes {
				frame := fmt.Sprintf(`{"type":"no such %d"`, i)
				all += maskedFrame(frame + strings.Repeat(" ", size-len(frame)-1) + "}")
			}
			if _, err := io.WriteString(conn, all); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(conn)
			answer, err := http.ReadResponse(r, nil)
			if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("got %v, %v; want an upgrade", answer, err)
			}
			_ = answer.Body.Close()
			for i := range sizes {
				head := make([]byte, 2)
				if _, err := io.ReadFull(r, head); err != nil {
					t.Fatal(err)
				}
				size := int(head[1])
				if size == 126 {
					if _, err := io.ReadFull(r, head); err != nil {
						t.Fatal(err)
					}
					size = int(binary.BigEndian.Uint16(head))
				}
				text := make([]byte, size)
				if _, err := io.ReadFull(r, text); err != nil || !strings.Contains(string(text), "unknown_frame") {
					t.Fatalf("frame %d: got %s, %v; want an answer to it", i, text, err)
				}
			}
		})
	}
}
