package metal

import "testing"

func TestProbeCheck(t *testing.T) {
	c := make([]byte, 4*probeM*probeN)
	if err := checkProbe(c); err == nil {
		t.Error("a product of zeroes passes")
	}
}
