package main

import (
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// parallel calls do with 0 to n-1 from a number of goroutines.
func parallel(callers, n int, do func(int) error) error {
	var next atomic.Int64
	var g errgroup.Group
	for range callers {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := do(i); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}
