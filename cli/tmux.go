package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"svc/tmux"
)

// checkTmux returns the version of tmux, or an error that says how to install it.
func checkTmux(ctx context.Context) (string, error) {
	version, err := tmux.Server{}.Version(ctx)
	if errors.Is(err, tmux.ErrNotInstalled) {
		return "", &problem{what: "tmux is not installed", why: "every run lives in a tmux session on its host", next: installTmux(), exit: exitFailed, err: err}
	}
	if err != nil {
		return "", err
	}
	if tmux.TooOld(version) {
		return "", &problem{
			what: fmt.Sprintf("tmux %s is too old", version), why: tmux.MinVersion + " or newer is needed",
			next: installTmux(), exit: exitFailed,
		}
	}
	return version, nil
}

// installers are the commands of the package managers, by the names of systems in /etc/os-release.
var installers = []struct{ systems, command string }{
	{"debian ubuntu", "sudo apt-get install tmux"},
	{"fedora rhel centos", "sudo dnf install tmux"},
	{"arch", "sudo pacman -S tmux"},
	{"alpine", "sudo apk add tmux"},
	{"suse opensuse", "sudo zypper install tmux"},
}

// installTmux returns the command that installs tmux on this system.
func installTmux() string {
	if runtime.GOOS == "darwin" {
		return "brew install tmux"
	}
	release, _ := os.ReadFile("/etc/os-release") // without the file, the system is unknown
	for _, i := range installers {
		for system := range strings.FieldsSeq(i.systems) {
			if isSystem(string(release), system) {
				return i.command
			}
		}
	}
	return "install tmux with the package manager of this system"
}

func isSystem(release, system string) bool {
	for line := range strings.Lines(release) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name != "ID" && name != "ID_LIKE" {
			continue
		}
		for word := range strings.FieldsSeq(strings.Trim(value, `"`)) {
			if word == system {
				return true
			}
		}
	}
	return false
}
