package worker

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"svc/config"
	"svc/internal/textbuffer"
)

func TestTheGatewayIsReadAnewAndABrokenFileLeavesTheLastOne(t *testing.T) {
	t.Parallel()
	file, broken := config.Gateway{URL: "http://one/", APIKey: "k1"}, error(nil)
	logs := &textbuffer.Buffer{}
	w := &Worker{log: slog.New(slog.NewTextHandler(logs, nil)), opts: Options{Environ: []string{"SVC_GATEWAY_URL=http://environment"}}}
	w.gatewayFile = gatewayFile{read: func() (config.Gateway, error) { return file, broken }, last: file}
	want := func(url string, key config.Secret) {
		t.Helper()
		if g := w.gateway(); g.URL != url || g.APIKey != key {
			t.Errorf("the gateway is %s with the right key: %v, want %s", g.URL, g.APIKey == key, url)
		}
	}
	want("http://one", "k1")
	file.APIKey = "k2"
	want("http://one", "k2")
	broken = errors.New("config.toml, line 3: no")
	want("http://one", "k2")
	want("http://one", "k2")
	if text := logs.String(); strings.Count(text, "line 3") != 1 || strings.Count(text, "has changed") != 1 || strings.Contains(text, "k2") {
		t.Errorf("the log is %s", text)
	}
	file, broken = config.Gateway{}, nil // removed from the file: the environment is used
	want("http://environment", "")
}
