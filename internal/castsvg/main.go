// Command castsvg makes an animated SVG of a recording of a terminal (asciicast v2). The picture needs no script and
// no font of its own, and is readable on light and dark pages.
//
//	castsvg [-title TEXT] [-idle-limit TIME] FILE >PICTURE
//
// The same recording always results in the same bytes. The picture shows the part of the screen that was ever written
// to.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"svc/asciicast"
)

func main() {
	title := flag.String("title", "", "print this `TEXT` above the screen")
	idle := flag.Duration("idle-limit", 700*time.Millisecond, "wait at most this `TIME` for what comes next")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: castsvg [-title TEXT] [-idle-limit TIME] FILE >PICTURE")
		os.Exit(2)
	}
	if err := render(os.Stdout, flag.Arg(0), *title, *idle); err != nil {
		fmt.Fprintln(os.Stderr, "castsvg:", err)
		os.Exit(1)
	}
}

func render(out io.Writer, path, title string, idle time.Duration) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	cast, err := asciicast.NewReader(file)
	if err != nil {
		return err
	}
	f, err := filmOf(cast, idle)
	if err != nil {
		return err
	}
	_, err = out.Write(draw(f, title))
	return err
}
