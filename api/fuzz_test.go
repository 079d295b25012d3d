package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"svc"
)

// FuzzFollow reads an event stream with arbitrary content: no message is larger than the limit, every message has a
// topic, and the cursor is that of the last handled message.
func FuzzFollow(f *testing.F) {
	f.Add(":\n\nid: 7\nevent: run.created\ndata: {\"seq\":7}\n\n", 100)
	f.Add("id: 1\r\nevent: snapshot\r\ndata: {}\r\ndata: {}\r\n\r\nid: 2\nevent: x\n\n", 100)
	f.Add("id: -9223372036854775809\n\n", 100)
	f.Add("event: x\ndata: "+strings.Repeat("a", 70<<10)+"\n\n", 80<<10)
	f.Add("event: x\n"+strings.Repeat("data: abc\n", 20)+"\n", 30)
	f.Add("event: "+strings.Repeat("x", 70<<10)+"\n\n", 100)
	f.Add(strings.Repeat(":", 70<<10), 100)
	f.Add("data\ndata:\nid:5\nevent:\n\n", 0)
	f.Fuzz(func(t *testing.T, stream string, most int) {
		most = max(0, min(most, 1<<20))
		cursor, last := int64(3), int64(3)
		err := follow(strings.NewReader(stream), most, &cursor, func(m Message) error {
			if len(m.Data) > most || m.Topic == "" || len(m.Topic) > 64<<10 || strings.ContainsAny(string(m.Topic), "\n") {
				t.Fatalf("a message with %d bytes of at most %d, and the topic %.100q", len(m.Data), most, m.Topic)
			}
			last = m.Seq
			return nil
		})
		if err == nil || len(err.Error()) > 1000 || cursor != last {
			t.Fatalf("it ended with %v at %d, the last message is %d", err, cursor, last)
		}
		if tooLong := errors.Is(err, errMessageTooLong); tooLong && (len(stream) <= most || !refused(err)) {
			t.Fatalf("%d bytes of at most %d are too long, or it would be tried again", len(stream), most)
		}
	})
}

// FuzzAnswer reads responses with arbitrary content: a response that is too long is refused, and an accepted value is
// equal to the one that was sent.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"items":[{"id":"a"}],"next_cursor":null}`, int64(100))
	f.Add(`{"a":"`+strings.Repeat("x", 100)+`"}`, int64(50))
	f.Add(`[[[[[[`, int64(3))
	f.Add(``, int64(0))
	f.Fuzz(func(t *testing.T, text string, most int64) {
		most = max(0, min(most, 1<<20))
		var got json.RawMessage
		err := decode(strings.NewReader(text), most, &got)
		switch {
		case err == nil && (int64(len(got)) > most+1 || !strings.Contains(text, string(got))):
			t.Fatalf("%d bytes of at most %d were taken", len(got), most)
		case svc.CodeOf(err) == svc.CodeTooLarge && int64(len(text)) <= most:
			t.Fatalf("%d bytes of at most %d are too long", len(text), most)
		}
	})
}

// The memory that is used for a line or a message without an end is limited, and the client does not connect again.
func TestAMessageThatIsTooLongEndsTheStream(t *testing.T) {
	t.Parallel()
	const most = 100 << 10
	for what, stream := range map[string]string{
		"a line without an end":    "event: x\ndata: " + strings.Repeat("x", 2*most),
		"a line":                   "event: x\ndata: " + strings.Repeat("x", most+1) + "\n\n",
		"lines":                    "event: x\n" + strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 200) + "\n",
		"a topic":                  "event: " + strings.Repeat("x", most),
		"a comment without an end": ":" + strings.Repeat("x", most),
	} {
		in := &endless{text: stream}
		var cursor int64
		err := follow(in, most, &cursor, func(m Message) error { return fmt.Errorf("%s: handled %d bytes", what, len(m.Data)) })
		if svc.CodeOf(err) != svc.CodeTooLarge || !refused(err) {
			t.Errorf("%s: %v, want an end for good", what, err)
		}
		if in.read > 4*most {
			t.Errorf("%s: %d bytes were read", what, in.read)
		}
	}
	var message Message
	var cursor int64
	text := strings.Repeat("x", most)
	_ = follow(strings.NewReader("id: 9\nevent: x\ndata: "+text+"\n\n"), most, &cursor, func(m Message) error { message = m; return nil })
	if string(message.Data) != text || cursor != 9 {
		t.Errorf("a message of the largest size came with %d bytes, at %d", len(message.Data), cursor)
	}
}

// endless returns a text, and then repeats its last byte forever.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		if at := e.read + i; at < len(e.text) {
			p[i] = e.text[at]
		} else {
			p[i] = e.text[len(e.text)-1]
		}
	}
	e.read += len(p)
	return len(p), nil
}
