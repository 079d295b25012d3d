package workspace

import (
	"encoding/pem"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"svc"
)

// faraway is a repository that is reached over a network with the configuration of the host's user. The connection
// can be shut.
type faraway struct {
	url   string
	shut  func()
	says  string            // the error of an operation when the connection is shut
	trap  string            // the planted setting by which git itself would execute a program
	flags []string          // flags with which an agent's own git reaches it
	user  map[string]string // the configuration of the host's user
}

// overSSH returns a repository that is reached with an ssh command of the user. The command executes the remote's
// program on this machine.
func overSSH(t *testing.T, repository string) faraway {
	t.Helper()
	dir := t.TempDir()
	program, shut := filepath.Join(dir, "ssh"), filepath.Join(dir, "shut")
	write(t, program, "#!/bin/sh\nif test -e '"+shut+"'; then echo ssh: connection refused >&2; exit 255; fi\nfor last; do :; done\nexec sh -c \"$last\"\n")
	check(t, os.Chmod(program, 0o755))
	return faraway{
		url: "ssh://git@127.0.0.1" + repository, says: "connection refused", trap: "core.sshCommand", user: map[string]string{"core.sshCommand": program},
		shut: func() { write(t, shut, "") },
	}
}

// overHTTPS returns a repository that is reached with a certificate that the user trusts. When it is shut, it
// requires a password.
func overHTTPS(t *testing.T, repository string) faraway {
	t.Helper()
	real, err := exec.LookPath("git")
	check(t, err)
	agent(t, repository, "config", "http.receivepack", "true")
	backend := &cgi.Handler{Path: real, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(repository), "GIT_HTTP_EXPORT_ALL=1"}}
	var shut atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if shut.Load() {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "authority.pem")
	write(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	return faraway{
		url: server.URL + "/" + filepath.Base(repository), says: "could not read Username", trap: "credential.helper", flags: []string{"-c", "http.sslVerify=false"},
		user: map[string]string{"http.sslCAInfo": authority}, shut: func() { shut.Store(true) },
	}
}

// asUser returns a git program whose user has these settings in the home.
func asUser(t *testing.T, settings map[string]string) string {
	t.Helper()
	real, err := exec.LookPath("git")
	check(t, err)
	home := t.TempDir()
	for key, value := range settings {
		agent(t, "/", "config", "--file", filepath.Join(home, ".gitconfig"), key, value)
	}
	path := filepath.Join(home, "git")
	write(t, path, "#!/bin/sh\nHOME='"+home+"' exec '"+real+"' \"$@\"\n")
	check(t, os.Chmod(path, 0o755))
	return path
}

// plantWays adds settings that change how git reaches a remote: other programs, other addresses, a proxy that does
// not exist, and certificates that are not verified.
func plantWays(t *testing.T, dir, marks string, to faraway) {
	t.Helper()
	instead := filepath.Join(t.TempDir(), "instead")
	write(t, instead, "#!/bin/sh\ntouch '"+filepath.Join(marks, "instead")+"'\n")
	check(t, os.Chmod(instead, 0o755))
	config := filepath.Join(dir, "config")
	credential := strings.TrimSpace(agent(t, "/", "config", "--file", config, "credential.helper"))
	for key, value := range map[string]string{
		"credential." + to.url + ".helper": credential, "remote.origin.uploadpack": instead, "remote.origin.proxy": "http://127.0.0.1:1", "remote.origin.vcs": "ext",
		"http.proxy": "http://127.0.0.1:1", "http." + to.url + ".proxy": "http://127.0.0.1:1", "http.sslVerify": "false", "http.sslCAInfo": "/dev/null", "ssh.variant": "simple",
		"url.ext::" + instead + " .insteadOf": to.url[:strings.Index(to.url, "/")+2], "url.ext::" + instead + " %S .pushInsteadOf": to.url[:strings.Index(to.url, "/")+2],
	} {
		agent(t, "/", "config", "--file", config, key, value)
	}
}

