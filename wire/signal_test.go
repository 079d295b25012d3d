package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc"
)

// signals has a signal of every kind with all of its fields, and one with only the required fields.
var signals = map[string]svc.Signal{
	"started":          {Kind: svc.SignalStarted, Source: svc.FromWrapper},
	"started_pid":      {Kind: svc.SignalStarted, Source: svc.FromWrapper, PID: ptr(1)},
	"finished":         {Kind: svc.SignalFinished, Source: svc.FromWrapper},
	"finished_reason":  {Kind: svc.SignalFinished, Source: svc.FromWrapper, ExitCode: -1, Reason: "session_lost"},
	"completed":        {Kind: svc.SignalCompleted, Source: svc.FromHook, Result: svc.ResultSuccess},
	"completed_reason": {Kind: svc.SignalCompleted, Source: svc.FromHook, Result: svc.ResultPartialSuccess, Reason: "half"},
	"rejected":         {Kind: svc.SignalCompleted, Source: svc.FromHook, Result: svc.ResultUserRejected},
	"failed":           {Kind: svc.SignalFailed, Source: svc.FromHook, Error: "no key"},
	"failed_silently":  {Kind: svc.SignalFailed, Source: svc.FromWrapper},
	"progress":         {Kind: svc.SignalProgress, Source: svc.FromHook, Seq: 1, Message: "m"},
	"completed_in":     {Kind: svc.SignalCompleted, Source: svc.FromHook, Result: svc.ResultSuccess, Conversation: "ses_1.a-B"},
	"progress_in":      {Kind: svc.SignalProgress, Source: svc.FromHook, Seq: 1, Message: "m", Conversation: "ses_1.a-B"},
	"progress_full":    {Kind: svc.SignalProgress, Source: svc.FromHook, Seq: 1<<63 - 1, Message: "m", Percent: ptr(255), NeedsInput: true},
	"progress_prompt":  {Kind: svc.SignalProgress, Source: svc.FromHook, Seq: 1, Message: "m", Submitted: svc.PromptDigest("a prompt")},
	"progress_idle":    {Kind: svc.SignalProgress, Source: svc.FromHook, Seq: 1, Message: "m", NeedsInput: true, Idle: true},
}

func TestSignalBodiesAreWrittenAndReadAsTheContractHasThem(t *testing.T) {
	t.Parallel()
	for name, s := range signals {
		s.RunID, s.Attempt, s.Timestamp = runID, 3, at
		b, err := json.Marshal(FromSignal(s))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("signals", name+".json"), b)
		if got, err := ParseSignal(runID, b); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s is read as %+v (%v), want %+v", name, got, err, s)
		}
	}
}

// body returns a signal body with this kind and payload; more is inserted before its fields.
func body(kind, payload, more string) string {
	return `{` + more + `"kind":"` + kind + `","attempt":1,"source":"wrapper","payload":` + payload + `,"timestamp":"2026-01-01T00:00:00Z"}`
}

