package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"time"

	"svc"
	"svc/config"
	"svc/wire"
)

// probeServer registers once before the worker does, to report at once what no retry can fix: a token that is not
// accepted, or a host that does not exist. It returns nil when the orchestrator does not answer, because the worker
// waits for that.
func (a *app) probeServer(ctx context.Context, cfg *config.Config, token config.Token) error {
	instance, _, err := config.EnsureInstanceID(cfg.DataDir)
	if err != nil {
		return err
	}
	body, err := json.Marshal(wire.Registration{
		HostName: cfg.Worker.HostName, Platform: runtime.GOOS + "/" + runtime.GOARCH, InstanceID: instance,
		Capabilities: wire.Capabilities, Version: Version(),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, cfg.ServerURL()+"/api/internal/worker/register", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+string(token.Value))
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil // the worker tries again by itself, and logs it
	}
	defer func() { _ = res.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // an incomplete answer is no error of ours, as below
	refusal, ours := svc.ParseError(answer)
	if !ours {
		return nil
	}
	return refusedWorker(cfg, token, refusal.Code)
}

func refusedWorker(cfg *config.Config, token config.Token, code svc.Code) error {
	switch code {
	case svc.CodeUnauthorized:
		return &problem{
			what: "the orchestrator at " + cfg.ServerURL() + " does not accept this worker's token", why: "it came from " + token.From,
			next: "an operator gets the right one with: svc host create " + cfg.Worker.HostName, exit: exitUnauthorized,
		}
	case svc.CodeHostNotFound:
		return &problem{
			what: "the orchestrator has no host " + cfg.Worker.HostName + " for this token", why: "a worker cannot make its own host",
			next: "an operator creates it with: svc host create " + cfg.Worker.HostName + "; --host-name chooses another", exit: exitNotFound,
		}
	default:
		return nil
	}
}
