package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheWorkersUnitLetsSessionsLive(t *testing.T) {
	t.Parallel()
	text := unit{name: "svc-worker", description: "svc worker", command: []string{"/opt/my tools/svc", "worker", "--host-name", "50%"},
		dataDir: "/data", path: "/a:/b", keepRunning: true}.text()
	for _, want := range []string{
		"KillMode=process\n", "OOMPolicy=continue\n", "TasksMax=infinity\n", "StartLimitIntervalSec=0\n", "LimitNOFILE=65536\n", "Environment=PATH=/a:/b\n", "Environment=SVC_DATA_DIR=/data\n",
		`ExecStart="/opt/my tools/svc" worker --host-name 50%%` + "\n", "WantedBy=default.target\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("unit lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "User=") {
		t.Errorf("a unit of the user names an account:\n%s", text)
	}
}

func TestAUnitOfTheMachineNamesItsAccount(t *testing.T) {
	t.Parallel()
	text := unit{name: "svc", command: []string{"/usr/bin/svc", "serve"}, dataDir: "/data", system: true, user: "svc"}.text()
	for _, want := range []string{"User=svc\n", "WantedBy=multi-user.target\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("unit lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "KillMode") {
		t.Errorf("the orchestrator has no sessions to keep:\n%s", text)
	}
}

func TestAUnitThatWasEditedIsNotOverwritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "systemd", "svc.service")
	for range 2 { // an existing file with the same text is no error
		if err := writeUnit(path, "mine\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeUnit(path, "other\n"); err == nil {
		t.Error("another unit was overwritten")
	}
	if got, _ := os.ReadFile(path); string(got) != "mine\n" {
		t.Errorf("the unit holds %q", got)
	}
}
