package metal

import "testing"

func TestSystem(t *testing.T) {
	for _, c := range []struct {
		version   string
		want      System
		language  uintptr
		residency bool
		tensors   bool
	}{
		{"14.0", System{14, 0, "b"}, language31, false, false},
		{"14.7.1", System{14, 7, "b"}, language31, false, false},
		{"15", System{15, 0, "b"}, language32, true, false},
		{"15.6", System{15, 6, "b"}, language32, true, false},
		{"26.1", System{26, 1, "b"}, language40, true, false},
		{"26.2", System{26, 2, "b"}, language40, true, true},
		{"16.2", System{26, 2, "b"}, language40, true, true}, // what a binary of an old SDK is told
		{"27.0", System{27, 0, "b"}, language40, true, true},
	} {
		s, err := parseSystem(c.version, "b")
		if err != nil || s != c.want {
			t.Errorf("%s: got %v, %v, want %v", c.version, s, err, c.want)
		}
		if s.language() != c.language || s.hasResidency() != c.residency || s.hasMathMode() != c.residency ||
			s.hasTensors() != c.tensors {
			t.Errorf("%v: got language %#x, residency %v, math mode %v, tensors %v", s, s.language(), s.hasResidency(),
				s.hasMathMode(), s.hasTensors())
		}
	}
	for _, bad := range []string{"", "x", "26.x", ".1"} {
		if s, err := parseSystem(bad, ""); err == nil {
			t.Errorf("%q: got %v, want an error", bad, s)
		}
	}
	if got := (System{26, 2, ""}).String(); got != "26.2" {
		t.Errorf("got %s", got)
	}
}

func TestChunk(t *testing.T) {
	for _, c := range []struct {
		name   string
		family int
		want   int
	}{
		{"Apple M1", familyM1, 16},
		{"Apple M2 Pro", familyM1 + 1, 32},
		{"Apple M1 Ultra", familyM1, 128},
		{"Apple M4 Max", familyM3, 128},
		{"Apple M5", familyM5, 32},
		{"Apple M5 Max", familyM5, 128},
	} {
		if got := (profile{name: c.name, family: c.family}).chunk(); got != c.want {
			t.Errorf("%s: got %d rows, want %d", c.name, got, c.want)
		}
	}
}
