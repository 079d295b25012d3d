//go:build race

package proctest

// raceDetector: tests with the race detector test a binary with it.
const raceDetector = true
