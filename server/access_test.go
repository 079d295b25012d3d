package server

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"svc"
	"svc/api"
)

// newToken makes an access token and gives its record and secret.
func (g *rig) newToken(name string, role svc.Role) (record map[string]any, secret string) {
	g.Helper()
	got := g.want(http.StatusCreated, "POST", "/api/v1/tokens", map[string]any{"name": name, "role": role})
	return got.JSON, got.JSON["token"].(string)
}

// The description says which role each operation needs; each role is tried on
// each of them. Ids are of no record, so that nothing that passes changes much.
func TestEachRoleMayDoWhatIsDescribedAndNothingElse(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	secrets := map[svc.Role]string{}
	for _, role := range svc.Roles {
		_, secrets[role] = g.newToken("a "+string(role), role)
	}
	tried := 0
	for path, item := range g.OpenAPI().Paths {
		for _, op := range operations(item) {
			needed, _ := op.Extensions["x-role"].(svc.Role)
			if needed == "" {
				continue
			}
			for _, role := range svc.Roles {
				tried++
				got := g.firstAnswer(op.Method, api.Prefix+strings.ReplaceAll(path, "{id}", noID), secrets[role])
				forbidden := got.Status == http.StatusForbidden
				if forbidden == role.Includes(needed) {
					t.Errorf("%s %s needs %s; for a %s it is %d %s", op.Method, path, needed, role, got.Status, got.Body)
				}
				if !forbidden {
					continue
				}
				if got.code() != "forbidden" || got.details()["role"] != string(role) || got.details()["needs"] != string(needed) {
					t.Errorf("%s %s: %s", op.Method, path, got.Body)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d tries", tried)
	}
	for _, role := range svc.Roles {
		g.want(http.StatusOK, "GET", "/metrics", nil, token(secrets[role]))
	}
}

// firstAnswer does not wait for the end of a stream.
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
	res, err := http.DefaultClient.Do(req)
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
	g.newToken("ci", svc.RoleViewer) // the name is free again
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

// cookie signs in and gives the browser's cookie.
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
			stream, err := http.DefaultClient.Do(req)
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
	for _, works := range []string{old, fresh} { // the former one for some minutes more
		g.want(http.StatusOK, "POST", "/api/internal/worker/register", registration, token(works))
	}
	if got := g.want(http.StatusOK, "GET", "/api/v1/events?topic=host.token_rotated", nil); strings.Count(got.Body, `"by":"owner"`) != 1 || strings.Contains(got.Body, fresh) {
		t.Errorf("journal: %s", got.Body)
	}
}
