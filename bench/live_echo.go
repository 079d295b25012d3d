package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coder/websocket"

	"svc/process"
	"svc/tmux"
)

const (
	echoTurns = 10                     // short, so that other load on the machine affects silence and flood alike
	echoKeys  = 60                     // of each kind in a turn
	echoPause = 120 * time.Millisecond // longer than the pause between two frames
	echoChars = "qwyzopQWYZ"           // none of which ends an escape sequence
)

// echo measures the time from a key press to the echo of the program, through the browser's socket, the orchestrator,
// the uplink, the worker and tmux. It compares this with a terminal with "tmux attach" in this process, first in
// silence, then while another run of the same worker writes 10 MB/s.
func echo(ctx context.Context, r *report) (err error) {
	s, err := newLiveSite(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(context.WithoutCancel(ctx))) }()
	loud := filepath.Join(s.dir, "loud")
	ids, err := s.start(ctx, []string{"live-echo"}, []string{"live-flood", loud})
	if err != nil {
		return err
	}
	ours, err := openSocketKeys(ctx, s.url, userToken, ids[0])
	if err != nil {
		return err
	}
	defer ours.close()
	bare, err := openBareKeys(ctx, s.dir)
	if err != nil {
		return err
	}
	defer bare.close()
	var bareAll, quiet, flood []time.Duration
	var bareMoved []float64
	var loudFor time.Duration
	for range echoTurns {
		b, q, err := echoTurn(ctx, bare, ours)
		if err != nil {
			return err
		}
		if err := touch(loud, true); err != nil {
			return err
		}
		began := time.Now()
		bf, f, err := echoTurn(ctx, bare, ours)
		loudFor += time.Since(began)
		if err = errors.Join(err, touch(loud, false)); err != nil {
			return err
		}
		bareAll, quiet, flood = append(bareAll, b...), append(quiet, q...), append(flood, f...)
		bareMoved = append(bareMoved, ms(percentile(bf, 0.99))/ms(percentile(b, 0.99)))
		r.note("bare p50 %s p99 %s, quiet p50 %s p99 %s, flood p50 %s p99 %s", median(b), percentile(b, 0.99), median(q), percentile(q, 0.99),
			median(f), percentile(f, 0.99))
		if err := rest(ctx, 2*time.Second); err != nil { // until the flood's log is relayed completely
			return err
		}
	}
	wrote, err := os.Stat(filepath.Join(s.dir, "w", "runs", ids[1]+".log"))
	if err != nil {
		return err
	}
	r.info("output of the other run", "%s MB/s", figure(float64(wrote.Size())/1e6/loudFor.Seconds()))
	r.info("echo of a bare tmux attach, p50", "%s ms", figure(ms(median(bareAll))))
	r.info("echo through browser socket and uplink, p50", "%s ms", figure(ms(median(quiet))))
	r.info("the same, p99 of all keys, quiet", "%s ms", figure(ms(percentile(quiet, 0.99))))
	r.info("the same, p99 of all keys, beside 10 MB/s", "%s ms", figure(ms(percentile(flood, 0.99))))
	r.info("p99 of the bare tmux attach beside 10 MB/s, relative to quiet", "%s×", figure(median(bareMoved)))
	r.atMost("echo p50, relative to the bare tmux attach", ms(median(quiet))/ms(median(bareAll)), 4, "×")
	r.atMost("echo p99 beside 10 MB/s, relative to quiet", ms(percentile(flood, 0.99))/ms(percentile(quiet, 0.99)), 3, "×")
	return nil
}

// keys is a terminal with input, and with the output that it draws.
type keys interface {
	press(ctx context.Context, c byte) error
	draws() <-chan []byte
}

// echoTurn types each key into both terminals, one after the other, and measures each.
func echoTurn(ctx context.Context, bare, ours keys) (b, o []time.Duration, err error) {
	for i := range echoKeys {
		c := echoChars[i%len(echoChars)]
		for _, k := range []struct {
			keys keys
			list *[]time.Duration
		}{{bare, &b}, {ours, &o}} {
			took, err := echoOne(ctx, k.keys, c)
			if err != nil {
				return nil, nil, err
			}
			*k.list = append(*k.list, took)
		}
		if err := rest(ctx, echoPause); err != nil {
			return nil, nil, err
		}
	}
	return b, o, nil
}

func echoOne(ctx context.Context, k keys, c byte) (time.Duration, error) {
	for len(k.draws()) > 0 {
		<-k.draws()
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	began := time.Now()
	if err := k.press(ctx, c); err != nil {
		return 0, err
	}
	for {
		select {
		case drawn := <-k.draws():
			if bytes.IndexByte(drawn, c) >= 0 {
				return time.Since(began), nil
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("key %q is not echoed: %w", c, ctx.Err())
		}
	}
}

// bareKeys is a terminal of this process with "tmux attach".
type bareKeys struct {
	server tmux.Server
	term   *tmux.Attachment
	drawn  chan []byte
}

func openBareKeys(ctx context.Context, dir string) (*bareKeys, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bareKeys{server: tmux.Server{Socket: filepath.Join(dir, "bare")}, drawn: make(chan []byte, 1000)}
	session, err := b.server.Start(ctx, tmux.Spec{Name: "bare", Argv: []string{self, childArg, "live-echo"}, Dir: dir, LogFile: filepath.Join(dir, "bare.log")})
	if err != nil {
		return nil, err
	}
	if b.term, err = b.server.Attach(ctx, session.Pane, tmux.DefaultCols, tmux.DefaultRows); err != nil {
		return nil, errors.Join(err, b.server.Kill(ctx, process.ID{}))
	}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := b.term.Read(buf)
			if n > 0 {
				b.drawn <- bytes.Clone(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	return b, await(ctx, b.drawn, "ready")
}

func (b *bareKeys) press(_ context.Context, c byte) error {
	_, err := b.term.Write([]byte{c})
	return err
}

func (b *bareKeys) draws() <-chan []byte { return b.drawn }

func (b *bareKeys) close() {
	_ = b.term.Close()
	_ = b.server.Kill(context.Background(), process.ID{})
}

// socketKeys is a terminal that is attached through the browser's socket.
type socketKeys struct {
	conn  *websocket.Conn
	drawn chan []byte
}

func openSocketKeys(ctx context.Context, url, token, runID string) (*socketKeys, error) {
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+"/api/v1/runs/"+runID+"/attach/ws",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(16 << 20)
	k := &socketKeys{conn: conn, drawn: make(chan []byte, 1000)}
	go func() {
		for {
			_, b, err := conn.Read(ctx)
			if err != nil {
				return
			}
			var f struct{ Bytes []byte }
			if json.Unmarshal(b, &f) == nil && len(f.Bytes) > 0 {
				k.drawn <- f.Bytes
			}
		}
	}()
	return k, await(ctx, k.drawn, "ready")
}

func (k *socketKeys) press(ctx context.Context, c byte) error {
	return k.conn.Write(ctx, websocket.MessageText, []byte(`{"type":"input","bytes":"`+base64.StdEncoding.EncodeToString([]byte{c})+`"}`))
}

func (k *socketKeys) draws() <-chan []byte { return k.drawn }

func (k *socketKeys) close() { _ = k.conn.CloseNow() }

// await waits until a terminal has drawn a text.
func await(ctx context.Context, drawn <-chan []byte, text string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var all []byte
	for !bytes.Contains(all, []byte(text)) {
		select {
		case b := <-drawn:
			all = append(all, b...)
		case <-ctx.Done():
			return fmt.Errorf("the terminal does not draw %s: %w", text, ctx.Err())
		}
	}
	return nil
}
