package tmux

import (
	"os"
	"testing"
	"time"
)

// The machine is so busy that the call times out before the server exists.
func TestAStartThatTakesLongerThanItsCallIsNoFailure(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	server.Bin = file(server, "slow-tmux")
	script := "#!/bin/sh\ncase \" $* \" in *\" new-session \"*) (sleep 3; exec tmux \"$@\") & wait;; *) exec tmux \"$@\";; esac\n"
	if err := os.WriteFile(server.Bin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	server.Timeout = 2 * time.Second
	made, err := server.Start(t.Context(), Spec{Name: "svc-slow", Argv: []string{"/bin/cat"}, LogFile: file(server, "log")})
	if err != nil {
		t.Fatalf("Start = %v, want the session that came late", err)
	}
	if alive, err := made.Process.Alive(); err != nil || !alive {
		t.Errorf("its program: alive %v, %v", alive, err)
	}
}
