package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestATimeIsALineAndComesBack(t *testing.T) {
	t.Parallel()
	for want, at := range map[string]LogTime{
		"0 0 220 50 1763366400000\n": {Cols: 220, Rows: 50, At: 1763366400000},
		"51 7\n":                     {Ms: 51, Offset: 7},
		"51 7 80 24\n":               {Ms: 51, Offset: 7, Cols: 80, Rows: 24},
	} {
		line := string(at.AppendLine(nil))
		if back, ok := ParseLogTime([]byte(strings.TrimSuffix(want, "\n"))); line != want || !ok || back != at {
			t.Errorf("%+v is %q, want %q, and comes back as %+v, %v", at, line, want, back, ok)
		}
	}
	if at, ok := ParseLogTime([]byte("1 2 3 4 5 6")); !ok || at != (LogTime{1, 2, 3, 4, 5}) {
		t.Errorf("a time of a later version is %+v, %v", at, ok)
	}
	for _, line := range []string{"", "1", "1 x", "-1 2", "1 -2", "1 2 0 4", "1 2 3 10001", "1 99999999999999999999", "9999999999999 1", "\x00\x00"} {
		if at, ok := ParseLogTime([]byte(line)); ok {
			t.Errorf("%q is the time %+v", line, at)
		}
	}
}

func TestBadTimesOfAChunkAreMalformed(t *testing.T) {
	t.Parallel()
	for _, times := range []string{`[[1]]`, `[[1,"2"]]`, `[[-1,2]]`, `[[1,2,0,0]]`, `{}`, `[null]`, "[" + strings.Repeat("[1,2],", MaxTimes) + "[1,2]]"} {
		_, err := DecodeUp(fmt.Appendf(nil, `{"type":"log_chunk","run_id":%q,"text":"x","attempt":1,"offset":0,"times":%s}`, runID, times))
		var bad *FrameError
		if !errors.As(err, &bad) || bad.Code != CodeMalformed || !strings.Contains(bad.Message, "log_chunk") {
			t.Errorf("%.60s: %v", times, err)
		}
	}
	most := "[" + strings.Repeat("[1,2],", MaxTimes-1) + "[1,2]]"
	if _, err := DecodeUp(fmt.Appendf(nil, `{"type":"log_chunk","run_id":%q,"text":"x","times":%s}`, runID, most)); err != nil {
		t.Errorf("as many times as are allowed: %v", err)
	}
}
