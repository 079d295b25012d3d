package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// TestAMessageArrivesOnceOrItsStateSaysWhyNot sends messages to agents while worker, orchestrator, wrappers and tmux
// servers are killed. Each agent writes the messages that it receives into a file outside of svc. No message may arrive
// twice, in another attempt or out of order. An acknowledged message must have arrived, an undelivered one must not,
// and every other must be unconfirmed.
func TestAMessageArrivesOnceOrItsStateSaysWhyNot(t *testing.T) {
	t.Parallel()
	runRounds(t, shortOrLong(4, 8), func(t *testing.T, seed uint64) judgedSite { return newMessageSite(t, seed, 2) })
}

// messageSite is a talkSite with agents that accept messages.
type messageSite struct {
	*talkSite
	agents []*messageAgent
}

// messageAgent is a run whose agent writes down the messages that it receives.
type messageAgent struct {
	run    svc.Run
	random *rand.Rand
	sent   []string // accepted messages, in order
	denied []string // refused messages
}

// messageScript is the agent. It writes each prompt with its attempt to a file, and then reports the prompt as the hook
// of a real tool does.
const messageScript = `
svc exec signal completed --result success
while read -r line; do
	echo "$SVC_ATTEMPT $line" >> '%s'/$SVC_RUN_ID
	svc exec signal progress --message 'works on a prompt' --submitted "$line"
	svc exec signal completed --result success
done
`

const talker = `
[providers.talker]
bin = "/bin/sh"
argv_template = ["-c", "{prompt}"]
installed_detection = ["-c", "true"]
message = "paste"
completion_signals = ["native_hook", "exit_code"]
`

func newMessageSite(t *testing.T, seed uint64, agents int) *messageSite {
	t.Helper()
	s := &messageSite{talkSite: newTalkSite(t, seed, "talker", func(*proctest.Lab, string) string { return talker })}
	for i := range agents {
		a := &messageAgent{random: rand.New(rand.NewPCG(seed, uint64(i+1)))}
		a.run = s.run(fmt.Sprintf(messageScript, s.notes()), func(b *api.CreateRun) {
			b.Provider, b.RestartPolicy, b.MaxRestarts = "talker", api.Some(svc.RestartAlways), api.Some(1000)
		})
		s.agents = append(s.agents, a)
	}
	for _, a := range s.agents {
		s.follower.AwaitRun(a.run.ID, svc.TopicRunStarted)
	}
	return s
}

// round sends messages to every agent while each process is killed once or twice.
func (s *messageSite) round(messages int) {
	s.t.Helper()
	var sending sync.WaitGroup
	for _, a := range s.agents {
		sending.Go(func() {
			for range messages {
				s.send(a)
			}
		})
	}
	s.disturb()
	sending.Wait()
	s.settle()
	for _, a := range s.agents {
		s.wantDelivery(a)
	}
}

// settle waits until each message has a final state.
func (s *messageSite) settle() {
	s.t.Helper()
	waittest.Eventually(s.t, "every message has a final state", func() bool {
		return !slices.ContainsFunc(s.agents, func(a *messageAgent) bool {
			messages, err := s.messages(a)
			return err != nil || slices.ContainsFunc(messages, func(m svc.Message) bool {
				return m.State == svc.MessageQueued || m.State == svc.MessagePasted
			})
		})
	})
}

// wantDelivery checks that an agent receives messages after the faults have ended. The first messages may fail, because
// the attempt before is just ending, or because an earlier paste without Enter is on the same line.
func (s *messageSite) wantDelivery(a *messageAgent) {
	s.t.Helper()
	for range 3 {
		s.send(a)
		s.settle()
		if sent := len(a.sent); sent > 0 && s.given(a)[a.sent[sent-1]].times > 0 {
			return
		}
	}
	s.t.Errorf("run %s receives no messages although the faults have ended", a.run.ID)
}

// send sends a message, and repeats the request with the same key until it is answered.
func (s *messageSite) send(a *messageAgent) {
	text := fmt.Sprintf("<%s-%d>", a.run.ID[:8], len(a.sent)+len(a.denied))
	when := []svc.MessageWhen{svc.MessageNow, svc.MessageTurnEnd}[a.random.IntN(2)]
	proctest.Pause(time.Duration(a.random.Int64N(int64(time.Second))))
	err := s.retry(text, func(ctx context.Context) error {
		_, err := s.client.SendMessage(ctx, a.run.ID, api.SendMessage{Text: text, When: when})
		return err
	})
	if err != nil {
		a.denied = append(a.denied, text)
	} else {
		a.sent = append(a.sent, text)
	}
}

func (s *messageSite) messages(a *messageAgent) (all []svc.Message, err error) {
	for m, err := range s.client.AllMessages(s.t.Context(), a.run.ID) {
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// given is what an agent wrote down about one message: how often it arrived, in which attempt, and whether it was alone
// on its line.
type given struct {
	times, attempt, line int
	alone                bool
}

var messageText = regexp.MustCompile(`<[0-9a-f]+-\d+>`)

// given reads the agent's notes. A paste whose Enter was lost is on one line with the next paste.
func (s *messageSite) given(a *messageAgent) map[string]given {
	s.t.Helper()
	all := map[string]given{}
	for i, text := range s.noted(a.run.ID) {
		line := i + 1
		var attempt int
		if _, err := fmt.Sscan(text, &attempt); err != nil {
			s.t.Fatalf("the agent noted %q: %v", text, err)
		}
		_, rest, _ := strings.Cut(text, " ")
		for _, found := range messageText.FindAllString(rest, -1) {
			all[found] = given{all[found].times + 1, attempt, line, rest == found}
		}
	}
	return all
}

// judge compares the records of all messages with the agents' notes.
func (s *messageSite) judge() {
	s.t.Helper()
	states := map[svc.MessageState]int{}
	for _, a := range s.agents {
		messages, err := s.messages(a)
		if err != nil {
			s.t.Fatal(err)
		}
		noted, line := s.given(a), 0
		var kept []string
		for _, m := range messages {
			states[m.State]++
			kept = append(kept, m.Text)
			g := noted[m.Text]
			if !g.allows(m) || g.times > 0 && g.line < line {
				s.t.Errorf("message %s of attempt %d is %s (%s); the agent noted %+v, the one before on line %d", m.Text, m.Attempt, m.State, m.Reason, g, line)
			}
			line = max(line, g.line)
		}
		if !slices.Equal(kept, a.sent) {
			s.t.Errorf("run %s has the messages %v, acknowledged were %v", a.run.ID, kept, a.sent)
		}
		for _, text := range a.denied {
			if noted[text].times > 0 {
				s.t.Errorf("%s was refused, but reached the agent", text)
			}
		}
	}
	s.t.Logf("states: %v", states)
}

// allows reports whether a message's state agrees with the agent's notes.
func (g given) allows(m svc.Message) bool {
	if g.times > 1 || g.times == 1 && g.attempt != m.Attempt {
		return false
	}
	switch m.State {
	case svc.MessageAcknowledged:
		return g.times == 1 && g.alone && m.Reason == ""
	case svc.MessageUndelivered:
		return g.times == 0 && m.Reason != ""
	default:
		return m.State == svc.MessageUnconfirmed && m.Reason != ""
	}
}
