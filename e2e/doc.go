// Package e2e drives the product the way people do: scripts that read like a
// shell history, against the real binary, a real orchestrator, a real worker and
// real tmux sessions. It holds tests only.
//
// Run one script with
//
//	go test ./e2e -run 'TestScripts/run_watch'
//
// and -update rewrites what the scripts compare with.
package e2e
