package worker

import (
	"net/http"
	"slices"
	"testing"

	"svc/wire"
)

// arrivalsOf returns what the orchestrator has seen of the worker's connections.
func arrivalsOf(o *orchestrator) []string {
	return slices.DeleteFunc(o.history(), func(what string) bool { return what != "register" && what != "uplink" && what != "refusal" })
}

func TestAWorkerThatLostItsConnectionConnectsAgainWithoutARegistration(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.o.set(func(o *orchestrator) { o.challenge = "of the first heartbeat" })
	l.start()
	l.wait("an answered heartbeat", func() bool { return l.w.canResume() })
	l.o.cut()
	l.wait("the next connection", func() bool { return l.o.count("uplink") == 2 })
	if got := arrivalsOf(l.o); !slices.Equal(got, []string{"register", "uplink", "uplink"}) {
		t.Errorf("the worker connected by %q, want one registration", got)
	}
	if got := l.o.header(wire.HeaderChallenge); got != "of the first heartbeat" {
		t.Errorf("it signed the challenge %q, want that of its last connection", got)
	}
	l.wait("an inventory", func() bool {
		beats := framesOf[*wire.Heartbeat](l.o)
		return len(beats) > 1 && beats[len(beats)-1].Runs != nil
	})
}

func TestAWorkerRegistersWhenItCannotConnectWithoutIt(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(*orchestrator)
		want   []string
	}{
		"the challenge is not accepted": {func(o *orchestrator) { o.refuses = http.StatusUnauthorized },
			[]string{"register", "uplink", "refusal", "register", "uplink"}},
		"the host was deleted": {func(o *orchestrator) { o.refuses = http.StatusNotFound },
			[]string{"register", "uplink", "refusal", "register", "uplink"}},
		"the orchestrator is an older version now": {func(o *orchestrator) { o.silentCap = true },
			[]string{"register", "uplink", "uplink", "register", "uplink"}},
		"the orchestrator sent no challenge": {func(o *orchestrator) { o.challenge = "" },
			[]string{"register", "uplink", "register", "uplink"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.o.set(func(o *orchestrator) { o.challenge = "c" })
			if c.want[2] == "register" {
				l.o.set(c.change)
			}
			l.start()
			l.wait("an answered heartbeat", func() bool { return l.w.canResume() || c.want[2] == "register" && l.o.count("heartbeat") > 0 })
			l.o.set(c.change)
			l.o.cut()
			l.wait("the next registration", func() bool { return l.o.count("register") == 2 })
			l.wait("the next connection", func() bool { return len(arrivalsOf(l.o)) >= len(c.want) })
			if got := arrivalsOf(l.o); !slices.Equal(got, c.want) {
				t.Errorf("the worker connected by %q, want %q", got, c.want)
			}
		})
	}
}

func TestAWorkerThatIsToldToTryAgainDoesNotRegister(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.o.set(func(o *orchestrator) { o.challenge = "c" })
	l.start()
	l.wait("an answered heartbeat", func() bool { return l.w.canResume() })
	l.o.set(func(o *orchestrator) { o.refuses = http.StatusServiceUnavailable })
	l.o.cut()
	l.wait("refusals", func() bool { return l.o.count("refusal") > 1 })
	l.o.set(func(o *orchestrator) { o.refuses = 0 })
	l.wait("the next connection", func() bool { return l.o.count("uplink") == 2 })
	if n := l.o.count("register"); n != 1 {
		t.Errorf("the worker registered %d times, want once", n)
	}
}

// canResume reports whether the worker needs no registration for its next connection.
func (w *Worker) canResume() bool {
	_, ok := w.resumes()
	return ok
}
