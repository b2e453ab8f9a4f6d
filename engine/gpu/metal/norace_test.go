//go:build linux && amd64 && !race

package metal_test

const raceEnabled = false
