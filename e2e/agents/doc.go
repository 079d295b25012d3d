// Package agents runs the real agent command-line tools through the whole product: the presets of
// "svc provider add", "svc up", "svc run start", the tool in its tmux session, its hook, its end. It
// holds tests only, and most of them need what "make test-agents" sets up: the tools at the versions
// of testdata/tools.txt, and a world in which the loopback interface is the only network. Without
// that they are skipped, and only the stand-in gateway is tested.
//
// The tools talk to a model gateway of ours (gateway_test.go), which keeps what it was asked.
// Nothing here reads a screen to find out how a run stands: that comes from signals, through the
// API, as for any other client.
package agents
