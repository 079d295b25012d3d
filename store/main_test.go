package store_test

import (
	"testing"

	"go.uber.org/goleak"

	"svc/internal/pgtest"
)

// suite stops the PostgreSQL server of the tests before goleak looks for leaks.
type suite struct{ m *testing.M }

func (s suite) Run() int { return pgtest.Main(s.m) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{m}) }
