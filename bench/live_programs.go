package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// liveCatalog returns a provider catalog with which sessions run this program. The run's arguments are the role and
// its arguments.
func liveCatalog(self string) string {
	return fmt.Sprintf("[providers.bench]\nbin = %q\nargv_template = [%q, \"{args}\"]\ntui_type = \"line_oriented\"\ninstalled_detection = [%q, \"live-installed\"]\n",
		self, childArg, childArg)
}

func liveInstalled(context.Context, pipe) error { return nil }

// livePrinter is a program that writes four lines a second while the file named by its argument exists, or always
// with the argument "always".
func livePrinter(context.Context, pipe) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	fmt.Println("here")
	for i := 0; ; i++ {
		<-tick.C
		if os.Args[3] != "always" {
			if _, err := os.Stat(os.Args[3]); err != nil {
				continue
			}
		}
		fmt.Println("line", i, strings.Repeat("of a usual length ", 4))
	}
}

// liveFlood is a program that writes 10 MB/s while the file named by its argument exists.
func liveFlood(context.Context, pipe) error {
	text := []byte(strings.Repeat("0123456789 the quick brown fox jumps over the lazy dog, again and again\n", 1400)) // 100 KB
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	fmt.Println("here")
	for range tick.C {
		if _, err := os.Stat(os.Args[3]); err == nil {
			if _, err := os.Stdout.Write(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// liveEcho is a program that draws each key at the same place.
func liveEcho(context.Context, pipe) error {
	// #nosec G204 -- a fixed command
	stty := exec.Command("stty", "raw", "-echo")
	stty.Stdin = os.Stdin
	if err := stty.Run(); err != nil {
		return err
	}
	fmt.Print("\x1b[2J\x1b[Hready")
	b := make([]byte, 64)
	for {
		n, err := os.Stdin.Read(b)
		if err != nil {
			return err
		}
		for _, c := range b[:n] {
			if _, err := fmt.Printf("\x1b[2;1H%c", c); err != nil {
				return err
			}
		}
	}
}

// touch makes or removes the file that a program waits for.
func touch(path string, there bool) error {
	if !there {
		return os.Remove(path)
	}
	return os.WriteFile(filepath.Clean(path), nil, 0o600)
}
