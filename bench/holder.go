package main

import (
	"context"
	"fmt"
	"testing"
)

// holder is a testing.TB for pgtest and proctest in a program that is not a test.
type holder struct {
	testing.TB
	cleanups []func()
	problem  error
}

type holderStop struct{}

// Helper does nothing.
func (h *holder) Helper() {}

// Cleanup stores a function that release calls.
func (h *holder) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }

// Errorf stores a problem, which try returns.
func (h *holder) Errorf(format string, args ...any) { h.problem = fmt.Errorf(format, args...) }

// Fatalf stores a problem and ends try.
func (h *holder) Fatalf(format string, args ...any) {
	h.Errorf(format, args...)
	panic(holderStop{})
}

// Error, Fatal, Logf, Failed, Name and Context are like those of a test.
func (h *holder) Error(args ...any)        { h.Errorf("%s", fmt.Sprint(args...)) }
func (h *holder) Fatal(args ...any)        { h.Fatalf("%s", fmt.Sprint(args...)) }
func (h *holder) Logf(string, ...any)      {}
func (h *holder) Failed() bool             { return h.problem != nil }
func (h *holder) Name() string             { return "bench" }
func (h *holder) Context() context.Context { return context.Background() }

func (h *holder) try(do func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			if _, ours := v.(holderStop); !ours {
				panic(v)
			}
			err = h.problem
		}
	}()
	do()
	return h.problem
}

func (h *holder) release() {
	for i := len(h.cleanups) - 1; i >= 0; i-- {
		h.cleanups[i]()
	}
}
