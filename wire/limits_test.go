package wire

import (
	"fmt"
	"strings"
	"testing"

	"svc"
)

// TestFramesOfAWorkerAreBounded decodes frames with a field that exceeds its limit.
func TestFramesOfAWorkerAreBounded(t *testing.T) {
	t.Parallel()
	run, long := svc.NewRunID(), strings.Repeat("x", 64<<10)
	many := make([]LiveRun, MaxSessions+1)
	for i := range many {
		many[i] = LiveRun{run, 1}
	}
	catalog := map[string]svc.ProviderReport{}
	for i := range MaxProviders + 1 {
		catalog[fmt.Sprint(i)] = svc.ProviderReport{}
	}
	for _, f := range []Frame{
		Heartbeat{HostID: run, InstanceID: run, Runs: &many},
		Heartbeat{HostID: run, InstanceID: run, Refusing: &svc.HostRefusal{Code: long}},
		RunUnknown{Runs: many},
		Snapshot{RunID: run, Capture: strings.Repeat("x", MaxCapture+1)},
		KeysResult{RequestID: long},
		AttachData{AttachID: long}, AttachResized{AttachID: long}, AttachClosed{AttachID: long},
		Providers{Providers: catalog},
		Providers{Providers: map[string]svc.ProviderReport{long: {}}},
		WorkspaceResult{RequestID: "r", Unsafe: []svc.UnsafeReason{svc.UnsafeReason(long)}},
		Orphan{SessionName: long}, Orphan{SessionName: "s", RunID: long, Attempt: 1},
	} {
		b, err := Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeUp(b); err == nil {
			t.Errorf("a %s frame of %d bytes was taken", f.Type(), len(b))
		}
	}
	for _, f := range []Frame{
		RunDispatchAck{RunID: run, Attempt: 1, Reason: long}, KeysResult{RequestID: "r", Error: long}, AttachClosed{AttachID: "a", Reason: long},
		RunHint{RunID: run, Attempt: 1, Hint: long}, Goodbye{Reason: long},
		Heartbeat{HostID: run, InstanceID: run, Refusing: &svc.HostRefusal{Message: long}},
		Providers{Providers: map[string]svc.ProviderReport{"p": {Version: long, Reason: long}}},
	} {
		b, err := Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeUp(b)
		if err != nil {
			t.Errorf("a %s frame with long prose was refused: %v", f.Type(), err)
			continue
		}
		if kept, _ := Encode(got); len(kept) > MaxText+512 || !strings.Contains(string(kept), "cut; it had 65536 bytes") {
			t.Errorf("a %s frame kept %d bytes", f.Type(), len(kept))
		}
	}
}

func TestASignalsProseIsCut(t *testing.T) {
	t.Parallel()
	body := fmt.Sprintf(`{"kind":"progress","attempt":1,"seq":1,"source":"provider-hook","payload":{"message":%q},"timestamp":"2030-01-02T03:04:05Z"}`, strings.Repeat("ä", 32<<10))
	s, err := ParseSignal(svc.NewRunID(), []byte(body))
	if err != nil || len(s.Message) > 2<<10 || !strings.HasSuffix(s.Message, "(cut; it had 65536 bytes)") {
		t.Errorf("kept %d bytes (%v)", len(s.Message), err)
	}
}

func FuzzIdentity(f *testing.F) {
	f.Add("", "", "")
	f.Add(svc.NewID(), svc.NewID(), svc.NewID())
	f.Fuzz(func(t *testing.T, host, instance, boot string) {
		if (Identity{host, instance, boot}).Check() == nil && len(host)+len(instance)+len(boot) > 3*MaxName {
			t.Errorf("%d bytes were taken", len(host)+len(instance)+len(boot))
		}
	})
}
