package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/config"
)

func TestTheGatewayIsAskedForItsModels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key    string
		status int
		answer string
		want   string // the end of the line about the gateway, after its address
	}{
		"it answers":          {"k1", 200, `{"data":[{"id":"small"},{"id":"large"}]}`, " answers, with 2 models: small, large"},
		"many models":         {"k1", 200, `{"data":[{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"},{"id":"5"},{"id":"6"}]}`, " answers, with 6 models: 1, 2, 3, 4, 5, …"},
		"another key":         {"old", 200, `{}`, ": it does not accept the key of [gateway] api_key"},
		"no key":              {"", 200, `{}`, ": it requires a key, and [gateway] api_key is not set"},
		"it has no such path": {"k1", 404, `no`, ": it answers 404 Not Found when asked for its models"},
		"a page of a proxy":   {"k1", 200, `<html>`, ": its list of models cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/base/v1/models" || r.Header.Get("Authorization") != "Bearer k1" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.answer))
			}))
			t.Cleanup(gateway.Close)
			cfg := &config.Config{}
			cfg.Gateway.URL, cfg.Gateway.APIKey = gateway.URL+"/base", config.Secret(c.key)
			if got, want := newApp().askGateway(t.Context(), cfg).words(), gateway.URL+"/base"+c.want; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestAGatewayThatIsNotThereIsToldWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	cfg := &config.Config{}
	cfg.Gateway.URL = strings.Replace(gone.URL, "http://", "http://me:hush@", 1) + "?key=hush"
	got := newApp().askGateway(t.Context(), cfg).words()
	if want := gone.URL + ": it does not answer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := newApp().askGateway(t.Context(), &config.Config{}).words(); got != "none; each tool uses its own sign-in" {
		t.Errorf("without a gateway: %q", got)
	}
}
