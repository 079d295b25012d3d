package wire

import "testing"

func TestOnlyTheOrchestratorsOwnWordRefusesASignalForGood(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct{ ours, forGood bool }{
		`{"error":{"code":"not_found","message":"no run"}}`:                {true, true},
		`{"error":{"code":"invalid_attempt","message":"never given out"}}`: {true, true},
		`{"error":{"code":"unauthorized","message":"no token"}}`:           {true, false},
		`{"error":{"code":"unavailable","message":"later"}}`:               {true, false},
		`{"error":{"code":"access_denied","message":"sign in first"}}`:     {true, false},
		`{"error":"not_found","message":"no route"}`:                       {false, false},
		`{"error":{"code":404,"message":"no route"}}`:                      {false, false},
		`{"error":{"code":"not_found"}}`:                                   {false, false},
		`<html>sign in to the network</html>`:                              {false, false},
		``:                                                                 {false, false},
	} {
		r, ours := RefusalOf([]byte(body))
		if ours != want.ours || ours && r.ForGood() != want.forGood {
			t.Errorf("%s: ours %v, %+v for good %v; want %+v", body, ours, r, r.ForGood(), want)
		}
	}
}