// TestNothingThatAnAgentWroteIsRunOrObeyedOnTheWayToARemote plants programs and other addresses, and runs every
// operation that reaches the remote. With the connection open everything works; when it is shut, the errors have the
// reason.
func TestNothingThatAnAgentWroteIsRunOrObeyedOnTheWayToARemote(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]func(*testing.T, string) faraway{"ssh": overSSH, "https": overHTTPS} {
		for _, isolation := range []svc.Isolation{svc.IsolationClone, svc.IsolationWorktree} {
			t.Run(name+" "+string(isolation), func(t *testing.T) {
				t.Parallel()
				ctx, marks, remote := t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "remote.git")
				agent(t, "/", "clone", "-q", "--bare", newOrigin(t), remote)
				to, h := over(t, remote), newHost(t)
				h.Git.Bin = asUser(t, to.user)
				o := orderOf(to.url, isolation)
				r := prepare(t, h, o)
				none := ranNone(t, marks)
				inCopy := filepath.Join(r.Path, ".git")
				if isolation == svc.IsolationWorktree {
					inCopy = h.shared(to.url)
				}
				plant(t, inCopy, marks)
				plantWays(t, inCopy, marks, to)
				write(t, filepath.Join(r.Path, "a"), "changed\n")
				c, _, err := h.Checkpoint(ctx, r.ID)
				none("a checkpoint", err)
				_, err = h.Prepare(ctx, o)
				none("another use", err)
				_, err = h.Prepare(ctx, orderOf(to.url, isolation))
				none("a neighbour's preparation", err)
				for _, how := range []svc.LandHow{svc.LandPush, svc.LandSquash} {
					order := svc.LandOrder{ID: svc.NewID(), Checkpoint: c.Number, How: how, Into: "main", Message: "m", By: "anna", At: 1}
					if how == svc.LandPush {
						order.Into = r.Branch
					}
					out, err := h.Land(ctx, r.ID, order)
					if none("a landing", err); out.State != svc.LandingDone || agent(t, remote, "rev-parse", order.Into) != out.Commit {
						t.Errorf("%s: %+v", how, out)
					}
				}
				to.shut()
				write(t, filepath.Join(r.Path, "a"), "changed again\n")
				c, _, err = h.Checkpoint(ctx, r.ID)
				none("a checkpoint", err)
				out, err := h.Land(ctx, r.ID, svc.LandOrder{ID: svc.NewID(), Checkpoint: c.Number, How: svc.LandSquash, Into: "main", Message: "m", By: "anna", At: 1})
				if none("a landing that fails", err); out.State != svc.LandingFailed || out.Reason != svc.LandUnreachable || !strings.Contains(out.Error, to.says) {
					t.Errorf("shut: %+v", out)
				}
				_, err = h.Prepare(ctx, orderOf(to.url, isolation))
				if none("a preparation that fails", nil); err == nil || !strings.Contains(err.Error(), to.says) {
					t.Errorf("shut: %v", err)
				}
				// The traps work: git itself runs them. With all of them it runs the one at the other address;
				// without those settings it runs the others.
				_, _ = tryAgent(r.Path, append(slices.Clone(to.flags), "fetch", to.url)...)
				if got := ran(t, marks); !slices.Contains(got, "instead") {
					t.Errorf("git executed only %q", got)
				}
				trap := filepath.Join(t.TempDir(), "trap")
				write(t, trap, "#!/bin/sh\ntouch '"+filepath.Join(marks, "trap")+"'\nexit 1\n")
				check(t, os.Chmod(trap, 0o755))
				_, _ = tryAgent("/", append(slices.Clone(to.flags), "-c", to.trap+"="+trap, "ls-remote", to.url)...)
				if got := ran(t, marks); !slices.Contains(got, "trap") {
					t.Errorf("git executed only %q", got)
				}
			})
		}
	}
}
