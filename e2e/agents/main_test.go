package agents

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/internal/proctest"
)

// toolsEnv names the environment variable with the folder of the installed tools. Without it the
// tests of real tools are skipped.
const toolsEnv = "SVC_TEST_AGENTS"

var (
	update  = flag.Bool("update", false, "write the table of results into docs/providers.md")
	capture = flag.String("capture", "", "keep the inputs of the tools' hooks in this folder")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(proctest.Main(m))
}

// pin is one line of testdata/tools.txt.
type pin struct{ tool, pkg, release, version string }

func pins(tb testing.TB) []pin {
	tb.Helper()
	data, err := os.ReadFile("testdata/tools.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var all []pin
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if strings.HasPrefix(line, "#") || len(f) == 0 {
			continue
		}
		if len(f) != 4 {
			tb.Fatalf("testdata/tools.txt: %q has not four words", line)
		}
		all = append(all, pin{f[0], f[1], f[2], f[3]})
	}
	return all
}

// toolPath returns the PATH with the folder of a tool's executable in front.
func toolPath(tool string) string {
	return filepath.Join(os.Getenv(toolsEnv), tool, "node_modules", ".bin") + string(os.PathListSeparator) + os.Getenv("PATH")
}

// onlyLoopback returns an error unless the loopback interface is the only network. With another one
// the tools would send requests to their vendors.
func onlyLoopback() error {
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return fmt.Errorf("the network has %s besides loopback; use make test-agents", i.Name)
		}
	}
	if len(all) == 0 {
		return errors.New("there is no loopback interface")
	}
	return nil
}
