//go:build race

package proctest

// raceDetector: a test binary with the race detector tests a product binary with it.
const raceDetector = true
