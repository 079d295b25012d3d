package server

import (
	"context"
	"net/http"
	"testing"

	"svc"
	"svc/api"
)

func TestALogThatIsNotWholeIsSaidToBeSo(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	gone := map[string]int{} // attempts whose log is lost everywhere, by run
	s.live.Runs.FetchLog = func(_ context.Context, r svc.Run, attempt int) error {
		if gone[r.ID] == attempt {
			return svc.Errorf(svc.CodeLogGone, "the log is gone")
		}
		return nil
	}
	empty, lost, part, followed := s.newRun(svc.RunExited), s.newRun(svc.RunExited), s.newRun(svc.RunExited), s.newRun(svc.RunExited)
	gone[lost.ID], gone[part.ID], gone[followed.ID] = 1, 1, 1
	s.append(part, 1, "the first half")
	s.append(followed, 1, "the first half")
	for _, r := range []svc.Run{empty, lost, part, followed} {
		s.ends(r)
	}
	if a := s.get("/runs/" + empty.ID + "/logs"); a.status != http.StatusOK || a.body != "" || a.header.Get(api.HeaderLogIncomplete) != "" {
		t.Errorf("a run that wrote nothing: %d %q", a.status, a.body)
	}
	if a := s.get("/runs/" + lost.ID + "/logs"); a.status != http.StatusNotFound || a.code() != "log_gone" {
		t.Errorf("a log that nobody has: %d %s", a.status, a.body)
	}
	if a := s.get("/runs/" + part.ID + "/logs"); a.status != http.StatusOK || a.body != "the first half" || a.header.Get(api.HeaderLogIncomplete) != "1" {
		t.Errorf("a log with a part missing: %d %q, incomplete %q", a.status, a.body, a.header.Get(api.HeaderLogIncomplete))
	}
	_, ended := s.followLogs("/runs/" + followed.ID + "/logs?follow=true")
	if err := <-ended; err == nil {
		t.Error("a log that is not whole was followed to an end that looks whole")
	}
}
