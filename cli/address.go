package cli

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"
)

// addressWithin bounds the search for an address that other machines can use.
const addressWithin = 2 * time.Second

// outwardURL returns the orchestrator's address for other machines. A loopback address is replaced by an address of
// this machine at which the orchestrator answers too. base stays as it is when there is no such address, and with
// TLS, because the certificate is issued for base.
func outwardURL(ctx context.Context, base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || !isLoopback(u.Hostname()) {
		return base
	}
	ctx, cancel := context.WithTimeout(ctx, addressWithin)
	defer cancel()
	for _, ip := range ownAddresses(ctx) {
		other := *u
		other.Host = ip.String()
		if port := u.Port(); port != "" {
			other.Host = net.JoinHostPort(ip.String(), port)
		}
		if answers(ctx, other.String()) {
			return other.String()
		}
	}
	return base
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ownAddresses returns this machine's IPv4 addresses. The address that is used for connections to the internet comes
// first, so that bridges of containers come after it.
func ownAddresses(ctx context.Context) []net.IP {
	var own []net.IP
	// A datagram socket only chooses a route; nothing is sent.
	if c, err := (&net.Dialer{}).DialContext(ctx, "udp4", "192.0.2.1:9"); err == nil {
		own = append(own, c.LocalAddr().(*net.UDPAddr).IP)
		_ = c.Close()
	}
	addresses, _ := net.InterfaceAddrs() // on an error, only the first address is returned
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			own = append(own, n.IP)
		}
	}
	return own
}

// answers reports whether an orchestrator serves at an address.
func answers(ctx context.Context, base string) bool {
	ctx, cancel := context.WithTimeout(ctx, addressWithin/4)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}
