package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	hostID = "0190a6b2-0000-7000-8000-000000000001"
	runID  = "6f1c0f5e-8a50-4c53-9e0a-1d2f3a4b5c6d"
	taskID = "0190a6b2-0000-7000-8000-000000000002"
	at     = svc.Time(1_763_240_000_123)
)

func ptr[T any](v T) *T { return &v }

func signalFrame(s svc.Signal) SignalFrame {
	s.Attempt, s.Timestamp = 2, at
	return SignalFrame{RunID: runID, Signal: FromSignal(s)}
}

// upGolden has every frame from a worker with all fields, and with only the required fields.
var upGolden = map[string]Frame{
	"heartbeat":               Heartbeat{HostID: hostID, InstanceID: taskID, Timestamp: at},
	"heartbeat_inventory":     Heartbeat{HostID: hostID, InstanceID: taskID, Timestamp: at, Runs: &[]LiveRun{{runID, 2}}},
	"run_hint":                RunHint{RunID: runID, Attempt: 2, Hint: "output is missing from the log: no space left on device"},
	"heartbeat_catalog_error": Heartbeat{HostID: hostID, InstanceID: taskID, Timestamp: at, CatalogError: "providers.toml line 2: unknown key"},
	"heartbeat_refusing":      Heartbeat{HostID: hostID, InstanceID: taskID, Timestamp: at, Refusing: &svc.HostRefusal{Code: svc.RefusalCoolingDown, Message: "no folder for sockets", Until: at}},
	"heartbeat_no_sessions":   Heartbeat{HostID: hostID, InstanceID: taskID, Timestamp: at, Runs: &[]LiveRun{}},
	"run_dispatch_ack":        RunDispatchAck{RunID: runID, Attempt: 2, Accepted: true},
	"run_dispatch_nack":       RunDispatchAck{RunID: runID, Attempt: 2, Reason: "no room"},
	"snapshot":                Snapshot{RunID: runID, Capture: "$ \x1b[1mls\x1b[0m\n", Timestamp: at},
	"snapshot_attempt":        Snapshot{RunID: runID, Capture: "", Timestamp: at, Attempt: 2},
	"snapshot_final":          Snapshot{RunID: runID, Capture: "done\n", Timestamp: at, Attempt: 2, Final: true},
	"signal_started":          signalFrame(svc.Signal{Kind: svc.SignalStarted, Source: svc.FromWrapper, PID: ptr(4711)}),
	"signal_finished":         signalFrame(svc.Signal{Kind: svc.SignalFinished, Source: svc.FromWrapper, ExitCode: -1, Reason: "session_lost"}),
	"signal_completed":        signalFrame(svc.Signal{Kind: svc.SignalCompleted, Source: svc.FromHook, Result: svc.ResultPartialSuccess, Reason: "tests fail"}),
	"signal_failed":           signalFrame(svc.Signal{Kind: svc.SignalFailed, Source: svc.FromHook, Error: "no key"}),
	"signal_progress":         signalFrame(svc.Signal{Kind: svc.SignalProgress, Source: svc.FromHook, Seq: 1<<53 + 1, Message: "which?", Percent: ptr(0), NeedsInput: true}),
	"log_chunk_plain":         LogChunk{RunID: runID, Text: LogText("line\n"), Timestamp: at},
	"log_chunk":               LogChunk{RunID: runID, Text: LogText("line\n"), Timestamp: at, Attempt: 2, Offset: ptr(int64(0)), Bytes: 5},
	"log_chunk_times": LogChunk{RunID: runID, Text: LogText("line\n"), Timestamp: at, Attempt: 1, Offset: ptr(int64(0)), Bytes: 5,
		Times: LogTimes{{Cols: 220, Rows: 50, At: 1763366400000}, {Ms: 12, Offset: 0}, {Ms: 70, Offset: 3, Cols: 80, Rows: 24}}},
	"log_chunk_bytes":        LogChunk{RunID: runID, Text: LogText("\ufffd"), Timestamp: at, Attempt: 2, Offset: ptr(int64(5)), Bytes: 1, Data: []byte{0xff}},
	"log_end":                LogEnd{RunID: runID, Attempt: 2, Bytes: 1 << 40},
	"run_unknown":            RunUnknown{Runs: []LiveRun{{runID, 2}}},
	"log_gone":               LogGone{RunID: runID, Attempt: 2},
	"screen_gone":            ScreenGone{RunID: runID, Attempt: 2},
	"keys_result":            KeysResult{RequestID: "r1", OK: true},
	"workspace_result":       WorkspaceResult{RequestID: "r1", Error: "not safe", Unsafe: []svc.UnsafeReason{svc.UnsafeRelay}},
	"keys_result_unknown":    KeysResult{RequestID: "r1", Error: "tmux did not answer", Unknown: true},
	"keys_result_refused":    KeysResult{RequestID: "r1", Error: "only letters"},
	"attach_data":            AttachData{AttachID: "a1", Bytes: []byte{0, 0xff, '\n'}},
	"attach_resized":         AttachResized{AttachID: "a1", Rows: 50, Cols: 220},
	"attach_closed":          AttachClosed{AttachID: "a1", Reason: "session ended"},
	"providers":              Providers{Providers: map[string]svc.ProviderReport{"provider_a": {Available: true, Version: "1.2"}, "provider_b": {Reason: "not on PATH"}}},
	"providers_conversation": Providers{Providers: map[string]svc.ProviderReport{"provider_a": {Available: true, Conversation: svc.ConversationMinted, Resumes: true}}},
	"orphan":                 Orphan{SessionName: "svc-6f1c0f5e", RunID: runID, Attempt: 1, Action: "stopped"},
	"orphan_unknown":         Orphan{SessionName: "svc-00000000", Action: "none"},
	"goodbye":                Goodbye{Reason: "the worker was told to end"},
	"goodbye_silent":         Goodbye{},
}

