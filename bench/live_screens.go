package main

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"time"
)

const (
	screenRuns   = 100
	screenTurns  = 5
	screenTurn   = 10 * time.Second
	screenSettle = 3 * time.Second
)

// screens measures the processor time that the screens of many runs cost, against a capture of every pane each
// second. The cost of the rest of the worker is measured without any captures and subtracted from both.
func screens(ctx context.Context, r *report) (err error) {
	s, err := newLiveSite(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(context.WithoutCancel(ctx))) }()
	all := filepath.Join(s.dir, "all")
	var programs [][]string
	for i := range screenRuns {
		when := all
		if i%10 == 0 {
			when = "always"
		}
		programs = append(programs, []string{"live-printer", when, strconv.Itoa(i)})
	}
	if _, err := s.start(ctx, programs...); err != nil {
		return err
	}
	r.note("%d runs are running", screenRuns)
	for _, c := range []struct {
		name  string
		loud  bool
		limit float64
	}{{"10 % of 100 runs print", false, 1.0 / 8}, {"all of 100 runs print", true, 1.2}} {
		if c.loud {
			if err := touch(all, true); err != nil {
				return err
			}
		}
		var none, hint, fork []float64
		for range screenTurns {
			cost := map[string]float64{}
			for _, mode := range []string{"none", "hint", "fork"} {
				if cost[mode], err = s.screenTurn(ctx, mode); err != nil {
					return err
				}
			}
			r.note("%s: without %.2f, with the hint %.2f, a fork each %.2f CPU-s per second", c.name, cost["none"], cost["hint"], cost["fork"])
			none, hint, fork = append(none, cost["none"]), append(hint, cost["hint"]), append(fork, cost["fork"])
		}
		// The difference within one turn is not larger than the variation between turns, so the medians are compared.
		byHint, byFork := median(hint)-median(none), median(fork)-median(none)
		r.info("screens by forking for all, "+c.name, "%s CPU-s/min", figure(60*byFork))
		r.info("screens by the hint, "+c.name, "%s CPU-s/min", figure(60*byHint))
		r.atMost("screens by the hint, relative to forking for all, "+c.name, byHint/byFork, c.limit, "×")
	}
	return nil
}

// screenTurn returns the processor time per second in one mode.
func (s *liveSite) screenTurn(ctx context.Context, mode string) (float64, error) {
	if err := s.mode(mode); err != nil {
		return 0, err
	}
	if err := rest(ctx, screenSettle); err != nil {
		return 0, err
	}
	before, err := s.used(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := rest(ctx, screenTurn); err != nil {
		return 0, err
	}
	took := time.Since(began)
	after, err := s.used(ctx)
	return (after - before).Seconds() / took.Seconds(), err
}
