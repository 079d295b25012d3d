package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// withLateTool is a lab whose catalog has a tool that is not installed yet.
func withLateTool(t *testing.T) (l *lab, install func()) {
	t.Helper()
	l = newLab(t)
	bin := filepath.Join(string(l.dir), "late-tool")
	text := catalog + "\n[providers.late]\nbin = \"" + bin + "\"\nargv_template = [\"-c\", \"{prompt}\"]\n"
	if err := os.WriteFile(l.cfg.CatalogPath, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return l, func() {
		if err := os.Symlink("/bin/true", bin); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *lab) reported(id string) svc.ProviderReport {
	all := framesOf[*wire.Providers](l.o)
	if len(all) == 0 {
		return svc.ProviderReport{Reason: "not reported yet"}
	}
	return all[len(all)-1].Providers[id]
}

func TestAToolThatWasNotThereIsLookedForAgain(t *testing.T) {
	t.Parallel()
	l, install := withLateTool(t)
	l.start()
	l.wait("the first report", func() bool { return l.o.count("providers") > 0 })
	if l.reported("late").Available {
		t.Fatal("a tool that is not there is available")
	}
	install()
	l.wait("the tool to be available", func() bool { return l.reported("late").Available })
	if !l.reported("shell").Available {
		t.Error("the second look lost what the first one found")
	}
}

// The tool needs more than half a second; the first probes allow it less, as on a busy machine.
func TestAToolThatDidNotAnswerInTimeIsGivenMore(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	text := catalog + "\n[providers.slow]\nbin = \"/bin/sh\"\ninstalled_detection = [\"-c\", \"sleep 0.5; echo 1.0\"]\n"
	if err := os.WriteFile(l.cfg.CatalogPath, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.opts.ProbeLimit = 10 * time.Millisecond
	l.start()
	l.wait("the report that it did not answer", func() bool { return strings.Contains(l.reported("slow").Reason, "did not answer within") })
	l.wait("the tool to be available", func() bool { return l.reported("slow").Available })
}

func TestAToolThatThereIsAPresetForIsTold(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	bin := t.TempDir()
	for _, name := range []string{"qwen", "goose"} {
		if err := os.Symlink("/bin/true", filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	text := catalog + "\n[providers.my-goose]\nbin = \"goose\"\n"
	if err := os.WriteFile(l.cfg.CatalogPath, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.opts.Environ = append(l.opts.Environ, "PATH="+bin)
	l.start()
	l.wait("the first report", func() bool { return l.o.count("providers") > 0 })
	if got := l.reported("qwen"); !got.Preset || got.Available || !strings.Contains(got.Reason, "svc provider add qwen") {
		t.Errorf("a tool that the catalog lacks is reported as %+v", got)
	}
	if got := l.reported("goose"); got.Preset {
		t.Error("a tool that the catalog has under another id is offered")
	}
}

func TestToolsAreLookedForAgainOnRequest(t *testing.T) {
	t.Parallel()
	l, install := withLateTool(t)
	l.opts.ProbeAgain = time.Hour
	l.start()
	l.wait("the first report", func() bool { return l.o.count("providers") > 0 })
	install()
	if err := l.dir.AskProbe(); err != nil {
		t.Fatal(err)
	}
	l.wait("the tool to be available", func() bool { return l.reported("late").Available })
}

func TestAStartThatContradictsTheReportMakesItTrueAgain(t *testing.T) {
	t.Parallel()
	l, install := withLateTool(t)
	l.opts.ProbeAgain = time.Hour
	l.start()
	l.wait("the first report", func() bool { return l.o.count("providers") > 0 })
	install()
	run := svc.NewRunID()
	l.o.send(&wire.RunDispatch{RunID: run, TaskID: svc.NewID(), Provider: "late", SessionName: svc.SessionName(run), Attempt: 1, SignalToken: "run-token"})
	l.finished(run, 1)
	l.wait("the tool to be available", func() bool { return l.reported("late").Available })
}
