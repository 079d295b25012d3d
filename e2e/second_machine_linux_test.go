package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"svc/internal/needtest"
	"svc/internal/waittest"
)

// machine simulates a separate machine: it has its own network namespace, home
// and PATH. Its environment has no variables of svc, so svc uses its defaults.
type machine struct {
	*testing.T
	lab  *lab
	name string // of its network namespace
	home string
	bin  string
}

// machines creates two machines that are connected by a network.
func machines(t *testing.T) (first, second *machine) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a second machine is a network namespace, which needs root")
	}
	needtest.Extra(t, "ip")
	id := rand.Uint32N(1 << 16)
	probe := fmt.Sprintf("svc-%04x-probe", id)
	if out, err := exec.Command("ip", "netns", "add", probe).CombinedOutput(); err != nil {
		t.Skipf("network namespaces cannot be created here: %s", out)
	}
	out, err := exec.Command("ip", "-netns", probe, "link", "set", "lo", "up").CombinedOutput()
	run(t, "ip", "netns", "delete", probe)
	if err != nil { // for example in a chroot, whose root is not a mount
		t.Skipf("network namespaces cannot be entered here: %s", out)
	}
	first, second = newMachine(t, id, "a"), newMachine(t, id, "b")
	run(t, "ip", "link", "add", "wire", "netns", first.name, "type", "veth", "peer", "name", "wire", "netns", second.name)
	for i, m := range []*machine{first, second} {
		m.ip("address", "add", fmt.Sprintf("198.18.%d.%d/24", id%256, i+1), "dev", "wire")
		m.ip("link", "set", "wire", "up")
		m.ip("link", "set", "lo", "up")
	}
	return first, second
}

func newMachine(t *testing.T, id uint32, which string) *machine {
	t.Helper()
	m := &machine{T: t, lab: newLab(t.TempDir()), name: fmt.Sprintf("svc-%04x-%s", id, which)}
	m.lab.vars()
	m.home, m.bin = filepath.Join(m.lab.dir, "home"), filepath.Join(m.lab.dir, "bin")
	for _, dir := range []string{m.home, m.bin} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "ip", "netns", "add", m.name)
	t.Cleanup(func() {
		m.lab.close()
		run(t, "ip", "netns", "delete", m.name)
	})
	return m
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience) // a clean-up outlives the test's context
	defer cancel()
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// ip runs the program ip in the machine's network namespace.
func (m *machine) ip(args ...string) {
	m.Helper()
	run(m.T, "ip", append([]string{"-netns", m.name}, args...)...)
}

// env returns the environment of a person who has just logged in.
func (m *machine) env() []string {
	return []string{"HOME=" + m.home, "PATH=" + m.bin + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "XDG_RUNTIME_DIR=" + m.lab.runtime, noSleep}
}

// shell returns a command that runs a shell line on the machine.
func (m *machine) shell(line string) *exec.Cmd {
	cmd := exec.Command("ip", "netns", "exec", m.name, "sh", "-c", line)
	cmd.Env, cmd.Dir = m.env(), m.home
	return cmd
}

// types runs a shell line, which must succeed, and returns its standard output.
func (m *machine) types(line string) string {
	m.Helper()
	cmd := m.shell(line)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.Fatalf("%s: %v\n%s%s", line, err, out, stderr.String())
	}
	return string(out)
}

// startBackground starts a command that runs until the test ends, and waits until it is
// ready.
func (m *machine) startBackground(verb, line string) *process {
	m.Helper()
	p, err := m.lab.run(m.env(), verb, m.shell("exec env "+line))
	if err != nil {
		m.Fatal(err)
	}
	return p
}

// installSvc copies svc to the machine's PATH.
func (m *machine) installSvc(program string) {
	m.Helper()
	from, err := os.Open(program)
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(filepath.Join(m.bin, "svc"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		m.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		m.Fatal(err)
	}
	if err := to.Close(); err != nil {
		m.Fatal(err)
	}
}

// readmeSteps returns the lines of a section's code block, without their comments.
func readmeSteps(t *testing.T, section string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	_, block, fenced := strings.Cut(rest, "\n```\n")
	block, _, closed := strings.Cut(block, "\n```")
	if !found || !fenced || !closed {
		t.Fatalf("README.md has no section %q with commands", section)
	}
	var steps []string
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, "  #")
		steps = append(steps, strings.TrimSpace(line))
	}
	return steps
}

var joinAddress = regexp.MustCompile(`--server http://198\.18\.\d+\.1:7898 `)

// The steps are read from the README: if a necessary step is missing there, the
// test fails.
func TestASecondMachineJoinsAndWorksByTheREADMEAlone(t *testing.T) {
	t.Parallel()
	first, second := machines(t)
	program, err := exec.LookPath("svc")
	if err != nil {
		t.Fatal(err)
	}
	first.installSvc(program)
	first.startBackground("up", "svc up --demo")
	if err := first.lab.running[0].end(syscall.SIGINT); err != nil {
		t.Fatalf("svc up ended with an error: %v", err)
	}

	var join, done string
	for _, step := range readmeSteps(t, "Add a second machine") {
		switch {
		case strings.HasPrefix(step, "scp bin/svc "):
			second.installSvc(program)
		case strings.HasPrefix(step, "sudo apt-get install -y tmux"):
			second.types("tmux -V")
		case strings.HasPrefix(step, "SVC_WORKER_TOKEN=…"):
			if !joinAddress.MatchString(join) {
				t.Errorf("the command to paste does not have the first machine's address: %s", join)
			}
			second.startBackground("worker", strings.TrimSpace(join))
		case strings.HasPrefix(step, "svc up "):
			first.startBackground("up", step)
		case strings.HasPrefix(step, "svc host create "):
			join = first.types(step)
		case strings.HasPrefix(step, "svc "):
			done = first.types(step)
		default:
			t.Fatalf("the README has a step that this test cannot execute: %s", step)
		}
	}
	if !strings.Contains(done, "exited with code 0, result success") {
		t.Errorf("the last step printed %q", done)
	}
	if got := first.types("svc run list --host build-2"); !strings.Contains(got, "exited") {
		t.Errorf("the second machine has no exited run:\n%s", got)
	}
	if logs, _ := filepath.Glob(filepath.Join(second.home, ".local/share/svc/runs/*.log")); len(logs) != 1 {
		t.Errorf("the second machine has the logs %v, want one", logs)
	}
	if err := second.lab.running[0].end(syscall.SIGINT); err != nil {
		t.Errorf("the worker ended with an error: %v", err)
	}
}