var downGolden = map[string]Frame{
	"heartbeat_ack":      HeartbeatAck{Timestamp: at},
	"run_dispatch_plain": RunDispatch{RunID: runID, TaskID: taskID, Provider: "provider_a", SessionName: "svc-6f1c0f5e", Attempt: 2},
	"run_dispatch": RunDispatch{RunID: runID, TaskID: taskID, Provider: "provider_a", SessionName: "svc-6f1c0f5e", Attempt: 2, Cwd: "/src",
		Prompt: "do <it>", Args: []string{"-v", ""}, Model: "m", Env: map[string]string{"A": "1"}, SignalToken: "svcr_x", ProjectSlug: "p"},
	"error":             Error{Code: CodeMalformed, Message: "frame has no type"},
	"run_stop":          RunStop{RunID: runID, Attempt: 2, Reason: "run is stopped"},
	"paste":             Paste{RequestID: "r1", RunID: runID, Attempt: 2, Text: "first\n\tsecond <line>"},
	"keys":              Keys{RequestID: "r1", RunID: runID, Attempt: 2, Keys: []string{"yes", "Enter"}},
	"attach_open":       AttachOpen{AttachID: "a1", RunID: runID, Attempt: 2, Rows: 50, Cols: 220},
	"attach_input":      AttachInput{AttachID: "a1", Bytes: []byte("ls\r")},
	"attach_resize":     AttachResize{AttachID: "a1", Rows: 24, Cols: 80},
	"attach_close":      AttachClose{AttachID: "a1"},
	"log_ack":           LogAck{RunID: runID, Attempt: 2, Offset: 1 << 40},
	"run_recall":        RunRecall{Runs: []LiveRun{{runID, 2}}},
	"log_read":          LogRead{RunID: runID, Attempt: 2},
	"log_ack_complete":  LogAck{RunID: runID, Attempt: 2, Offset: 7, Complete: true},
	"screen_ack":        ScreenAck{RunID: runID, Attempt: 2},
	"screen_read":       ScreenRead{RunID: runID, Attempt: 2},
	"goaway":            Goaway{Reason: "the orchestrator is shutting down", AfterMS: 1500},
	"workspace_request": WorkspaceRequest{RequestID: "r1", WorkspaceID: taskID, Do: WorkspaceRemove, Tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"},
	"run_dispatch_conversation": RunDispatch{RunID: runID, TaskID: taskID, Provider: "demo", SessionName: "svc-6f1c0f5e", Attempt: 2, Prompt: "go on",
		Conversation: &Conversation{ID: hostID, Resume: true}},
	"run_dispatch_workspace": RunDispatch{RunID: runID, TaskID: taskID, Provider: "demo", SessionName: "svc-6f1c0f5e", Attempt: 2, Cwd: "sub", Workspace: &Workspace{
		ID: hostID, Repo: "https://git.example/shop.git", Base: "main", Isolation: svc.IsolationClone, Setup: "make", SetupSeconds: 600, Branch: "svc/work-0190a6b2",
		Restore: &Restore{WorkspaceID: taskID, Checkpoint: 3, BaseCommit: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}}},
}

func TestFramesAreWrittenAndReadAsTheContractHasThem(t *testing.T) {
	t.Parallel()
	for direction, c := range map[string]struct {
		frames map[string]Frame
		decode func([]byte) (Frame, error)
	}{"up": {upGolden, DecodeUp}, "down": {downGolden, DecodeDown}} {
		for name, f := range c.frames {
			got, err := Encode(f)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(direction, name+".json"), got)
			back, err := c.decode(got)
			if err != nil {
				t.Errorf("%s is not read: %v", name, err)
				continue
			}
			if want := reflect.ValueOf(f); !reflect.DeepEqual(reflect.ValueOf(back).Elem().Interface(), want.Interface()) {
				t.Errorf("%s is read as %+v, want %+v", name, back, f)
			}
		}
	}
}

