package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/internal/textbuffer"
	"svc/provider"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

func TestTheSpoolIsReplayedInOrderBeforeTheFirstHeartbeat(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if _, err := rundir.Open(string(l.dir)); err != nil {
		t.Fatal(err)
	}
	run := svc.NewRunID()
	for _, s := range []svc.Signal{
		{Kind: svc.SignalStarted, Source: svc.FromWrapper},
		{Kind: svc.SignalProgress, Source: svc.FromHook, Message: "half"},
		{Kind: svc.SignalProgress, Source: svc.FromHook, Message: "more"},
		{Kind: svc.SignalFinished, Source: svc.FromWrapper, ExitCode: 2},
	} {
		s.RunID, s.Attempt, s.Timestamp = run, 3, svc.TimeOf(time.Now())
		if _, err := l.dir.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	l.start()
	want := []string{"signal started", "signal progress", "signal progress", "signal finished", "heartbeat"}
	got := slices.DeleteFunc(l.o.history(), func(h string) bool { return h == "register" || h == "uplink" })
	if got = got[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("history begins %v, want %v", got, want)
	}
	progress := l.o.signalsOf(run, 3, svc.SignalProgress)
	if progress[0].Message != "half" || progress[0].Seq >= progress[1].Seq {
		t.Errorf("progress %+v, want it in order with its numbers", progress)
	}
	entries, _, err := l.dir.Pending()
	if err != nil || len(entries) != 0 {
		t.Errorf("pending %v, %v; want none", entries, err)
	}
}

func TestASignalStaysUntilItWasTakenOrRefusedForGood(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	good, bad := svc.NewRunID(), svc.NewRunID()
	var fails atomic.Int32
	l.o.set(func(o *orchestrator) {
		o.answer = func(s svc.Signal) int {
			switch {
			case s.RunID == bad:
				return http.StatusConflict
			case fails.Add(1) <= 2:
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		}
	})
	l.start()
	for _, run := range []string{good, bad} {
		_, err := l.dir.Put(svc.Signal{RunID: run, Attempt: 1, Kind: svc.SignalStarted, Source: svc.FromWrapper, Timestamp: 1})
		if err != nil {
			t.Fatal(err)
		}
	}
	l.started(good, 1)
	l.wait("the refused signal to be set aside", func() bool {
		aside, err := os.ReadDir(l.dir.SpoolPath() + "/bad")
		return err == nil && len(aside) == 1 && strings.HasPrefix(aside[0].Name(), bad)
	})
	l.wait("an empty spool", func() bool {
		entries, _, err := l.dir.Pending()
		return err == nil && len(entries) == 0
	})
}

func TestTheLogArrivesByteForByteThroughCutsAndLostAcks(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.o.set(func(o *orchestrator) { o.cutEvery = 4 })
	l.start()
	file := string(l.dir) + "/binary"
	var noise []byte
	for i := range 300_000 {
		noise = append(noise, byte(i*7%251))
	}
	noise = append(noise, []byte(strings.Repeat("grüße, 世界 🌍\n", 5000))...)
	if err := os.WriteFile(file, noise, 0o600); err != nil {
		t.Fatal(err)
	}
	run := svc.NewRunID()
	l.dispatch(run, 1, `stty raw -echo; cat `+file+`; sleep 0.3`)
	l.finished(run, 1)
	l.cleared(run, 1)
	record, err := os.ReadFile(l.dir.LogPath(run))
	if err != nil {
		t.Fatal(err)
	}
	got := l.o.log(run, 1)
	if sha256.Sum256([]byte(got)) != sha256.Sum256(record) {
		t.Errorf("relayed %d bytes that differ from the record's %d", len(got), len(record))
	}
	if len(record) < len(noise) {
		t.Errorf("record has %d bytes, want the %d that were written", len(record), len(noise))
	}
	if l.o.count("uplink") < 3 {
		t.Errorf("%d connections, want several: nothing was cut", l.o.count("uplink"))
	}
}

func TestFinishedWaitsForTheLogBeforeIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.LogHold = time.Hour
	l.o.set(func(o *orchestrator) { o.logStopped = true })
	l.start()
	run := l.begin(`echo output; exit 0`)
	l.wait("the end in the spool", func() bool {
		_, err := l.dir.Attempt(run, 1).ReadExit()
		return err == nil
	})
	beats := l.o.count("heartbeat")
	l.wait("some time", func() bool { return l.o.count("heartbeat") > beats+4 })
	if n := len(l.o.signalsOf(run, 1, svc.SignalFinished)); n != 0 {
		t.Fatal("finished overtook its log")
	}
	l.o.set(func(o *orchestrator) { o.logStopped = false })
	l.finished(run, 1)
	if !strings.Contains(l.o.log(run, 1), "output") {
		t.Error("finished came without its log")
	}
}

func TestFinishedDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.LogHold = 500 * time.Millisecond
	l.o.set(func(o *orchestrator) { o.mute = true })
	l.start()
	run := l.begin(`echo output; exit 0`)
	l.finished(run, 1)
}