func TestMalformedSignalsNameTheField(t *testing.T) {
	t.Parallel()
	const seq = `"seq":1,`
	for text, field := range map[string]string{
		``:                      "body",
		`{`:                     "body",
		`[]`:                    "body",
		`{"kind":"x"} {}`:       "body",
		`"started"`:             "body",
		body("begun", "{}", ""): "kind", body("Started", "{}", ""): "kind",
		body("started", "{}", `"unknown":1,`):  "unknown",
		body("started", "{}", seq):             "seq",
		body("started", `{"pid":"x"}`, ""):     "payload.pid",
		body("started", `{"exit_code":0}`, ""): "payload.exit_code",
		body("started", `null`, ""):            "payload", body("started", `[]`, ""): "payload", body("started", `1`, ""): "payload",
		body("finished", `{}`, ""): "payload.exit_code", body("finished", `{"exit_code":null}`, ""): "payload.exit_code",
		body("finished", `{"exit_code":1.5}`, ""): "payload.exit_code", body("finished", `{"exit_code":"0"}`, ""): "payload.exit_code",
		body("finished", `{"exit_code":4294967296}`, ""): "payload.exit_code", body("finished", `{"exit_code":0,"EXIT_CODE":1}`, ""): "payload.EXIT_CODE",
		body("completed", `{}`, ""): "payload.result", body("completed", `{"result":"great"}`, ""): "payload.result",
		body("completed", `{"result":"partial_success"}`, ""): "payload.reason", body("completed", `{"result":"success","reason":7}`, ""): "payload.reason",
		body("failed", `{}`, ""): "payload.error", body("failed", `{"error":"\u0000"}`, ""): "payload.error",
		body("progress", `{"message":"m"}`, ""): "seq", body("progress", `{}`, seq): "payload.message",
		body("progress", `{"message":"m"}`, `"seq":1.5,`): "seq", body("progress", `{"message":"m"}`, `"seq":9223372036854775808,`): "seq",
		body("progress", `{"message":"m"}`, `"seq":"1",`):      "seq",
		body("progress", `{"message":"m","percent":256}`, seq): "payload.percent", body("progress", `{"message":"m","percent":-1}`, seq): "payload.percent",
		body("progress", `{"message":"m","percent":1.5}`, seq): "payload.percent", body("progress", `{"message":"m","needs_input":1}`, seq): "payload.needs_input",
		strings.Replace(body("started", "{}", ""), "wrapper", "manual", 1):  "source",
		strings.Replace(body("started", "{}", ""), "wrapper", "Wrapper", 1): "source",
		strings.Replace(body("started", "{}", ""), `:1,`, `:"1",`, 1):       "attempt",
		strings.Replace(body("started", "{}", ""), `:1,`, `:1.5,`, 1):       "attempt",
		strings.Replace(body("started", "{}", ""), `2026-01-01T`, ``, 1):    "body",
		`{"kind":"started","attempt":1,"source":"wrapper","payload":{}}`:    "timestamp",
	} {
		_, err := ParseSignal(runID, []byte(text))
		var e *svc.Error
		if !errors.As(err, &e) || e.Code != svc.CodeValidation {
			t.Errorf("%s: %v", text, err)
			continue
		}
		fields, _ := e.Details["fields"].(map[string]any)
		if _, ok := fields[field]; !ok {
			t.Errorf("%s: the error is about %v, want %s", text, slices.Collect(maps.Keys(fields)), field)
		}
	}
}

func TestSignalsThatAreJudgedLater(t *testing.T) {
	t.Parallel()
	none := strings.Replace(body("started", "{}", ""), `"attempt":1,`, ``, 1)
	if s, err := ParseSignal(runID, []byte(none)); err != nil || !s.NoAttempt {
		t.Errorf("no attempt: %+v (%v)", s, err)
	}
	for _, text := range []string{
		strings.Replace(body("started", "{}", ""), `"payload":{},`, ``, 1),
		body("started", `{"pid":null}`, ""),
		body("progress", `{"message":"","percent":null,"needs_input":false}`, `"seq":-5,`),
		strings.Replace(body("started", "{}", ""), "00Z", "00.123456Z", 1),
	} {
		if s, err := ParseSignal(runID, []byte(text)); err != nil || s.NoAttempt || s.Attempt != 1 {
			t.Errorf("%s: %+v (%v)", text, s, err)
		}
	}
}

// FuzzParseSignal searches for accepted signals that change when they are converted to the wire form and back.
func FuzzParseSignal(f *testing.F) {
	for _, name := range slices.Sorted(maps.Keys(signals)) {
		s := signals[name]
		s.Attempt, s.Timestamp = 3, at
		b, err := json.Marshal(FromSignal(s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := ParseSignal(runID, b)
		if err != nil {
			if svc.CodeOf(err) != svc.CodeValidation {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if first.NoAttempt {
			return
		}
		again, err := json.Marshal(FromSignal(first))
		if err != nil {
			t.Fatal(err)
		}
		second, err := ParseSignal(runID, again)
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Fatalf("%+v became %+v (%v)", first, second, err)
		}
	})
}
