package fault

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// TestNoTreeThatStoodStillIsLost runs agents that change their working copies at random while faults happen. Whenever
// an agent pauses, the orchestrator must receive its tree, byte for byte. The tree must still be there after the host's
// folders were removed. Checkpoints must not change the agent's index, HEAD, branches, stash and settings.
func TestNoTreeThatStoodStillIsLost(t *testing.T) {
	t.Parallel()
	seed := shortOrLong(1, rand.Uint64())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for injected := 0; injected < shortOrLong(50, 10_000) && !t.Failed(); {
		t.Run(fmt.Sprintf("after %d", injected), func(t *testing.T) {
			s := newLossSite(t, random, 3)
			for range shortOrLong(5, 25) {
				injected += s.round(shortOrLong(10, 40))
			}
			s.loseTheHost()
		})
	}
}

// lossSite is one host behind an unreliable network, with several agents.
type lossSite struct {
	*site
	random *rand.Rand
	repo   string
	host   *proctest.Worker
	proxy  *proctest.Proxy
	agents []*lossAgent
	rounds int
}

// lossAgent executes the scripts that the test writes into its box. In each round it changes the working copy, then
// pauses until the test has checked that its tree was relayed.
type lossAgent struct {
	run   svc.Run
	box   string
	tree  string // at its last pause
	kills int    // how often its sessions were killed
}

// lossScript is the agent's loop. A new attempt continues with the interrupted round. It removes locks, because a
// killed git leaves its lock behind: those of the working copy and that of the index in the box.
const lossScript = `
box=%s
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@localhost GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@localhost
describe() {
	git rev-parse HEAD; git symbolic-ref -q HEAD; git for-each-ref; git stash list; sha256sum .git/index .git/config
	rm -f $box/index $box/index.lock; cp -p .git/index $box/index # with its time, by which git knows what it must look at again
	GIT_INDEX_FILE=$box/index git add -A && GIT_INDEX_FILE=$box/index git write-tree
}
n=1
while :; do
	until test -e $box/$n.sh; do sleep 0.05; done
	until test -e $box/$n.rests; do
		find .git -name '*.lock' -delete
		sh $box/$n.sh >/dev/null 2>&1
		describe > $box/tmp && mv $box/tmp $box/$n.rests
	done
	until test -e $box/$n.seen; do sleep 0.05; done
	test -e $box/$n.after || { describe > $box/tmp && mv $box/tmp $box/$n.after; }
	n=$((n+1))
done
`

func newLossSite(t *testing.T, random *rand.Rand, agents int) *lossSite {
	t.Helper()
	s := &lossSite{site: newSite(t, proctest.ServeOptions{}), random: random}
	s.repo = s.repository()
	s.proxy = proctest.NewProxy(s.o)
	s.host = s.worker(proctest.WorkerOptions{Server: s.proxy.URL, Config: "checkpoint_every = \"1s\""})
	for i := range agents {
		a := &lossAgent{box: s.lab.Path("box", fmt.Sprint(i), ".")}
		a.run = s.run(fmt.Sprintf(lossScript, a.box), func(b *api.CreateRun) {
			b.RestartPolicy, b.MaxRestarts = api.Some(svc.RestartAlways), api.Some(1000)
		})
		s.agents = append(s.agents, a)
	}
	t.Cleanup(s.tellAgents)
	for _, a := range s.agents {
		s.follower.AwaitRun(a.run.ID, svc.TopicRunStarted)
	}
	return s
}

// tellAgents logs what the agents last printed when the test has failed.
func (s *lossSite) tellAgents() {
	if !s.t.Failed() {
		return
	}
	for _, a := range s.agents {
		text, err := os.ReadFile(filepath.Join(s.host.Dir, "runs", a.run.ID+".log"))
		s.t.Logf("run %s was killed %d times; the end of its log (%v):\n%s", a.run.ID, a.kills, err, text[max(0, len(text)-2000):])
	}
}

// round lets all agents work while faults happen, and then checks that the tree of each was relayed. It returns the
// number of faults.
func (s *lossSite) round(faults int) int {
	s.t.Helper()
	s.rounds++
	for _, a := range s.agents {
		s.write(a, "sh", s.work())
	}
	for range faults {
		s.fault()
	}
	for _, a := range s.agents {
		a.tree = lastLine(s.await(a, "rests"))
		s.wantKept(a)
		s.write(a, "seen", "")
	}
	for _, a := range s.agents {
		if after := s.await(a, "after"); after != s.await(a, "rests") {
			s.t.Fatalf("round %d: before the checkpoint the agent had\n%s\nand after it\n%s", s.rounds, s.await(a, "rests"), after)
		}
	}
	return faults
}

// fault breaks one thing and repairs it.
func (s *lossSite) fault() {
	s.t.Helper()
	length := time.Duration(s.random.Int64N(int64(400 * time.Millisecond)))
	switch s.random.IntN(16) {
	case 0, 1:
		s.host.Kill()
		proctest.Pause(length)
		s.host.Launch()
	case 2, 3:
		s.o.Kill()
		proctest.Pause(length)
		s.o.Start()
	case 4, 5:
		s.host.Signal(syscall.SIGSTOP)
		proctest.Pause(length)
		s.host.Signal(syscall.SIGCONT)
	case 6, 7, 8:
		s.proxy.Set(proctest.Weather{Stall: true})
		proctest.Pause(length)
		s.proxy.Set(proctest.Weather{})
	case 9:
		s.killOne(s.agents[s.random.IntN(len(s.agents))])
	default:
		proctest.Pause(length / 4)
		s.proxy.Cut()
	}
}

