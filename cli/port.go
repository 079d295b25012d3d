package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"svc/config"
)

// listenProblem explains why the orchestrator could not listen.
func listenProblem(ctx context.Context, cfg *config.Config, err error) error {
	addr := cfg.Server.Addr()
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		p := &problem{what: "port " + strconv.Itoa(cfg.Server.Port) + " is taken", exit: exitConflict, err: err}
		who, ours := portHolder(cfg.Server.Port), isOrchestrator(ctx, cfg.Server.Port)
		p.next = "stop it, or choose another port with --port"
		switch {
		case ours && who != "":
			p.why = who + ", an orchestrator that runs already"
		case ours:
			p.why = "an orchestrator runs there already"
		case who != "":
			p.why = who + " listens on it"
		default:
			p.why = "another program listens on " + addr
		}
		if ours {
			p.next = "`svc status` shows it; --port and --data-dir start another one beside it"
		}
		return p
	case errors.Is(err, fs.ErrPermission):
		return &problem{what: "cannot listen on " + addr, why: "this user may not use that port", next: "choose a port above 1023 with --port", exit: exitFailed, err: err}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return &problem{what: "cannot listen on " + addr, why: "this machine does not have that address", next: "choose another one with --bind", exit: exitFailed, err: err}
	}
	return err
}

// isOrchestrator reports whether the program that listens on a port of this machine answers like an orchestrator.
func isOrchestrator(ctx context.Context, port int) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	url := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + "/api/v1/projects"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusUnauthorized && res.Header.Get("X-Request-Id") != ""
}

// portHolder names the process that listens on a TCP port, as far as /proc shows it. It is empty when /proc does not,
// as on other systems and for processes of other users.
func portHolder(port int) string {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table) // absent: another system
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			const listening = "0A"
			if len(f) > 9 && f[3] == listening && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				inodes["socket:["+f[9]+"]"] = true
			}
		}
	}
	if len(inodes) == 0 {
		return ""
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is well formed
	for _, file := range files {
		target, err := os.Readlink(file)
		if err != nil || !inodes[target] {
			continue
		}
		pid := strings.Split(file, "/")[2]
		name, _ := os.ReadFile("/proc/" + pid + "/comm") // it may have ended just now
		return strings.TrimSpace(fmt.Sprintf("process %s %s", pid, name))
	}
	return ""
}
