package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"svc/internal/needtest"
	"svc/internal/proctest"
	"svc/internal/textbuffer"
	"svc/internal/waittest"
)

// proxies build a proxy's complete configuration from the snippet in the
// operator's manual. They insert the test's addresses, its files and a folder
// for temporary files.
var proxies = map[string]func(snippet string, p proxyPaths) (config string, args []string){
	"nginx": func(snippet string, p proxyPaths) (string, []string) {
		snippet = strings.NewReplacer("listen 443 ", "listen "+p.listen+" ", "127.0.0.1:7898", p.upstream,
			"/etc/ssl/svc.example.crt", p.dir+"/cert.pem", "/etc/ssl/svc.example.key", p.dir+"/key.pem", "svc.example", "127.0.0.1").Replace(snippet)
		var temp strings.Builder
		for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			fmt.Fprintf(&temp, "%s_temp_path %s/%s;\n", kind, p.dir, kind)
		}
		return fmt.Sprintf("daemon off; error_log stderr; pid %s/nginx.pid; events {}\nhttp {\naccess_log off;\n%s%s}\n", p.dir, &temp, snippet),
			[]string{"-p", p.dir, "-e", "stderr", "-c"}
	},
	"caddy": func(snippet string, p proxyPaths) (string, []string) {
		site := fmt.Sprintf("https://%s {\n    bind 127.0.0.1\n    tls %s/cert.pem %s/key.pem\n", p.listen, p.dir, p.dir)
		snippet = strings.NewReplacer("svc.example {\n", site, "127.0.0.1:7898", p.upstream).Replace(snippet)
		return "{\n    admin off\n    auto_https disable_redirects\n    storage file_system " + p.dir + "\n}\n" + snippet,
			[]string{"run", "--adapter", "caddyfile", "--config"}
	},
}

// proxyPaths has the folder of a proxy's files, the address on which the proxy
// listens, and the address to which it forwards.
type proxyPaths struct{ dir, listen, upstream string }

// snippet returns the first code block of a language in the operator's manual.
func snippet(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n```"+language+"\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("docs/operations.md has no snippet for %s", language)
	}
	return block
}

func TestTheProxiesOfTheManualCarryEverything(t *testing.T) {
	t.Parallel()
	for name := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkProxy(t, startBehindProxy(t, name, needtest.Extra(t, name)))
		})
	}
}

// site is an orchestrator behind a proxy.
type site struct {
	*fixture
	origin string // of the proxy
	ca     string
}

// startBehindProxy starts an orchestrator, and a proxy in front of it. The commands and
// workers of the site then connect to the proxy.
func startBehindProxy(t *testing.T, name, program string) site {
	t.Helper()
	l := newLab(t.TempDir())
	d := &fixture{T: t, lab: l, env: append([]string{"PATH=" + os.Getenv("PATH")}, l.vars()...)}
	t.Cleanup(l.close)
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := makeCertificate(l.dir); err != nil {
		t.Fatal(err)
	}
	serve, err := l.start(d.env, "serve")
	if err != nil {
		t.Fatal(err)
	}
	listen := freeAddress(t)
	config, args := proxies[name](snippet(t, name), proxyPaths{l.dir, listen, strings.TrimPrefix(serve.url, "http://")})
	file := filepath.Join(l.dir, "proxy.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := site{fixture: d, origin: "https://" + listen, ca: filepath.Join(l.dir, "ca.pem")}
	s.startProxy(exec.Command(program, append(args, file)...))
	d.env = append(d.env, "SVC_API_URL="+s.origin, "SSL_CERT_FILE="+s.ca)
	return s
}

// startProxy starts the proxy and waits until it forwards a request.
func (s site) startProxy(cmd *exec.Cmd) {
	s.Helper()
	said := &textbuffer.Buffer{}
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = said, said, s.env, s.lab.dir
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is ended by a signal
		close(ended)
	}()
	s.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(waittest.Patience):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	err := await(func() (bool, error) {
		select {
		case <-ended:
			return false, fmt.Errorf("the proxy ended:\n%s", said)
		default:
		}
		return s.forwards("/healthz"), nil
	})
	if err != nil {
		s.Fatalf("the proxy is not ready: %v\n%s", err, said)
	}
}

// forwards reports whether a request through the proxy succeeds.
func (s site) forwards(path string) bool {
	s.Helper()
	res, err := s.client().Get(s.origin + path)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// client returns an HTTP client that trusts the test CA.
func (s site) client() *http.Client {
	s.Helper()
	text, err := os.ReadFile(s.ca)
	if err != nil {
		s.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &http.Client{Timeout: waittest.Patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", proctest.FreePort(t))
}

// checkProxy checks each kind of connection that a proxy can break.
func checkProxy(t *testing.T, s site) {
	t.Helper()
	// A worker joins through the proxy.
	join := s.svc("host", "create", "far")
	if !strings.Contains(join, " --server "+s.origin+" ") {
		t.Errorf("the command to join is %q", join)
	}
	far := append(s.env[:len(s.env):len(s.env)], "SVC_DATA_DIR="+s.lab.dir+"/far")
	if _, err := s.lab.run(far, "worker", exec.Command("sh", "-c", "exec env "+join)); err != nil {
		t.Fatal(err)
	}

	// Events arrive while the stream is open.
	events := atTerminal(t, s.env, 200, 50, "events", "-f", "--since", "0")
	s.svc("project", "create", "Unbuffered")
	events.sees("name=Unbuffered")

	// A followed log arrives while the agent waits for an answer.
	run := s.svc("task", "add", "Ask", "--run", "--provider", "demo", "--arg", "--delay", "--arg", "10ms", "--arg", "--ask", "-o", "name")
	log := atTerminal(t, s.env, 200, 50, "run", "logs", "-f", run)
	log.sees("May I go on")

	// The page's socket is upgraded. The orchestrator compares its Origin with the Host header, so the proxy must
	// forward that header.
	token, err := os.ReadFile(s.lab.dir + "/data/token")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	address := s.origin + "/api/v1/runs/" + run + "/pane/ws?token=" + url.QueryEscape(strings.TrimSpace(string(token)))
	client := s.client()
	client.Timeout = 0 // a socket stays open without a limit
	pane, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"Origin": {s.origin}}})
	if err != nil {
		t.Fatalf("the page's socket: %v", err)
	}
	defer func() { _ = pane.CloseNow() }()
	pane.SetReadLimit(1 << 20)
	if _, text, err := pane.Read(ctx); err != nil || !strings.Contains(string(text), "pane_snapshot") {
		t.Errorf("the page's socket sent %q, %v; want a pane_snapshot", text, err)
	}

	// A person attaches to the terminal and answers.
	desk := atTerminal(t, s.env, 200, 50, "attach", run)
	desk.sees("May I go on")
	desk.types("\r")
	desk.sees("Thank you")
	log.sees("Thank you")
	if out := s.svc("run", "watch", run); !strings.Contains(out, "exited with code 0") {
		t.Errorf("the end of the run is %q", out)
	}
}
