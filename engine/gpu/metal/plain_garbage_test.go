//go:build (darwin || linux) && !race

package metal

import "testing"

// TestPlainMakesNoGarbage sends messages as the hot loop does. The race detector's pools lose what is in them.
func TestPlainMakesNoGarbage(t *testing.T) {
	p, m := nothing(t)
	tape := []Message{m, m, m}
	if n := testing.AllocsPerRun(100, func() { p.SendAll(tape) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
