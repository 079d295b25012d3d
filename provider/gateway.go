package provider

import (
	"strings"

	"svc/config"
)

// Gateway is the model gateway of sessions. Its zero value means no gateway: the user's own provider variables
// are used.
type Gateway struct {
	URL    string // without a slash at its end
	APIKey config.Secret
}

// ResolveGateway takes each of the two values from the config file's [gateway] if it is set there, otherwise
// from the environment (SVC_GATEWAY_URL, SVC_GATEWAY_API_KEY). An empty variable counts as unset.
func ResolveGateway(c config.Gateway, lookup func(name string) (string, bool)) Gateway {
	first := func(set, name string) string {
		if set == "" {
			set, _ = lookup(name)
		}
		return strings.TrimSpace(set)
	}
	return Gateway{
		URL:    strings.TrimRight(first(c.URL, "SVC_GATEWAY_URL"), "/"),
		APIKey: config.Secret(first(string(c.APIKey), "SVC_GATEWAY_API_KEY")),
	}
}

// URLV1 returns the base URL for OpenAI-compatible variables; empty without a gateway.
func (g Gateway) URLV1() string {
	if g.URL == "" {
		return ""
	}
	return g.URL + "/v1"
}
