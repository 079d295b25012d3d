package main

import (
	"context"
	"fmt"
	"testing"
)

// holder lets pgtest and proctest serve a program that is no test.
type holder struct {
	testing.TB
	cleanups []func()
	problem  error
}

type holderStop struct{}

// Helper is nothing here.
func (h *holder) Helper() {}

// Cleanup keeps what release runs.
func (h *holder) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }

// Errorf notes a problem.
func (h *holder) Errorf(format string, args ...any) { h.problem = fmt.Errorf(format, args...) }

// Fatalf notes a problem and leaves try.
func (h *holder) Fatalf(format string, args ...any) {
	h.Errorf(format, args...)
	panic(holderStop{})
}

// Error, Fatal, Logf, Failed, Name and Context are as those of a test.
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
