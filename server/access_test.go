package server

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"svc"
	"svc/api"
)

// newToken creates an access token and returns its record and secret.
func (g *rig) newToken(name string, role svc.Role) (record map[string]any, secret string) {
	g.Helper()
	got := g.want(http.StatusCreated, "POST", "/api/v1/tokens", map[string]any{"name": name, "role": role})
	return got.JSON, got.JSON["token"].(string)
}

// exceptions are the operations with another role than the default of their method: viewer for GET, operator for the
// others. Empty: no authentication.
var exceptions = map[string]svc.Role{
	"POST /session": "", "DELETE /session": svc.RoleViewer,
	"GET /tokens": svc.RoleAdmin, "POST /tokens": svc.RoleAdmin, "DELETE /tokens/{id}": svc.RoleAdmin,
	"POST /hosts": svc.RoleAdmin, "DELETE /hosts/{id}": svc.RoleAdmin, "POST /hosts/{id}/token": svc.RoleAdmin, "POST /hosts/{id}/rotate-token": svc.RoleAdmin,
	"POST /replicas/{id}/drain": svc.RoleAdmin,
}

// Each role, no token and a worker's token are tried on each operation, and the result must follow from the described
// role. The ids belong to no record, so that accepted requests change little.
func TestEachRoleMayDoWhatIsDescribedAndNothingElse(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	secrets := map[svc.Role]string{}
	for _, role := range svc.Roles {
		_, secrets[role] = g.newToken("a "+string(role), role)
	}
	described := map[string]bool{}
	for path, item := range g.OpenAPI().Paths {
		for _, op := range operations(item) {
			name := op.Method + " " + path
			described[name] = true
			needed, _ := op.Extensions["x-role"].(svc.Role)
			want := svc.RoleOperator
			if op.Method == http.MethodGet {
				want = svc.RoleViewer
			}
			if other, is := exceptions[name]; is {
				want = other
			}
			if needed != want {
				t.Errorf("%s needs %q, want %q", name, needed, want)
			}
			if needed == "" {
				continue
			}
			url := api.Prefix + strings.ReplaceAll(path, "{id}", noID)
			for who, secret := range map[string]string{"nobody": "", "a worker": workerToken} {
				if got := g.firstAnswer(op.Method, url, secret); got.Status != http.StatusUnauthorized {
					t.Errorf("%s: for %s it is %d %s", name, who, got.Status, got.Body)
				}
			}
			for _, role := range svc.Roles {
				got := g.firstAnswer(op.Method, url, secrets[role])
				forbidden := got.Status == http.StatusForbidden
				if forbidden == role.Includes(needed) {
					t.Errorf("%s needs %s; for a %s it is %d %s", name, needed, role, got.Status, got.Body)
				}
				if !forbidden {
					continue
				}
				if got.code() != "forbidden" || got.details()["role"] != string(role) || got.details()["needs"] != string(needed) {
					t.Errorf("%s: %s", name, got.Body)
				}
			}
		}
	}
	for _, name := range append(slices.Collect(maps.Keys(exceptions)), "GET /events/stream", "GET /runs/{id}/attach/ws", "GET /runs/{id}/pane/ws", "GET /me", "GET /workspaces/{id}/bundle") {
		if !described[name] {
			t.Errorf("%s is not described", name)
		}
	}
}

// rawRoutes are the routes that are not in the public API description, with their status without a token and with a
// user token.
var rawRoutes = map[string]struct{ nobody, person int }{
	"GET /healthz": {200, 200}, "GET /readyz": {200, 200}, "GET /metrics": {401, 200}, "GET /api/v1/openapi.json": {200, 200}, "GET /api/v1/docs": {200, 200},
	"POST /api/internal/worker/register": {401, 401}, "POST /api/internal/runs/{id}/signals": {401, 401}, "GET /api/internal/worker/uplink": {401, 401},
	"POST /api/internal/workspaces/{id}/landing":              {401, 401},
	"POST /api/internal/runs/{id}/comments/{comment}/handled": {401, 401},
	"POST /api/internal/workspaces/{id}/report":               {401, 401}, "POST /api/internal/workspaces/{id}/checkpoints/{number}/done": {401, 401},
	"POST /api/internal/workspaces/{id}/checkpoints/{number}/{kind}": {401, 401}, "GET /api/internal/workspaces/{id}/checkpoints/{number}/bundle": {401, 401},
}

