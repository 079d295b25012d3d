//go:build !race

package proctest

const raceDetector = false
