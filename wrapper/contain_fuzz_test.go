package wrapper

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"svc/rundir"
)

// FuzzInsideReport reads the reports of a first process that writes anything: a bounded part is read, and an
// accepted report stays the same when it is encoded and read again.
func FuzzInsideReport(f *testing.F) {
	var real bytes.Buffer
	for _, r := range []insideReport{{PID: 2}, {Exit: &rundir.Exit{Code: 3, Reason: "x", At: 1}}, {Failure: &failure{Code: 127, Message: "sh: not found"}}} {
		if err := json.NewEncoder(&real).Encode(r); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(real.Bytes())
	f.Add([]byte(`{"pid":-1}{"exit":{"exit_code":1e3}}`))
	f.Add([]byte(`{"failure":null,"exit":null}`))
	f.Add([]byte(`{"failure":{"message":"` + strings.Repeat("x", 2000)))
	f.Fuzz(func(t *testing.T, sent []byte) {
		reports := readReports(bytes.NewReader(sent))
		for {
			var got, again insideReport
			if reports.Decode(&got) != nil {
				return
			}
			text, err := json.Marshal(got)
			if err == nil {
				err = json.Unmarshal(text, &again)
			}
			if err != nil || !reflect.DeepEqual(got, again) {
				t.Fatalf("%q is read as %+v, and then as %+v (%v)", sent, got, again, err)
			}
		}
	})
}

func TestReportsWithoutAnEndAreReadToTheirBound(t *testing.T) {
	t.Parallel()
	conn := &counted{from: io.MultiReader(strings.NewReader(`{"failure":{"message":"`), letters{})}
	var report insideReport
	if err := readReports(conn).Decode(&report); err == nil || report.Failure != nil && report.Failure.Message != "" {
		t.Errorf("a report without an end was taken: %v", err)
	}
	if conn.n > maxReports {
		t.Errorf("%d bytes of it were read", conn.n)
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type counted struct {
	from io.Reader
	n    int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += n
	return n, err
}
