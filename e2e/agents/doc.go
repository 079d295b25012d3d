// Package agents tests the real agent command-line tools with the whole product: the presets of
// "svc provider add", "svc up", "svc run start", the tool in its tmux session, its hook and its end.
// The package contains only tests. Most of them need the environment of "make test-agents": the tools
// at the versions of testdata/tools.txt, and no network except the loopback interface. Otherwise they
// are skipped, and only the stand-in gateway is tested.
//
// The tools send their requests to a stand-in for a model gateway (gateway_test.go), which stores
// them. The tests do not read a screen to find the state of a run. They read it through the API, as
// any other client does.
package agents