// TestEveryRouteThatIsNotDescribedIsListed searches the source for routes: a new one must be added to rawRoutes.
func TestEveryRouteThatIsNotDescribedIsListed(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	prefixes := strings.NewReplacer(`"+internalRoot+"`, internalRoot, `"+api.Prefix+"`, api.Prefix)
	route := regexp.MustCompile(`\.mux\.Handle(?:Func)?\("([A-Z]+ /[^"]*)"`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range route.FindAllStringSubmatch(prefixes.Replace(string(text)), -1) {
			found[m[1]] = true
			if _, listed := rawRoutes[m[1]]; !listed {
				t.Errorf("%s: %s is neither described nor listed here", file, m[1])
			}
		}
	}
	_, admin := g.newToken("ann", svc.RoleAdmin)
	for name, want := range rawRoutes {
		if !found[name] {
			t.Errorf("%s is no route", name)
		}
		method, path, _ := strings.Cut(name, " ")
		path = strings.NewReplacer("{id}", noID, "{number}", "1", "{kind}", "bundle").Replace(path)
		for secret, status := range map[string]int{"": want.nobody, admin: want.person} {
			if got := g.firstAnswer(method, path, secret); got.Status != status {
				t.Errorf("%s: got %d, want %d (%s)", name, got.Status, status, got.Body)
			}
		}
	}
}