func TestAPlainPeerGetsTheLogOnceAndNothingItDoesNotKnow(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.o.set(func(o *orchestrator) { o.caps = nil })
	l.start()
	run := l.begin(`echo plain; read line`)
	l.wait("the log", func() bool { return strings.Contains(l.o.log(run, 1), "plain") })
	l.o.cut()
	l.wait("the next connection", func() bool { return l.o.count("uplink") == 2 })
	beats := l.o.count("heartbeat")
	l.wait("heartbeats", func() bool { return l.o.count("heartbeat") > beats+2 })
	if got := l.o.log(run, 1); strings.Count(got, "plain") != 1 {
		t.Errorf("log %q, want it once", got)
	}
	for _, chunk := range framesOf[*wire.LogChunk](l.o) {
		if chunk.Offset != nil {
			t.Errorf("chunk %+v has an offset", chunk)
		}
	}
	for _, beat := range framesOf[*wire.Heartbeat](l.o) {
		if beat.Runs != nil {
			t.Errorf("heartbeat %+v has an inventory", beat)
		}
	}
	if n := len(framesOf[*wire.Providers](l.o)); n != 0 {
		t.Errorf("%d providers frames, want none", n)
	}
}

func TestAConnectionThatDoesNotAnswerIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, _ := wire.Pipe()
		link := newLink(conn, nil)
		beats := 0
		began := time.Now()
		_, err := link.beat(t.Context(), 30*time.Second, func() {
			if beats++; beats == 2 {
				link.acked <- struct{}{}
			}
		})
		if !errors.Is(err, errSilent) {
			t.Errorf("beat = %v, want errSilent", err)
		}
		if took := time.Since(began); took != 90*time.Second {
			t.Errorf("dropped after %s, want two intervals after the answer at 30 s", took)
		}
	})
}

func TestAShortIntervalDoesNotMakeTheWorkerImpatient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, _ := wire.Pipe()
		began := time.Now()
		_, err := newLink(conn, nil).beat(t.Context(), time.Second, func() {})
		if took := time.Since(began); !errors.Is(err, errSilent) || took != minSilence {
			t.Errorf("beat = %v after %s, want errSilent after %s", err, took, minSilence)
		}
	})
}

// bareWorker is a worker without a host, sufficient to hold connections.
func bareWorker(t *testing.T, random float64) *Worker {
	w := &Worker{log: quietLogger(&textbuffer.Buffer{}), instanceID: svc.NewID(), sessions: map[key]*session{}, attaches: map[string]*attach{}, registry: &provider.Registry{}}
	w.opts = Options{Config: configOf(30 * time.Second), Random: func() float64 { return random }, Now: time.Now}
	w.dir = rundir.Dir(t.TempDir())
	w.spool = newSpooler(w)
	return w
}

