// Package e2e tests the product as people use it: scripts that read like a
// shell history run the real binary, a real orchestrator, a real worker and real
// tmux sessions. The package contains only tests.
//
// Run one script with
//
//	go test ./e2e -run 'TestScripts/run_watch'
//
// With -update the tests rewrite the expected output in the scripts.
package e2e