// firstAnswer returns the response without waiting for the end of a stream.
func (g *rig) firstAnswer(method, path, secret string) reply {
	g.Helper()
	if !strings.HasSuffix(path, "/events/stream") {
		var body any
		if method == "POST" || method == "PATCH" {
			body = "{}"
		}
		return g.call(method, path, body, token(secret))
	}
	ctx, cancel := context.WithCancel(g.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, g.URL+path, nil)
	if err != nil {
		g.Fatal(err)
	}
	token(secret)(req)
	res, err := g.http().Do(req)
	if err != nil {
		g.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	return reply{Status: res.StatusCode}
}

func TestATokenIsShownOnceAndListedForEver(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	key := with("Idempotency-Key", "k")
	body := map[string]any{"name": "ci", "role": "viewer", "expires_at": "2100-01-01T00:00:00Z"}
	first := g.want(http.StatusCreated, "POST", "/api/v1/tokens", body, key)
	secret, _ := first.JSON["token"].(string)
	if len(secret) != 32 || first.JSON["created_by"] != "owner" || first.JSON["revoked_at"] != nil {
		t.Errorf("got %s", first.Body)
	}
	again := g.want(http.StatusCreated, "POST", "/api/v1/tokens", body, key)
	if _, has := again.JSON["token"]; has || again.JSON["id"] != first.JSON["id"] {
		t.Errorf("repeated: %s", again.Body)
	}
	g.refuse(http.StatusConflict, "conflict", "POST", "/api/v1/tokens", body)
	for field, bad := range map[string]map[string]any{
		"name": {"name": "Owner", "role": "viewer"}, "role": {"name": "x", "role": "king"}, "expires_at": {"name": "x", "role": "viewer", "expires_at": "2000-01-01T00:00:00Z"},
	} {
		if got := g.refuse(http.StatusBadRequest, "validation_failed", "POST", "/api/v1/tokens", bad); got.fields()[field] == nil {
			t.Errorf("%s is not named: %s", field, got.Body)
		}
	}
	if me := g.want(http.StatusOK, "GET", "/api/v1/me", nil, token(secret)); me.JSON["name"] != "ci" || me.JSON["role"] != "viewer" || me.JSON["expires_at"] != "2100-01-01T00:00:00.000Z" {
		t.Errorf("me: %s", me.Body)
	}
	path := fmt.Sprint("/api/v1/tokens/", first.JSON["id"])
	g.want(http.StatusNoContent, "DELETE", path, nil)
	g.want(http.StatusNoContent, "DELETE", path, nil)
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/me", nil, token(secret))
	g.newToken("ci", svc.RoleViewer) // the name can be used again
	list := g.want(http.StatusOK, "GET", "/api/v1/tokens", nil)
	if n := len(list.JSON["items"].([]any)); n != 2 || strings.Contains(list.Body, secret) {
		t.Errorf("%d tokens: %s", n, list.Body)
	}
	events := g.want(http.StatusOK, "GET", "/api/v1/events?topic=token.*", nil)
	if strings.Count(events.Body, `"topic":"token.revoked"`) != 1 || strings.Count(events.Body, `"by":"owner"`) != 3 || strings.Contains(events.Body, secret) {
		t.Errorf("journal: %s", events.Body)
	}
}

func TestWhatAPersonCausesCarriesTheirName(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, ann := g.newToken("ann", svc.RoleOperator)
	_, task := g.task()
	made := g.want(http.StatusAccepted, "POST", "/api/v1/runs", map[string]any{"task_id": task, "provider": "provider_b"}, token(ann))
	if made.JSON["created_by"] != "ann" {
		t.Errorf("created_by is %v", made.JSON["created_by"])
	}
	run := fmt.Sprint("/api/v1/runs/", made.JSON["id"])
	g.want(http.StatusAccepted, "POST", run+"/stop", nil, token(ann))
	evidence := g.want(http.StatusOK, "GET", run, nil).JSON["evidence"].([]any)
	if len(evidence) != 1 || evidence[0].(map[string]any)["by"] != "ann" {
		t.Errorf("evidence: %v", evidence)
	}
	for _, topic := range []string{"run.created", "run.stopped"} {
		if got := g.want(http.StatusOK, "GET", "/api/v1/events?topic="+topic, nil); !strings.Contains(got.Body, `"by":"ann"`) {
			t.Errorf("%s: %s", topic, got.Body)
		}
	}
}

// cookie signs in and returns the session cookie.
func (g *rig) cookie(secret string) *http.Cookie {
	g.Helper()
	got := g.want(http.StatusNoContent, "POST", "/api/v1/session", map[string]any{"token": secret}, noToken)
	c, err := http.ParseSetCookie(got.Header.Get("Set-Cookie"))
	if err != nil {
		g.Fatal(err)
	}
	return c
}

func byCookie(c *http.Cookie) edit {
	return func(r *http.Request) {
		noToken(r)
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
}

func TestABrowserSignsInByCookie(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	record, secret := g.newToken("ann", svc.RoleOperator)
	g.refuse(http.StatusUnauthorized, "unauthorized", "POST", "/api/v1/session", map[string]any{"token": strings.Repeat("0", 32)}, noToken)
	g.refuse(http.StatusBadRequest, "validation_failed", "POST", "/api/v1/session", map[string]any{}, noToken)
	g.refuse(http.StatusForbidden, "forbidden_origin", "POST", "/api/v1/session", map[string]any{"token": secret}, noToken, with("Origin", "https://evil.example"))
	c := g.cookie(secret)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge < 29*24*3600 || c.Secure || strings.Contains(c.Value, secret) {
		t.Errorf("the cookie is %v", c)
	}
	me := g.want(http.StatusOK, "GET", "/api/v1/me", nil, byCookie(c))
	if me.JSON["name"] != "ann" {
		t.Errorf("me: %s", me.Body)
	}
	project := map[string]any{"name": "x"}
	ours := with(api.HeaderRequest, "1")
	g.refuse(http.StatusForbidden, "forbidden", "POST", "/api/v1/projects", project, byCookie(c))
	g.refuse(http.StatusForbidden, "forbidden_origin", "POST", "/api/v1/projects", project, byCookie(c), ours, with("Origin", "https://evil.example"))
	g.refuse(http.StatusForbidden, "forbidden_origin", "GET", "/api/v1/projects", nil, byCookie(c), with("Origin", "https://evil.example"))
	g.want(http.StatusCreated, "POST", "/api/v1/projects", project, byCookie(c), ours, with("Origin", g.URL))
	g.refuse(http.StatusUnauthorized, "unauthorized", "POST", "/api/internal/worker/register", "{}", byCookie(c), ours)

	g.want(http.StatusNoContent, "DELETE", "/api/v1/session", nil, byCookie(c), ours)
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/me", nil, byCookie(c))

	c = g.cookie(secret)
	g.want(http.StatusNoContent, "DELETE", fmt.Sprint("/api/v1/tokens/", record["id"]), nil)
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/me", nil, byCookie(c))
	g.want(http.StatusOK, "GET", "/api/v1/me", nil, byCookie(g.cookie(userToken)))
}

func TestBehindTLSTheCookieIsSecure(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	got := g.want(http.StatusNoContent, "POST", "/api/v1/session", map[string]any{"token": userToken}, noToken, with("X-Forwarded-Proto", "https"))
	if !strings.Contains(got.Header.Get("Set-Cookie"), "Secure") {
		t.Errorf("got %s", got.Header.Get("Set-Cookie"))
	}
}

func TestOpenStreamsAndSocketsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig, map[string]any, *http.Cookie){
		"revoked": func(g *rig, record map[string]any, _ *http.Cookie) {
			g.want(http.StatusNoContent, "DELETE", fmt.Sprint("/api/v1/tokens/", record["id"]), nil)
		},
		"signed out": func(g *rig, _ map[string]any, c *http.Cookie) {
			g.want(http.StatusNoContent, "DELETE", "/api/v1/session", nil, byCookie(c), with(api.HeaderRequest, "1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			g.recheck = 20 * time.Millisecond
			record, secret := g.newToken("ann", svc.RoleViewer)
			c := g.cookie(secret)
			header := http.Header{"Cookie": {c.Name + "=" + c.Value}}
			socket, _, err := websocket.Dial(t.Context(), g.URL+"/api/v1/runs/"+g.run()+"/pane/ws", &websocket.DialOptions{HTTPHeader: header})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = socket.CloseNow() }()
			req, err := http.NewRequestWithContext(t.Context(), "GET", g.URL+"/api/v1/events/stream", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = header
			stream, err := g.http().Do(req)
			if err != nil || stream.StatusCode != http.StatusOK {
				t.Fatal(stream, err)
			}
			defer func() { _ = stream.Body.Close() }()
			end(g, record, c)
			if _, _, err := socket.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
				t.Errorf("the socket ended with %v", err)
			}
			for lines := bufio.NewScanner(stream.Body); lines.Scan(); { // ends with the stream
			}
		})
	}
}

func TestAHostsTokenIsRotated(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	h := g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": "a"})
	path := fmt.Sprint("/api/v1/hosts/", h.JSON["id"])
	secret := func(action string, edits ...edit) string {
		return g.want(http.StatusOK, "POST", path+action, nil, edits...).JSON["token"].(string)
	}
	old := secret("/token")
	key := with("Idempotency-Key", "k")
	fresh := secret("/rotate-token", key)
	if fresh == old || secret("/rotate-token", key) != fresh || secret("/token") != fresh {
		t.Error("the token was not rotated once")
	}
	registration := map[string]any{"host_name": "a", "platform": "linux", "instance_id": svc.NewID()}
	for _, works := range []string{old, fresh} { // the former one stays valid for some minutes
		g.want(http.StatusOK, "POST", "/api/internal/worker/register", registration, token(works))
	}
	if got := g.want(http.StatusOK, "GET", "/api/v1/events?topic=host.token_rotated", nil); strings.Count(got.Body, `"by":"owner"`) != 1 || strings.Contains(got.Body, fresh) {
		t.Errorf("journal: %s", got.Body)
	}
}
