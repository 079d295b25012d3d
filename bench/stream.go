package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"svc"
	"svc/store"
)

const (
	streamReaders = 2000
	streamStalled = streamReaders / 10
	streamRate    = 50 // events per second
	streamTurns   = 3
	streamTurn    = 6 * time.Second
	streamSettle  = 3 * time.Second // the server's writes to stalled readers block by then, and it has not disconnected them yet
)

// stream measures the delivery of live events to many readers over HTTP, in turns with and without readers that stop
// reading.
func stream(ctx context.Context, r *report) (err error) {
	g, err := newOwnRig(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	// More than the system buffers for a connection that is not read.
	if err := g.journal(ctx, 40, strings.Repeat("x", 20_000)); err != nil {
		return err
	}
	c, err := startChild(ctx, "subscribers")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.order(streamOrder{URL: g.url, Readers: streamReaders}, &streamAnswer{}); err != nil {
		return err
	}
	if _, err := streamTurnOf(ctx, g, c, 0); err != nil { // the first turn is the warm-up
		return err
	}
	var calm, disturbed []time.Duration
	lost := 0
	for range streamTurns {
		for _, stalled := range []int{0, streamStalled} {
			a, err := streamTurnOf(ctx, g, c, stalled)
			if err != nil {
				return err
			}
			lost += a.Lost
			r.note("%d stalled: p50 %s p99 %s max %s, lost %d", stalled, a.P50, a.P99, a.Max, a.Lost)
			if stalled == 0 {
				calm = append(calm, a.P99)
			} else {
				disturbed = append(disturbed, a.P99)
			}
		}
	}
	r.none("events lost by active readers", lost)
	r.atMost("p99 delivery, 2,000 readers × 50 events/s", ms(median(calm)), 150, " ms")
	r.info("p99 with 10 % of the readers stalled", "%s ms", figure(ms(median(disturbed))))
	// A p99 of a few milliseconds doubles by chance; values up to 15 ms, a tenth of the limit, count as equal.
	r.atMost("p99 with stalled readers, relative to without", max(ms(median(disturbed)), 15)/max(ms(median(calm)), 15), 1.5, "×")
	return nil
}

// streamTurnOf writes events for a while and returns what the readers received.
func streamTurnOf(ctx context.Context, g *rig, c *child, stalled int) (streamAnswer, error) {
	var a streamAnswer
	if err := c.order(streamOrder{Stalled: stalled}, &a); err != nil {
		return a, err
	}
	select {
	case <-time.After(streamSettle):
	case <-ctx.Done():
		return a, ctx.Err()
	}
	tick := time.NewTicker(time.Second / streamRate)
	defer tick.Stop()
	sent := 0
	for began := time.Now(); time.Since(began) < streamTurn; sent++ {
		<-tick.C
		err := g.store.Write(ctx, func(tx *store.Tx) error {
			tx.Emit(svc.TopicProjectUpdated, map[string]any{"sent": time.Now().UnixNano(), "title": "an event as long as most events are, with a name and a few ids",
				"project_id": "01890a5d-ac96-774b-bcce-b302099a8057", "slug": "an-event-as-long-as-most"})
			return nil
		})
		if err != nil {
			return a, err
		}
	}
	return a, c.order(streamOrder{Sent: sent}, &a)
}
