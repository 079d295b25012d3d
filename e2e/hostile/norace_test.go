//go:build !race

package hostile

// raceDetector multiplies the memory of the orchestrator.
const raceDetector = false
