package sim

import "testing"

// TestCover compares covers with sets.
func TestCover(t *testing.T) {
	type set = map[uint64]bool
	check := func(what string, c cover, want set) {
		t.Helper()
		for n := uint64(1); n < 200; n++ {
			if c.has(n) != want[n] {
				t.Errorf("%s: pass %d: got %v, want %v", what, n, c.has(n), want[n])
			}
		}
	}
	var a cover
	want := set{}
	for _, n := range []uint64{1, 3, 2, 5, 64, 65} {
		a.add(n)
		want[n] = true
		check("add", a, want)
	}
	if a.base != 3 {
		t.Errorf("got base %d, want 3", a.base)
	}
	a.add(100) // too far ahead: forgotten, which can only report too much
	check("far", a, want)

	b := cover{base: 10}
	b.add(12)
	both := set{12: true, 64: true, 65: true}
	for n := uint64(1); n <= 10; n++ {
		both[n] = true
	}
	c := a
	c.join(b)
	check("join", c, both)
	b.join(a)
	check("join the other way", b, both)
	far := cover{base: 150}
	far.join(a)
	if far != (cover{base: 150}) {
		t.Errorf("got %+v", far)
	}
}
