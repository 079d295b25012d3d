// Command svc is the orchestrator, the worker, the wrapper inside a session and
// the operator's command line, in one binary.
package main

import (
	"os"

	"svc/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
