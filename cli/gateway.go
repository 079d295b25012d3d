package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/config"
	"svc/provider"
)

// gatewayReport is the result of a request to the model gateway.
type gatewayReport struct {
	URL    string   `json:"url"`    // empty: none is set
	Models []string `json:"models"` // the ids of the models that it offers
	Reason string   `json:"reason"` // why it cannot be used; empty: it can
}

// gatewayWithin bounds the wait for the gateway's answer.
const gatewayWithin = 5 * time.Second

// askGateway requests the list of models from the gateway, with the key that sessions get.
func (a *app) askGateway(ctx context.Context, cfg *config.Config) gatewayReport {
	g := provider.ResolveGateway(cfg.Gateway, func(name string) (string, bool) { v := a.getenv(name); return v, v != "" })
	report := gatewayReport{URL: withoutSecrets(g.URL), Models: []string{}}
	if g.URL == "" {
		return report
	}
	ctx, cancel := context.WithTimeout(ctx, gatewayWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URLV1()+"/models", nil)
	if err != nil {
		report.Reason = "its address cannot be used"
		return report
	}
	if g.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+string(g.APIKey))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		report.Reason = "it does not answer"
		return report
	}
	defer func() { _ = res.Body.Close() }()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		report.Reason = "it does not accept the key of [gateway] api_key"
		if g.APIKey == "" {
			report.Reason = "it requires a key, and [gateway] api_key is not set"
		}
	case res.StatusCode != http.StatusOK:
		report.Reason = "it answers " + res.Status + " when asked for its models"
	case json.NewDecoder(http.MaxBytesReader(nil, res.Body, 1<<20)).Decode(&list) != nil:
		report.Reason = "its list of models cannot be read"
	}
	for _, m := range list.Data {
		report.Models = append(report.Models, m.ID)
	}
	return report
}

// withoutSecrets returns an address without password and query, so that it may be shown.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// words describes the gateway in one line.
func (g gatewayReport) words() string {
	const most = 5
	switch {
	case g.URL == "":
		return "none; each tool uses its own sign-in"
	case g.Reason != "":
		return g.URL + ": " + g.Reason
	}
	models := strings.Join(g.Models[:min(len(g.Models), most)], ", ")
	if len(g.Models) > most {
		models += ", …"
	}
	return fmt.Sprintf("%s answers, with %d models: %s", g.URL, len(g.Models), models)
}
