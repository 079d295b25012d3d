package wire

import (
	"context"
	"errors"
	"io"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPipeCarriesFramesBothWays(t *testing.T) {
	t.Parallel()
	a, b := Pipe()
	ctx := t.Context()
	sent := []byte("down")
	go func() { _ = a.Write(ctx, sent) }()
	if got, err := b.Read(ctx); err != nil || string(got) != "down" {
		t.Errorf("read %q (%v)", got, err)
	}
	go func() { _ = b.Write(ctx, []byte("up")) }()
	if got, err := a.Read(ctx); err != nil || string(got) != "up" {
		t.Errorf("read %q (%v)", got, err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := a.Read(short); !errors.Is(err, context.Canceled) {
		t.Errorf("a read whose context ended: %v", err)
	}
	if err := a.Write(short, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a write whose context ended: %v", err)
	}
	for range 2 {
		if err := b.Close("done"); err != nil {
			t.Error(err)
		}
	}
	if _, err := a.Read(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("a read of a closed pipe: %v", err)
	}
	if err := a.Write(ctx, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a write to a closed pipe: %v", err)
	}
}