func TestReconnectingWaitsLongerEachTimeAndStartsAfreshAfterASuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := bareWorker(t, 0.999)
		var tries []time.Time
		ctx, cancel := context.WithCancel(t.Context())
		w.dial = func(context.Context) (wire.Conn, wire.Registered, error) {
			tries = append(tries, time.Now())
			switch len(tries) {
			case 10:
				ours, theirs := wire.Pipe()
				go answerOneHeartbeat(ctx, theirs)
				return ours, wire.Registered{HostID: svc.NewID()}, nil
			case 12:
				cancel()
			}
			return nil, wire.Registered{}, errors.New("unreachable")
		}
		w.keepConnected(ctx)
		var waits []time.Duration
		for i := 1; i < len(tries); i++ {
			waits = append(waits, tries[i].Sub(tries[i-1]).Round(100*time.Millisecond))
		}
		second := time.Second
		want := []time.Duration{second / 2, second, 2 * second, 4 * second, 8 * second, backoffMost, backoffMost, backoffMost, backoffMost, second / 2, second}
		if !slices.Equal(waits, want) {
			t.Errorf("waits %v, want %v", waits, want)
		}
	})
}

func TestAHalfOpenConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := bareWorker(t, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var opened []time.Time
		w.dial = func(context.Context) (wire.Conn, wire.Registered, error) {
			opened = append(opened, time.Now())
			if len(opened) == 2 {
				cancel()
			}
			ours, theirs := wire.Pipe()
			go func() { // it reads everything and answers nothing
				for {
					if _, err := theirs.Read(context.Background()); err != nil {
						return
					}
				}
			}()
			return ours, wire.Registered{HostID: svc.NewID()}, nil
		}
		w.keepConnected(ctx)
		if len(opened) != 2 || opened[1].Sub(opened[0]) != time.Minute {
			t.Errorf("connections opened at %v, want the second a minute after the first", opened)
		}
	})
}

func TestAWorkerThatIsSentAwayComesBackWhenItWasTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, log := bareWorker(t, 0.999), &textbuffer.Buffer{}
		w.log = quietLogger(log)
		ctx, cancel := context.WithCancel(t.Context())
		var tries []time.Time
		away := func(after time.Duration, answers bool) (wire.Conn, wire.Registered, error) {
			ours, theirs := wire.Pipe()
			go sendAway(ctx, theirs, after, answers)
			return ours, wire.Registered{HostID: svc.NewID()}, nil
		}
		w.dial = func(context.Context) (wire.Conn, wire.Registered, error) {
			tries = append(tries, time.Now())
			switch len(tries) {
			case 1:
				return away(1500*time.Millisecond, true)
			case 2:
				return away(time.Hour, true)
			case 3:
				return away(0, true)
			case 4:
				return away(0, false) // no heartbeat was answered: back-off
			}
			cancel()
			return nil, wire.Registered{}, errors.New("unreachable")
		}
		w.keepConnected(ctx)
		var waits []time.Duration
		for i := 1; i < len(tries); i++ {
			waits = append(waits, tries[i].Sub(tries[i-1]).Round(100*time.Millisecond))
		}
		if want := []time.Duration{1500 * time.Millisecond, goawayMost, 0, backoffFirst}; !slices.Equal(waits, want) {
			t.Errorf("waits %v, want %v", waits, want)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings, want one, of the last:\n%s", n, log)
		}
	})
}

// A crowded orchestrator tells when it is the worker's turn. That is no failure, and a bad answer is no reason to stay away.
func TestAWorkerWaitsForItsTurnAtACrowdedOrchestrator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := bareWorker(t, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var tries []time.Time
		turns := []time.Duration{3 * time.Second, 20 * time.Second, time.Hour, 0}
		w.dial = func(context.Context) (wire.Conn, wire.Registered, error) {
			tries = append(tries, time.Now())
			if len(tries) > len(turns) {
				cancel()
				return nil, wire.Registered{}, errors.New("unreachable")
			}
			body := fmt.Sprintf(`{"error":{"code":"unavailable","message":"crowded","details":{"retry_in_ms":%d}}}`, turns[len(tries)-1].Milliseconds())
			return nil, wire.Registered{}, fmt.Errorf("open uplink: %w", refusal(&http.Response{
				StatusCode: http.StatusServiceUnavailable, Body: io.NopCloser(strings.NewReader(body)),
			}))
		}
		w.keepConnected(ctx)
		var waits []time.Duration
		for i := 1; i < len(tries); i++ {
			waits = append(waits, tries[i].Sub(tries[i-1]))
		}
		if want := []time.Duration{3 * time.Second, 20 * time.Second, refusedMost, 0}; !slices.Equal(waits, want) {
			t.Errorf("waits %v, want %v", waits, want)
		}
	})
}

