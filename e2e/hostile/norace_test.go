//go:build !race

package hostile

// raceDetector reports whether the tests run with the race detector, which multiplies the orchestrator's memory.
const raceDetector = false
