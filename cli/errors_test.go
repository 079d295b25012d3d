package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"svc"
	"svc/api"
	"svc/config"
)

func testApp() (*app, *bytes.Buffer) {
	var err bytes.Buffer
	return &app{out: newStream(&bytes.Buffer{}), err: newStream(&err), color: "never", src: config.Sources{Env: func(string) string { return "" }}}, &err
}

func TestFailSaysWhatWhyAndWhatNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		exit int
		want string
	}{
		"unreachable": {
			fmt.Errorf("%w at http://h: %w", api.ErrUnreachable, errors.New("connection refused")), 7,
			"svc: the orchestrator at  cannot be reached\nwhy:  connection refused\nnext: `svc up` starts one here; --server URL or SVC_API_URL names another\n",
		},
		"refused with a hint": {
			svc.Errorf(svc.CodeHasChildren, "it has children"), 9, "svc: it has children\nnext: --recursive deletes everything below it too\n",
		},
		"not found": {svc.NotFound("run", "x"), 6, "svc: no run \"x\"\n"},
		"usage":     {usage("do that", "not %s", "this"), 2, "svc: not this\nnext: do that\n"},
		"anything":  {errors.New("it broke"), 1, "svc: it broke\n"},
		"wrapped":   {fmt.Errorf("while: %w", svc.Errorf(svc.CodeUnavailable, "the database is away")), 7, "svc: the database is away\n"},
		"on its side": {&api.ServerError{RequestID: "abc", Err: svc.Unavailable(svc.CauseDatabaseBusy)}, 7,
			"svc: the database is busy; try again\nnext: try again in a moment\nlog:  the orchestrator's log has more under request_id abc\n"},
		"code alone":  {exitCode(5), 5, ""},
		"the cause":   {svc.Errorf(svc.CodeInternal, "no").Because(errors.New("disk")), 1, "svc: no\nwhy:  disk\n"},
		"wrong token": {svc.Errorf(svc.CodeUnauthorized, "no"), 4, "svc: the orchestrator at  does not accept the token\nnext: set SVC_TOKEN to the content of the orchestrator's token file\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, out := testApp()
			if got := a.fail(context.Background(), c.err); got != c.exit || out.String() != c.want {
				t.Errorf("exit code %d, want %d\n got %q\nwant %q", got, c.exit, out, c.want)
			}
		})
	}
}

func TestFailIsSilentWhenInterrupted(t *testing.T) {
	t.Parallel()
	a, out := testApp()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := a.fail(ctx, fmt.Errorf("read: %w", context.Canceled)); got != exitInterrupted || out.Len() > 0 {
		t.Errorf("exit code %d and %q, want 130 and silence", got, out)
	}
}

func TestEveryExitCodeIsDocumentedOnce(t *testing.T) {
	t.Parallel()
	documented := map[int]int{}
	for _, c := range exitCodes {
		documented[c.code]++
	}
	for _, code := range []int{0, 1, 2, 4, 5, 6, 7, 8, 9, 130} {
		if documented[code] != 1 {
			t.Errorf("exit code %d is documented %d times", code, documented[code])
		}
	}
	if len(exitCodes) != 10 {
		t.Errorf("%d exit codes are documented, want 10", len(exitCodes))
	}
	if text := exitCodesTopic().Long; !strings.Contains(text, "130") {
		t.Errorf("the topic lacks codes: %s", text)
	}
}
