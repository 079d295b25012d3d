package wrapper

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"svc"
	"svc/rundir"
)

// A tool that cannot resume exits with 1 and reports nothing. The file in which it had kept the conversation
// shows why.
func TestALostConversationIsToldByItsFile(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		const reports = "svc exec signal progress --message works --conversation conv-1; "
		for _, tt := range []struct {
			name, script string
			kept, seen   bool // kept: its file exists; seen: it existed after an earlier run
			fresh        bool
			wantGone     bool
		}{
			{"gone", "exit 1", false, true, false, true},
			{"there", "exit 1", true, true, false, false},
			{"never seen", "exit 1", false, false, false, false},
			{"ended well", "exit 0", false, true, false, false},
			{"gone on with", reports + "exit 1", false, true, false, false},
			{"one of its own", "exit 1", false, true, true, false},
		} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				l := launchOf(t, t.TempDir(), "", tt.script)
				withWorker(t, l)
				l.Env = append(l.Env, "SVC_SIGNAL_FIELDS=conversation")
				store := t.TempDir()
				l.Conversation = &rundir.Conversation{ID: "conv-1", Resume: !tt.fresh, Files: []string{store + "/*/{conversation}.jsonl"}}
				if tt.kept {
					keepFile(t, store+"/p/conv-1.jsonl")
				}
				if tt.seen {
					if err := rundir.Dir(l.DataDir).NoteConversation("conv-1"); err != nil {
						t.Fatal(err)
					}
				}
				start(t, l).exit()
				exit, err := l.AttemptFolder().ReadExit()
				if err != nil || (exit.Error == svc.ConversationGone) != tt.wantGone {
					t.Errorf("it ended with %+v, %v", exit, err)
				}
				if got := spooled(t, rundir.Dir(l.DataDir)); slices.Contains(got, "failed") != tt.wantGone || slices.Contains(got, "finished") == tt.wantGone {
					t.Errorf("reported %v", got)
				}
			})
		}
	})
}

// The file that an earlier run left is recorded, so that a later run can distinguish a lost file from one that
// never existed.
func TestTheFileOfAConversationIsNotedAtTheEnd(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		for _, tt := range []struct {
			name, id, script string
			want             []string
		}{
			{"given", "minted", "mkdir $STORE/p; touch $STORE/p/minted.jsonl", []string{"minted"}},
			{"reported", "", "mkdir $STORE/p; touch $STORE/p/own.jsonl; svc exec signal completed --result success --conversation own", []string{"own"}},
			{"by its beginning", "minted-one", "touch $STORE/session-minted-o.json", []string{"minted-one"}},
			{"by the beginning of another", "minted-one", "touch $STORE/session-minted-t.json", nil},
			{"not kept", "minted", "true", nil},
			{"not reported", "", "mkdir $STORE/p; touch $STORE/p/own.jsonl", nil},
			{"of a form that is no id", "", `mkdir $STORE/p; touch $STORE/p/own.jsonl; echo '"../own"' >$SVC_RUN_DIR/conversation`, nil},
		} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				store := t.TempDir()
				l := launchOf(t, t.TempDir(), "", tt.script)
				withWorker(t, l)
				l.Env = append(l.Env, "SVC_SIGNAL_FIELDS=conversation", "STORE="+store)
				l.Conversation = &rundir.Conversation{ID: tt.id, Files: []string{store + "/*/{conversation}.jsonl", store + "/session-{conversation:8}.json"}}
				start(t, l).exit()
				var got []string
				for _, id := range []string{"minted", "minted-one", "own"} {
					if rundir.Dir(l.DataDir).SawConversation(id) {
						got = append(got, id)
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("noted %q, want %q", got, tt.want)
				}
			})
		}
	})
}

func keepFile(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// withWorker lets the wrapper find a worker, to which it then leaves the delivery.
func withWorker(t *testing.T, l rundir.Launch) {
	t.Helper()
	lock, err := rundir.Dir(l.DataDir).HoldWorkerLock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Release() })
}