// golden compares with a golden file of the contract, in indented form.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	pretty.WriteByte('\n')
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if pretty.String() != string(want) {
		t.Errorf("%s is\n%s\nthe contract has\n%s", name, pretty.String(), want)
	}
}

func TestEveryFrameHasAGoldenFileAndNoFileIsLeftOver(t *testing.T) {
	t.Parallel()
	for direction, c := range map[string]struct {
		frames map[string]Frame
		known  map[string]func() Frame
	}{"up": {upGolden, upFrames}, "down": {downGolden, downFrames}} {
		types := map[string]bool{}
		for _, f := range c.frames {
			types[f.Type()] = true
		}
		for name, fresh := range c.known {
			if !types[name] || fresh().Type() != name {
				t.Errorf("%s frame %s (%s) has no golden file", direction, name, fresh().Type())
			}
		}
		files, err := filepath.Glob(filepath.Join("testdata", direction, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if _, ok := c.frames[strings.TrimSuffix(filepath.Base(f), ".json")]; !ok {
				t.Errorf("%s belongs to no frame", f)
			}
		}
	}
	if len(upFrames) != 18 || len(downFrames) != 17 {
		t.Errorf("%d frames go up and %d down", len(upFrames), len(downFrames))
	}
}

func TestUnknownFieldsOfAFrameAreIgnored(t *testing.T) {
	t.Parallel()
	for direction, c := range map[string]struct {
		frames map[string]Frame
		decode func([]byte) (Frame, error)
	}{"up": {upGolden, DecodeUp}, "down": {downGolden, DecodeDown}} {
		for name, f := range c.frames {
			b, err := Encode(f)
			if err != nil {
				t.Fatal(err)
			}
			more := append([]byte(`{"of_a_later_version":{"x":[1]},`), b[1:]...)
			back, err := c.decode(more)
			if err != nil {
				t.Errorf("%s %s with one more field: %v", direction, name, err)
				continue
			}
			if again, err := Encode(back); err != nil || string(again) != string(b) {
				t.Errorf("%s %s came back as %s (%v)", direction, name, again, err)
			}
		}
	}
}

// A frame without one of the named fields is malformed, and the error names the frame and the field.
func TestMissingFieldsAreNamed(t *testing.T) {
	t.Parallel()
	required := map[string]string{
		"heartbeat": "host_id instance_id", "run_dispatch_ack": "run_id attempt", "snapshot": "run_id", "signal_started": "run_id",
		"log_chunk": "run_id attempt", "log_chunk_plain": "run_id", "keys_result": "request_id", "attach_data": "attach_id",
		"attach_resized": "attach_id", "attach_closed": "attach_id", "orphan": "session_name",
		"run_dispatch": "run_id attempt", "run_stop": "run_id attempt", "keys": "run_id attempt", "attach_open": "attach_id run_id attempt",
		"attach_input": "attach_id", "attach_resize": "attach_id", "attach_close": "attach_id", "log_ack": "run_id attempt", "screen_ack": "run_id attempt", "snapshot_final": "run_id attempt",
	}
	for name, fields := range required {
		f, decode := upGolden[name], DecodeUp
		if f == nil {
			f, decode = downGolden[name], DecodeDown
		}
		b, err := Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range strings.Fields(fields) {
			var all map[string]json.RawMessage
			if err := json.Unmarshal(b, &all); err != nil {
				t.Fatal(err)
			}
			delete(all, field)
			less, _ := json.Marshal(all)
			_, err := decode(less)
			var bad *FrameError
			if !errors.As(err, &bad) || bad.Code != CodeMalformed || !strings.Contains(bad.Message, f.Type()) || !strings.Contains(bad.Message, field) {
				t.Errorf("%s without %s: %v", name, field, err)
			}
		}
	}
}

func TestBrokenFramesAreMalformed(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]string{
		``: CodeMalformed, `{`: CodeMalformed, `[]`: CodeMalformed, `null`: CodeMalformed, `{}`: CodeMalformed, `{"type":""}`: CodeMalformed,
		`{"type":7}`: CodeMalformed, `{"type":"heartbeat"} x`: CodeMalformed, "{\"type\":\"\xff\"}": CodeMalformed,
		`{"type":"heartbeat","host_id":7}`: CodeMalformed, `{"type":"log_chunk","run_id":"` + runID + `","attempt":1,"offset":-1}`: CodeMalformed,
		`{"type":"heartbeat","host_id":"` + strings.ToUpper(hostID) + `","instance_id":"` + taskID + `"}`:        CodeMalformed,
		`{"type":"heartbeat","host_id":"` + hostID + `","instance_id":"` + taskID + `","timestamp":"yesterday"}`: CodeMalformed,
		`{"type":"run_dispatch"}`: CodeUnknownFrame, `{"type":"new"}`: CodeUnknownFrame, `{"type":"` + strings.Repeat("x", 999) + `"}`: CodeUnknownFrame,
	} {
		f, err := DecodeUp([]byte(text))
		var bad *FrameError
		if !errors.As(err, &bad) || bad.Code != code || len(bad.Message) > 300 {
			t.Errorf("%.60q: %v, %v", text, f, err)
		}
	}
	if _, err := DecodeDown([]byte(`{"type":"heartbeat"}`)); err == nil {
		t.Error("a frame that goes up is read as one that goes down")
	}
}

