package soak

import (
	"fmt"
	"math/rand/v2"

	"svc"
	"svc/api"
)

// agent is a shell script that stands in for an agent's tool.
type agent struct {
	name   string
	script string
	policy svc.RestartPolicy
	// An agent with endless ends only when a client stops it, one with asks when a client answers.
	endless, asks bool
}

// notes is the beginning of every script. The script writes a note after each action, so that a note is true even if
// the agent is killed then. Only its own failure is noted before it is reported, because the report ends the script. $0
// is the host's name: the host's catalog passes it.
const notes = `stty -echo 2>/dev/null
note() { echo "$(date +%%s%%N) $*" >> '%s'/"$SVC_RUN_ID.$SVC_ATTEMPT"; }
say() { seq -f "line %%.0f of $SVC_RUN_ID.$SVC_ATTEMPT" $1 $2; note out $2; }
accepted() { case "$(svc exec signal "$@" 2>&1)" in *"not reported"*|*usage*) return 1;; esac; }
tell() { accepted progress --message "$1" && note progress "$1"; }
quit() { note exit $1; exit $1; }
note start "$0"
`

// newAgent returns a random agent. It writes its notes into truthDir. The path litter is in the command
// of each process that it leaves behind, so that a test can find them.
func newAgent(random *rand.Rand, truthDir, litter string) agent {
	code := []int{0, 0, 0, 1, 3, 42}[random.IntN(6)]
	a := agent{policy: svc.RestartNever}
	switch n := random.IntN(20); {
	case n < 4:
		a.name, a.script = "quick", fmt.Sprintf("say 1 3; quit %d", code)
	case n < 9:
		a.name = "steps"
		a.script = fmt.Sprintf("i=1; while [ $i -le %d ]; do say $i $i; tell \"step $i\"; sleep 0.%d; i=$((i+1)); done; quit %d",
			2+random.IntN(6), 1+random.IntN(9), code)
	case n < 11:
		a.name, a.asks = "asks", true
		a.script = `say 1 1; accepted progress --needs-input --message question && note asked question
while read -r typed; do note key "$typed"; [ "$typed" = end ] && break; done; say 2 2; quit 0`
	case n < 13:
		a.name, a.endless = "stubborn", true
		a.script = "trap '' INT TERM; say 1 1; while :; do sleep 1; done"
	case n < 14:
		a.name, a.endless = "polite", true
		a.script = "i=1; while :; do say $i $i; sleep 1; i=$((i+1)); done"
	case n < 15:
		a.name = "litter" // one child process keeps the run's environment, the other has an empty one
		a.script = fmt.Sprintf(`say 1 2
setsid nohup sh -c 'while :; do sleep 1; done' %[1]s/marked/$SVC_RUN_ID.$SVC_ATTEMPT >/dev/null 2>&1 </dev/null &
env -i setsid sh -c 'while :; do /bin/sleep 1; done' %[1]s/unmarked/$SVC_RUN_ID.$SVC_ATTEMPT >/dev/null 2>&1 </dev/null &
quit %[2]d`, litter, code)
	case n < 17:
		a.name, a.script = "long", fmt.Sprintf("i=1; while [ $i -le %d ]; do say $i $i; sleep 0.5; i=$((i+1)); done; quit %d", 10+random.IntN(30), code)
	case n < 18:
		a.name, a.script = "flood", fmt.Sprintf("say 1 %d; quit %d", 1000+random.IntN(4000), code)
	case n < 19:
		a.name, a.policy = "retry", svc.RestartOnFailure
		a.script = "say 1 1; [ $SVC_ATTEMPT -ge 2 ] && quit 0; quit 5"
	default:
		a.name = "fails" // its hook reports a failure, after which svc ends the session
		a.script = `say 1 1; note failed; accepted failed --error "no luck"; while :; do sleep 1; done`
		a.endless = true
	}
	a.script = fmt.Sprintf(notes, truthDir) + a.script
	return a
}

// run returns the request that creates a run of the agent.
func (a agent) run(task, key string) api.CreateRun {
	return api.CreateRun{
		TaskID: task, Provider: "sh", Prompt: api.Some("# soak " + key + " " + a.name + "\n" + a.script),
		RestartPolicy: api.Some(a.policy), MaxRestarts: api.Some(1),
	}
}
