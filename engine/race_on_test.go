//go:build race

package engine

// raceDetector is on: it allocates too.
const raceDetector = true
