package worker

import (
	"strconv"
	"testing"

	"svc/wire"
)

func TestAWorkerRemembersTheLatestRequestsForKeys(t *testing.T) {
	t.Parallel()
	var k keysOnce
	l := &link{out: newOutbox()}
	for i := range mostKeysKept + 1 {
		if id := strconv.Itoa(i); !k.begin(id, l) {
			t.Fatalf("request %s is not new", id)
		}
	}
	if len(k.requests) != mostKeysKept || len(k.order) != mostKeysKept {
		t.Errorf("%d requests in memory, %d in order", len(k.requests), len(k.order))
	}
	if k.begin("1", l) {
		t.Error("a request under way is new again")
	}
	k.end(&wire.KeysResult{RequestID: "1", OK: true}, l)
	k.end(&wire.KeysResult{RequestID: "0", OK: true}, l) // it was evicted, and is answered anyway
	if k.begin("1", l) {
		t.Error("an answered request is new again")
	}
	var got []string
	for {
		out, _, ok := l.out.next()
		if !ok {
			break
		}
		got = append(got, out.frame.(*wire.KeysResult).RequestID)
	}
	if len(got) != 4 || got[0] != "1" || got[1] != "1" || got[2] != "0" || got[3] != "1" {
		t.Errorf("answered %v", got)
	}
}
