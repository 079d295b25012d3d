package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/store"
)

const (
	commitCallers = 64
	commitTurns   = 5
	commitTurn    = 1500 * time.Millisecond
)

// groupCommit measures durable units of one row each that are committed in groups, in turns with the same units
// committed one by one, on the same disk.
func groupCommit(ctx context.Context, r *report) error {
	dir, remove, err := tempDir()
	if err != nil {
		return err
	}
	defer remove()
	grouped, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "grouped.db"), store.Options{})
	if err != nil {
		return err
	}
	single, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "single.db"), store.Options{MaxBatch: 1})
	if err != nil {
		return errors.Join(err, grouped.Close())
	}
	var many, one []float64
	for range commitTurns {
		a, errA := commits(ctx, grouped)
		b, errB := commits(ctx, single)
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		many, one = append(many, a), append(one, b)
	}
	r.info(fmt.Sprintf("units/s, %d callers, grouped", commitCallers), "%s", figure(median(many)))
	r.info("units/s, one by one", "%s", figure(median(one)))
	r.atLeast("grouped to one by one", median(many)/median(one), 3, "×")
	return errors.Join(grouped.Close(), single.Close())
}

// commits returns the number of durable units per second.
func commits(ctx context.Context, s *store.Store) (float64, error) {
	var n atomic.Int64
	var g errgroup.Group
	began := time.Now()
	for range commitCallers {
		g.Go(func() error {
			for time.Since(began) < commitTurn {
				key := fmt.Sprintf("%d-%d", began.UnixNano(), n.Add(1))
				err := s.Write(ctx, func(tx *store.Tx) error { return tx.KeepResult(ctx, key, "fingerprint", "{}") })
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	return float64(n.Load()) / time.Since(began).Seconds(), err
}