// sendAway is an orchestrator that ends the connection with a goaway; with answers, after it has answered the
// first heartbeat.
func sendAway(ctx context.Context, conn wire.Conn, after time.Duration, answers bool) {
	if answers {
		if _, err := conn.Read(ctx); err != nil {
			return
		}
		ack, _ := wire.Encode(wire.HeartbeatAck{Timestamp: 1})
		_ = conn.Write(ctx, ack)
		synctest.Wait()
	}
	away, _ := wire.Encode(wire.Goaway{Reason: "restart", AfterMS: after.Milliseconds()})
	_ = conn.Write(ctx, away)
	_, _ = conn.Read(ctx) // until the worker closes
}

// answerOneHeartbeat is an orchestrator that disconnects after the first heartbeat.
func answerOneHeartbeat(ctx context.Context, conn wire.Conn) {
	if _, err := conn.Read(ctx); err != nil {
		return
	}
	ack, _ := wire.Encode(wire.HeartbeatAck{Timestamp: 1})
	_ = conn.Write(ctx, ack)
	synctest.Wait()
	_ = conn.Close("gone")
}

func TestARefusedTokenAndAnUnknownHostAreExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, token, host, want string
	}{
		{"wrong token", "wrong", "lab", "host_token"},
		{"unknown host", testToken, "elsewhere", "svc host create elsewhere"},
	} {
		l := newLab(t)
		l.opts.Token = secret(c.token)
		l.cfg.Worker.HostName = c.host
		w, err := New(l.opts)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		l.wait(c.name+" to be explained", func() bool { return strings.Contains(l.logs.String(), c.want) })
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%s: Run = %v", c.name, err)
		}
	}
}

func TestTheProvidersAreReportedAndReportedAgainAfterAChange(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	last := func() map[string]svc.ProviderReport {
		all := framesOf[*wire.Providers](l.o)
		if len(all) == 0 {
			return nil
		}
		return all[len(all)-1].Providers
	}
	l.wait("the report", func() bool { return last() != nil })
	if got := last(); !got["shell"].Available || got["shell"].Version != "shell 1" || got["absent"].Available || got["absent"].Reason == "" {
		t.Errorf("providers %+v", got)
	}
	more := catalog + "\n[providers.more]\nbin = \"/bin/true\"\n"
	if err := os.WriteFile(l.cfg.CatalogPath, []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	l.wait("the new provider", func() bool { return last()["more"].Available })
}

func TestASessionThatNoRecordKnowsIsReportedOnceAndLeftAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	server := tmux.Server{Socket: l.runtime + "/0badcafe"}
	made, err := server.Start(t.Context(), tmux.Spec{Name: "svc-0badcafe", Argv: []string{"sleep", "600"}, Dir: string(l.dir)})
	if err != nil {
		t.Fatal(err)
	}
	l.wait("the report", func() bool { return len(framesOf[*wire.Orphan](l.o)) > 0 })
	beats := l.o.count("heartbeat")
	l.wait("more rounds", func() bool { return l.o.count("heartbeat") > beats+5 })
	orphans := framesOf[*wire.Orphan](l.o)
	if len(orphans) != 1 || *orphans[0] != (wire.Orphan{SessionName: "svc-0badcafe", Action: "none"}) {
		t.Errorf("orphans %+v, want one without action", orphans)
	}
	if alive, err := made.Process.Alive(); err != nil || !alive {
		t.Errorf("the stranger was touched: alive %v, %v", alive, err)
	}
}
