package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"svc/internal/proctest"
)

// programEnv names the environment variable that makes this binary run one of the programs below
// instead of the tests.
const programEnv = "SVC_LIVE_PROGRAM"

// programs are the programs that run in the terminals of the tests.
var programs = map[string]func(args []string) error{
	"write":  writeProgram,
	"copy":   copyProgram,
	"size":   sizeProgram,
	"typed":  typedProgram,
	"lines":  linesProgram,
	"screen": screenProgram,
}

func runProgram(name string, args []string) int {
	run := programs[name]
	if run == nil {
		fmt.Fprintln(os.Stderr, "there is no program", name)
		return 2
	}
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	return 0
}

// program returns a shell line that replaces the shell with one of the programs.
func program(name string, args ...string) string {
	self, err := os.Executable()
	if err != nil {
		panic("live: find the path of this program: " + err.Error())
	}
	words := []string{programEnv + "=" + name, "exec", quoted(self)}
	for _, a := range args {
		words = append(words, quoted(a))
	}
	return strings.Join(words, " ")
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// raw sets the terminal to raw mode, in which it passes every byte unchanged in both directions.
func raw() error {
	_, err := term.MakeRaw(int(os.Stdin.Fd()))
	return err
}

// waitForFile waits until a file exists. With an empty path it returns at once.
func waitForFile(path string) {
	for path != "" {
		if _, err := os.Stat(path); err == nil {
			return
		}
		proctest.Pause(10 * time.Millisecond)
	}
}

// writeProgram writes the bytes of a scene (the first argument) and exits immediately after. In the
// middle it waits for a file (the second argument; empty: it does not wait).
func writeProgram(args []string) error {
	s := scenes[args[0]]
	if s.raw {
		if err := raw(); err != nil {
			return err
		}
	}
	all := s.bytes()
	half := len(all) / 2
	if err := writeAll(all[:half]); err != nil {
		return err
	}
	waitForFile(args[1])
	return writeAll(all[half:])
}

// writeAll writes in pieces of different sizes, so that some end in the middle of a character or an
// escape sequence.
func writeAll(b []byte) error {
	for piece := 1; len(b) > 0; piece = piece*7%8191 + 1 {
		n := min(piece, len(b))
		if _, err := os.Stdout.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// copyProgram runs a program (the arguments after the first) in a new terminal. It copies the
// program's output unchanged to this terminal and to a file (the first argument), with which a test
// compares the log.
func copyProgram(args []string) error {
	if err := raw(); err != nil {
		return err
	}
	file, err := os.Create(args[0])
	if err != nil {
		return err
	}
	cmd := exec.Command(args[1], args[2:]...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 220})
	if err != nil {
		return err
	}
	go func() { _, _ = io.Copy(tty, os.Stdin) }() // it ends with this process
	if _, err = io.Copy(io.MultiWriter(os.Stdout, file), tty); errors.Is(err, syscall.EIO) {
		err = nil // a terminal returns EIO after its last program has ended
	}
	return errors.Join(err, file.Close(), cmd.Wait())
}

// sizeProgram prints the size of its terminal at the start and after each SIGWINCH, and prints each
// line that it reads. It exits after the line "end".
func sizeProgram([]string) error {
	changes := make(chan os.Signal, 100)
	signal.Notify(changes, syscall.SIGWINCH)
	lines := readLines()
	tell := func(what string) error {
		cols, rows, err := term.GetSize(int(os.Stdin.Fd()))
		fmt.Printf("[%s %dx%d]\n", what, cols, rows)
		return err
	}
	if err := tell("start"); err != nil {
		return err
	}
	for {
		select {
		case <-changes:
			if err := tell("changed"); err != nil {
				return err
			}
		case line, more := <-lines:
			if !more || line == "end" {
				return nil
			}
			fmt.Printf("[said %s]\n", line)
		}
	}
}

// readLines returns a channel with the lines of standard input.
func readLines() <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		var line []byte
		b := make([]byte, 4096)
		for {
			n, err := os.Stdin.Read(b)
			for _, c := range b[:n] {
				if c == '\n' || c == '\r' {
					lines <- string(line)
					line = line[:0]
				} else {
					line = append(line, c)
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// typedProgram appends every byte that it reads to a file (the first argument). It exits when the
// input ends with the second argument. With a third argument it leaves the terminal in cooked mode,
// and prints a line on SIGINT.
func typedProgram(args []string) error {
	interrupts := make(chan os.Signal, 10)
	if len(args) > 2 {
		signal.Notify(interrupts, os.Interrupt)
		go func() {
			for range interrupts {
				fmt.Println("[interrupted]")
			}
		}()
	} else if err := raw(); err != nil {
		return err
	}
	file, err := os.Create(args[0])
	if err != nil {
		return err
	}
	fmt.Print("[ready]")
	var last string
	b := make([]byte, 64<<10)
	for !strings.HasSuffix(last, args[1]) {
		n, err := os.Stdin.Read(b)
		if err != nil {
			return err
		}
		if _, err := file.Write(b[:n]); err != nil {
			return err
		}
		last += string(b[:n])
		last = last[max(0, len(last)-len(args[1])):]
	}
	return file.Close()
}

// linesProgram writes numbered lines, with a pause (the first argument) after each, until a file
// (the second argument) exists.
func linesProgram(args []string) error {
	pause, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	for i := 1; ; i++ {
		if _, err := fmt.Println("line " + strconv.Itoa(i)); err != nil {
			return err
		}
		if _, err := os.Stat(args[1]); err == nil {
			return nil
		}
		if pause > 0 {
			proctest.Pause(pause)
		}
	}
}

// screenProgram draws a known screen and waits until a file (the first argument) exists. It then
// changes the first row and exits without clearing the screen.
func screenProgram(args []string) error {
	if err := raw(); err != nil {
		return err
	}
	if err := writeAll(drawing()); err != nil {
		return err
	}
	waitForFile(args[0])
	_, err := io.WriteString(os.Stdout, drawingEnd)
	return err
}
