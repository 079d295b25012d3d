package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	self, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, wait := range map[string]func(context.Context, ID) error{"notified": waitExit, "polling": pollExit} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := wait(ctx, self); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want the context's error", name, err)
		}
		cancel()
	}
}

func TestProcessWithAnotherStartIsAnotherProcess(t *testing.T) {
	t.Parallel()
	self, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if alive, err := self.Alive(); !alive || err != nil {
		t.Errorf("self: alive %v, %v", alive, err)
	}
	self.Start++
	if alive, err := self.Alive(); alive || err != nil {
		t.Errorf("same pid, other start: alive %v, %v", alive, err)
	}
	if err := self.Wait(t.Context()); err != nil {
		t.Errorf("wait for it: %v", err)
	}
	if _, err := Of(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("start of a pid that nobody has: %v", err)
	}
}

func TestUncollectedProcessHasEnded(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive, err := child.Alive(); alive || err != nil {
		t.Errorf("zombie: alive %v, %v", alive, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
