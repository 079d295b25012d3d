package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/wire"
)

// maxMalformed is the number of consecutive malformed frames after which the connection is closed: the peer
// does not use this protocol.
const maxMalformed = 10

// goawayMost limits the wait that a goaway frame can demand.
const goawayMost = 30 * time.Second

// goawayError is the error of a connection that the orchestrator ended with a goaway frame.
type goawayError struct {
	reason string
	after  time.Duration // when to connect again
}

func (s *goawayError) Error() string { return "the orchestrator ended the uplink: " + s.reason }

// read reads frames until the connection ends. It never waits for a disk, a program or a person: each frame is
// passed, in order, to its handler.
func (w *Worker) read(ctx context.Context, l *link) error {
	bad := 0
	for {
		body, err := l.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read uplink: %w", err)
		}
		frame, err := wire.DecodeDown(body)
		if err == nil {
			bad = 0
			if f, ok := frame.(*wire.Goaway); ok {
				return &goawayError{reason: f.Reason, after: time.Duration(min(f.AfterMS, goawayMost.Milliseconds())) * time.Millisecond}
			}
			w.take(l, frame)
			continue
		}
		w.log.Warn("a frame cannot be decoded", "error", err)
		var wrong *wire.FrameError
		if errors.As(err, &wrong) && wrong.Code == wire.CodeUnknownFrame {
			continue // a newer orchestrator; this worker does not support the frame
		}
		if bad++; bad >= maxMalformed {
			return errors.New("too many malformed frames in a row")
		}
	}
}

func (w *Worker) take(l *link, frame wire.Frame) {
	switch f := frame.(type) {
	case *wire.HeartbeatAck:
		l.answered.Add(1)
		w.noteChallenge(l, f.Challenge)
		select {
		case l.acked <- struct{}{}:
		default:
		}
	case *wire.RunDispatch:
		w.dispatch(l, f)
	case *wire.RunStop:
		w.stopRun(f)
	case *wire.Keys:
		w.takeKeys(l, f)
	case *wire.Paste:
		w.takePaste(l, f)
	case *wire.WorkspaceRequest:
		w.tasks.Go(func() { w.keeper.answer(w.ctx, l, f) })
	case *wire.RunRecall:
		w.recall(l, f)
	case *wire.LogRead:
		w.readLog(l, f)
	case *wire.LogAck:
		if s := w.session(f.RunID, f.Attempt); s != nil {
			if r := s.logRelay(); r != nil {
				r.ack(l, f.Offset, f.Complete)
			}
		}
	case *wire.ScreenAck:
		if s := w.session(f.RunID, f.Attempt); s != nil {
			s.screenKept(l)
		}
	case *wire.ScreenRead:
		w.tasks.Go(func() { w.readScreen(l, f) })
	case *wire.AttachOpen:
		w.attachOpen(l, f)
	case *wire.AttachInput:
		w.attachInput(f)
	case *wire.AttachResize:
		w.attachResize(f)
	case *wire.AttachClose:
		w.attachClose(f)
	case *wire.Error:
		w.refusals.note(w.log, time.Now(), f)
	}
}
