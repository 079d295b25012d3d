package live

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"svc"
	"svc/internal/proctest"
)

func TestTheLogHasEveryByteTheTerminalGot(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	for range shortOrLong(1, 20) {
		for name, scene := range scenes {
			id := s.run(program("write", name, ""))
			if r := s.awaitEnd(id); r.Status != svc.RunExited {
				t.Errorf("%s: the run is %s", name, r.Status)
			}
			s.wantLog(id, scene.terminal())
			if t.Failed() {
				t.Fatalf("this was the scene %q", name)
			}
		}
	}
}

func TestTheLogHasEveryByteAfterWorkerAndOrchestratorWereKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	for round := range shortOrLong(1, 10) {
		gates, runs := map[string]string{}, map[string]string{}
		for name := range scenes {
			gates[name] = s.lab.Path("gate", strconv.Itoa(round), strings.ReplaceAll(name, " ", "-"))
			runs[name] = s.run(program("write", name, gates[name]))
		}
		s.o.Kill()
		s.w.Kill()
		for name := range scenes { // the programs continue to write while worker and orchestrator are down
			s.open(gates[name])
		}
		s.o.Start()
		s.w.Launch()
		for name, scene := range scenes {
			s.awaitEnd(runs[name])
			s.wantLog(runs[name], scene.terminal())
			if t.Failed() {
				t.Fatalf("this was the scene %q", name)
			}
		}
	}
}

// TestTheLogOfAnEditorAndAPagerIsWhatTheyWrote runs programs whose output is not known in advance.
// Each runs in a second terminal inside the first. copyProgram stores a copy of its output, with which
// the log is compared.
func TestTheLogOfAnEditorAndAPagerIsWhatTheyWrote(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	text := s.lab.Path("text")
	s.lab.Write(text, string(manyLines()[:20_000])+"漢字 é\t\x01\x1b[31m\n")
	typed := s.lab.Path("typed")
	s.lab.Write(typed, "Gohello 漢字\x1b:1\rdd:%s/line/LINE/g\r:vsplit\rGgg:qa!\r")
	for _, argv := range [][]string{
		{"vim", "-u", "NONE", "-N", "-n", "-i", "NONE", "-s", typed, text},
		{"less", "-R", text},
	} {
		if _, err := exec.LookPath(argv[0]); err != nil {
			t.Logf("%s is not installed; its test is skipped", argv[0])
			continue
		}
		witness := s.lab.Path("witness-" + argv[0])
		id := s.run("TERM=xterm-256color "+program("copy", append([]string{witness}, argv...)...), withProvider("full"))
		if argv[0] == "less" {
			s.awaitLog(id, "line 0 of many")
			for _, keys := range []string{"G", "g", "d", "q"} {
				if err := s.client.SendKeys(t.Context(), id, []string{keys}); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.awaitEnd(id)
		want, err := os.ReadFile(witness)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) < 1000 || !bytes.Contains(want, []byte("\x1b[")) {
			t.Fatalf("%s wrote only %d bytes", argv[0], len(want))
		}
		s.wantLog(id, want)
	}
}

func TestALogAtItsBoundSaysSoOnceAndTheRunGoesOn(t *testing.T) {
	t.Parallel()
	const bound = 200_000
	s := newSite(t, proctest.WorkerOptions{Config: "max_log_bytes = " + strconv.Itoa(bound)})
	id := s.run(strings.Replace(program("write", "many lines", ""), "exec ", "", 1) +
		"; echo out of the log; exit 4")
	if r := s.awaitEnd(id); r.ExitCode == nil || *r.ExitCode != 4 {
		t.Errorf("the run is %s with exit code %v, want 4", r.Status, r.ExitCode)
	}
	const notice = "\r\n[svc: the log ends here at 200000 bytes, [worker] max_log_bytes; the run goes on]\r\n"
	s.wantLog(id, append(scenes["many lines"].terminal()[:bound:bound], notice...))
	pane, err := s.client.Pane(t.Context(), id)
	if err != nil || !strings.Contains(pane.Capture, "out of the log") {
		t.Errorf("the last screen does not show what came after the bound: %v", err)
	}
}
