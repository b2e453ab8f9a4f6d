//go:build linux && amd64 && !race

package sim_test

import (
	"testing"

	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/metal/sim"
)

// TestNoGarbage counts what a submission allocates, the runtime included.
func TestNoGarbage(t *testing.T) {
	gputest.RunNoAlloc(t, openBuilt(t, sim.Options{}))
}