func TestSharedCapabilities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ announced, want []string }{
		{nil, []string{}},
		{[]string{"keys", "stop", "keys", "teleport"}, []string{"stop", "keys"}},
		{Capabilities, Capabilities},
	} {
		if got := Shared(c.announced); got == nil || !slices.Equal(got, c.want) {
			t.Errorf("of %v %v is shared", c.announced, got)
		}
	}
}

func TestRegistrationContract(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"register.json":       Registration{HostName: "h", Platform: "linux/amd64", InstanceID: taskID, Capabilities: Capabilities, Version: "v1"},
		"register_plain.json": Registration{HostName: "h", Platform: "linux/amd64", InstanceID: taskID},
		"registered.json":     Registered{HostID: hostID, Status: svc.HostOnline, Capabilities: []string{"stop"}},
	} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, b)
	}
}

func TestRawOfALogChunk(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]LogChunk{"text": {Text: LogText("text")}, "\xff": {Text: LogText("\ufffd"), Data: []byte{0xff}}, "": {}} {
		if got := string(c.Raw()); got != want {
			t.Errorf("raw is %q, want %q", got, want)
		}
	}
}

// recode decodes, encodes and decodes again: an accepted frame must not change.
func recode(t *testing.T, b []byte, decode func([]byte) (Frame, error)) {
	f, err := decode(b)
	if err != nil {
		var bad *FrameError
		if !errors.As(err, &bad) || bad.Code == "" || bad.Message == "" {
			t.Fatalf("refused with %v", err)
		}
		return
	}
	first, err := Encode(f)
	if err != nil {
		t.Fatalf("what was accepted is not encoded: %v", err)
	}
	again, err := decode(first)
	if err != nil {
		t.Fatalf("%s is not accepted again: %v", first, err)
	}
	second, err := Encode(again)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%s became %s (%v)", first, second, err)
	}
}

func seeds(f *testing.F, frames map[string]Frame) {
	for _, name := range slices.Sorted(maps.Keys(frames)) {
		b, err := Encode(frames[name])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// FuzzDecodeUp searches for frames of a worker that change when they are encoded and decoded again.
func FuzzDecodeUp(f *testing.F) {
	seeds(f, upGolden)
	f.Fuzz(func(t *testing.T, b []byte) { recode(t, b, DecodeUp) })
}

// FuzzDecodeDown searches for frames of the orchestrator that change when they are encoded and decoded again.
func FuzzDecodeDown(f *testing.F) {
	seeds(f, downGolden)
	f.Fuzz(func(t *testing.T, b []byte) { recode(t, b, DecodeDown) })
}