// killOne kills the wrapper or the tmux server of an agent, if it has a session now. A run that was killed often waits
// for minutes before it starts again, so each agent is killed at most four times.
func (s *lossSite) killOne(a *lossAgent) {
	s.t.Helper()
	if a.kills == 4 {
		return
	}
	for _, p := range s.lab.Processes() {
		session := strings.HasPrefix(p.Command, "tmux") && strings.Contains(p.Command, "/"+a.run.ID[:8])
		wrapper := strings.Contains(p.Command, " exec ") && strings.Contains(p.Command, a.run.ID)
		if session || wrapper && s.random.IntN(2) == 0 {
			kill(s.t, p)
			a.kills++
			return
		}
	}
}

// work returns a shell script that changes a repository as agents do. Its last line makes a tree that did not exist
// before.
func (s *lossSite) work() string {
	r := s.random
	file := func() string { return []string{"a", "b c", "d/e", "d/f/g", "-h", "i\nj"}[r.IntN(6)] }
	lines := []string{"git rebase --abort; git merge --abort"}
	for range 1 + r.IntN(6) {
		f := fmt.Sprintf("'./%s'", file())
		lines = append(lines, []string{
			"mkdir -p d/f; echo " + fmt.Sprint(r.Uint64()) + " >> " + f,
			"mkdir -p d/f; head -c " + fmt.Sprint(r.IntN(300_000)) + " /dev/urandom > " + f,
			"rm -rf " + f,
			"rm -rf d",
			"git add -A; git commit -qm work",
			"git commit -qa --amend -m again",
			"git stash push -qu",
			"git stash pop -q",
			fmt.Sprintf("git switch -qc other-%d", r.Uint64()),
			"git switch -q --detach",
			"git rebase -q HEAD~2 -x 'echo x >> x; git add x; git commit -qm x'",
			"git reset -q --hard HEAD~1",
			"ln -sf /etc/passwd link; chmod 755 " + f,
			"echo ignored > .gitignore; echo secret > ignored",
			"git add -A",
			"rm -f .git/index; git reset -q",
		}[r.IntN(16)])
	}
	return strings.Join(append(lines, fmt.Sprintf("echo %d > round", r.Uint64())), "\n") + "\n"
}

// write writes a file into an agent's box atomically.
func (s *lossSite) write(a *lossAgent, name, text string) {
	s.t.Helper()
	path := filepath.Join(a.box, fmt.Sprintf("%d.%s", s.rounds, name))
	s.lab.Write(path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}

// await waits until the agent has written a file, and returns the file's text.
func (s *lossSite) await(a *lossAgent, name string) (text string) {
	s.t.Helper()
	path := filepath.Join(a.box, fmt.Sprintf("%d.%s", s.rounds, name))
	waittest.Eventually(s.t, "the agent writes "+path, func() bool {
		raw, err := os.ReadFile(path)
		text = string(raw)
		return err == nil
	})
	return text
}

// wantKept waits until an agent's tree is relayed to the orchestrator, and checks the tree in the bundle.
func (s *lossSite) wantKept(a *lossAgent) {
	s.t.Helper()
	var w svc.Workspace
	waittest.Eventually(s.t, fmt.Sprintf("round %d: tree %s of run %s is relayed", s.rounds, a.tree, a.run.ID), func() bool {
		r, err := s.client.Run(s.t.Context(), a.run.ID)
		if err != nil || r.WorkspaceID == nil {
			return false
		}
		w, err = s.client.Workspace(s.t.Context(), *r.WorkspaceID)
		return err == nil && w.Tree == a.tree && w.RelayedCheckpoint == w.Checkpoint
	})
	if got := s.fetched(w); got != a.tree {
		s.t.Fatalf("round %d: the bundle of checkpoint %d has tree %s, the agent has %s", s.rounds, w.Checkpoint, got, a.tree)
	}
}

// fetched returns the tree in the newest bundle at the orchestrator. git checks each object of it (fsckObjects).
func (s *lossSite) fetched(w svc.Workspace) string {
	s.t.Helper()
	body, err := s.client.Bundle(s.t.Context(), w.ID, w.RelayedCheckpoint)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	dir := s.t.TempDir()
	raw, err := io.ReadAll(body)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "bundle"), raw, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	script := `git clone -q --bare "$1" repo && cd repo && git -c fetch.fsckObjects=true fetch -q ../bundle '+refs/*:refs/kept/*' &&
		git rev-parse "$(git for-each-ref --format='%(objectname)' refs/kept | head -n 1)^{tree}"`
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", script, "sh", s.repo)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("fetch checkpoint %d: %v\n%s", w.RelayedCheckpoint, err, out)
	}
	return lastLine(string(out))
}

// loseTheHost removes the host's working copies and mirrors, and checks that the orchestrator still has all trees.
func (s *lossSite) loseTheHost() {
	s.t.Helper()
	s.host.Kill()
	for _, a := range s.agents {
		killSession(s.t, s.lab, a.run)
	}
	removeAll(s.t, filepath.Join(s.host.Dir, "work"), filepath.Join(s.host.Dir, "mirrors"))
	s.o.Kill()
	s.o.Start()
	for _, a := range s.agents {
		s.wantKept(a)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
