package engine

import (
	"context"
	"fmt"

	"svc"
	"svc/store"
	"svc/wire"
)

const (
	// serverFields limits the encoded size, in bytes, of what the server adds to the caller's fields in a dispatch:
	// ids, the token, the project's slug, and the project's settings for its runs. A test compares it with the
	// largest possible values.
	serverFields = 64 << 10
	// maxDispatch limits the encoded size, in bytes, of the caller's fields in a dispatch.
	maxDispatch = wire.MaxFrame - serverFields
	// mostEscaped is the maximum number of bytes that one byte of text takes in JSON: \u0001.
	mostEscaped = 6
)

// ownFields returns the part of a dispatch that the caller of a run supplies.
func ownFields(n svc.NewRun) wire.RunDispatch {
	return wire.RunDispatch{Provider: n.Provider, Cwd: n.Cwd, Prompt: n.Prompt, Args: n.Args, Model: n.Model, Env: n.Env}
}

// checkSendable refuses a run that is too large for a frame.
func checkSendable(n svc.NewRun) error {
	field, size, err := oversize(ownFields(n), maxDispatch)
	if err != nil || field == "" {
		return err
	}
	return svc.Invalid(field, "makes the run too large to be sent to a host: prompt, args and env take %d bytes as JSON; at most %d are allowed", size, maxDispatch)
}

// oversize measures a dispatch. If it is larger than the limit, field is its largest field.
func oversize(f wire.RunDispatch, limit int) (field string, size int, err error) {
	sizes := map[string]int{"prompt": len(f.Prompt), "args": 0, "env": 0}
	for _, a := range f.Args {
		sizes["args"] += len(a) + 1
	}
	for k, v := range f.Env {
		sizes["env"] += len(k) + len(v) + 1
	}
	text := sizes["prompt"] + sizes["args"] + sizes["env"]
	if mostEscaped*text+serverFields < limit {
		return "", 0, nil // it fits in any case, so it is not encoded
	}
	b, err := wire.Encode(f)
	if err != nil || len(b) <= limit {
		return "", len(b), err
	}
	field = "prompt"
	for name, n := range sizes {
		if n > sizes[field] {
			field = name
		}
	}
	return field, len(b), nil
}

// checkPrompt refuses a prompt that is too long for the provider on every host that the run may be placed on,
// according to the hosts' reports. The run is admitted if one host may accept the prompt, or if no host has reported
// a limit.
func checkPrompt(ctx context.Context, tx *store.Tx, n svc.NewRun) error {
	if len(n.Prompt) <= svc.MaxArgument {
		return nil
	}
	hosts, err := tx.AllHosts(ctx)
	if err != nil {
		return err
	}
	most := 0
	for _, h := range hosts {
		report, has := h.Providers[n.Provider]
		if !has || report.Preset || n.HostID != nil && *n.HostID != h.ID {
			continue
		}
		if report.PromptLimit == 0 || len(n.Prompt) <= report.PromptLimit {
			return nil
		}
		most = max(most, report.PromptLimit)
	}
	if most == 0 {
		return nil
	}
	why := fmt.Sprintf("has %d bytes; %s takes its prompt as an argument, which may have %d", len(n.Prompt), n.Provider, most)
	return svc.Errorf(svc.CodePromptTooLong, "prompt: %s", why).With("fields", map[string]any{"prompt": why})
}

// unsendable fails an attempt that cannot be sent to its host. Either no frame can carry it (a run that was admitted
// before sizes were checked; each push would end the host's connection), or the worker is too old for it.
func (e *Engine) unsendable(ctx context.Context, r svc.Run, why string) {
	_, err := e.Ingest(ctx, svc.Signal{RunID: r.ID, Attempt: r.Attempt, Kind: svc.SignalFailed, Source: svc.FromWrapper, Via: "orchestrator",
		Error: why, Timestamp: e.now()})
	if err != nil && ctx.Err() == nil {
		e.Log.Error("a run that cannot be sent cannot be ended; trying again", "run_id", r.ID, "error", err)
	}
}
