package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"svc/internal/waittest"
	"svc/wire"
)

// sendUp sends frames on the worker's end of the uplink.
func (g *rig) sendUp(c *websocket.Conn, frames ...wire.Frame) {
	g.Helper()
	for _, f := range frames {
		b, err := wire.Encode(f)
		if err == nil {
			err = c.Write(g.Context(), websocket.MessageText, b)
		}
		if err != nil {
			g.Fatal(err)
		}
	}
}

// Relayed logs and screens can be read while the worker is connected, while it is away, and after the end of the run.
func TestLogAndScreenComeBackAsTheWorkerSentThem(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, d, c := g.working("h")
	if got := g.post(d.RunID, signalBody("started", `{}`, "")); got.JSON["outcome"] != "applied" {
		t.Fatalf("got %s", got.Body)
	}
	path := "/api/v1/runs/" + d.RunID
	row := "\x1b[1;31m" + strings.Repeat("日本", 50) + "\x1b[0m" + strings.Repeat("x", 20) // 220 columns
	screen := strings.Repeat(row+"\n", 50)
	var log strings.Builder
	for i := range 64 { // two megabytes, in two forms
		text := fmt.Sprintf("chunk %d \x1b[32m%s\x1b[0m\rover é\n", i, strings.Repeat("w", 32<<10))
		chunk := wire.LogChunk{RunID: d.RunID, Text: wire.LogText(text), Timestamp: 1}
		if offset := int64(log.Len()); i%2 == 0 {
			chunk.Attempt, chunk.Offset, chunk.Bytes = 1, &offset, len(text)
		}
		g.sendUp(c, chunk)
		log.WriteString(text)
	}
	g.sendUp(c, wire.Snapshot{RunID: d.RunID, Capture: "", Timestamp: 1}, wire.Snapshot{RunID: d.RunID, Capture: screen, Timestamp: 2})
	check := func(when string) {
		t.Helper()
		waittest.Eventually(t, when+": the whole log", func() bool { return len(g.want(http.StatusOK, "GET", path+"/logs", nil).Body) >= log.Len() })
		got := g.want(http.StatusOK, "GET", path+"/logs", nil)
		if got.Body != log.String() || got.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: the log has %d bytes of %d, as %s", when, len(got.Body), log.Len(), got.Header.Get("Content-Type"))
		}
		waittest.Eventually(t, when+": the screen", func() bool { return g.want(http.StatusOK, "GET", path+"/pane", nil).JSON["capture"] == screen })
	}
	check("while it runs")
	_ = c.CloseNow()
	check("while the host is away")
	if got := g.post(d.RunID, signalBody("finished", `{"exit_code":0}`, "")); got.JSON["outcome"] != "applied" {
		t.Fatalf("got %s", got.Body)
	}
	check("when it is over")
	if got := g.want(http.StatusOK, "GET", path, nil).JSON; got["last_output_at"] == nil || got["session_ended_at"] == nil {
		t.Errorf("the run is %v", got)
	}
	if events := g.want(http.StatusOK, "GET", "/api/v1/events?limit=500", nil).Body; strings.Contains(events, "over é") || !strings.Contains(events, "run.output_appended") {
		t.Error("the journal has the output, or does not tell of it")
	}
}
