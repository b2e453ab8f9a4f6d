package state_test

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"sotto/engine/state"
	"sotto/kernels"
)

func TestStep(t *testing.T) {
	a, _ := newArena(t, state.Config{Slots: 1, Window: 1024})
	s := open(t, a)
	step := s.Step()
	mem := step.Buffer().Bytes()
	u32 := func(off int) uint32 { return binary.LittleEndian.Uint32(mem[off:]) }

	if err := step.SetStops([]int32{7, 9}); err != nil {
		t.Fatal(err)
	}
	if err := step.Begin([]int32{5, 6, 4095}); err != nil {
		t.Fatal(err)
	}
	var p kernels.StepParams
	want := map[string][2]int{
		"rows": {int(unsafe.Offsetof(p.Rows)), 3}, "active": {int(unsafe.Offsetof(p.Active)), 1},
		"blocks": {int(unsafe.Offsetof(p.Blocks)), 1}, "stops": {int(unsafe.Offsetof(p.NumStops)), 2},
		"second stop": {int(unsafe.Offsetof(p.Stops)) + 4, 9},
		"first id":    {kernels.IDsOffset, 5}, "last id": {kernels.IDsOffset + 8, 4095},
	}
	for name, w := range want {
		if got := u32(w[0]); got != uint32(w[1]) {
			t.Errorf("%s: got %d, want %d", name, got, w[1])
		}
	}
	step.Advance()
	if got := *step.Params(); got.Pos != 3 || got.Parity != 1 || got.Rows != 0 {
		t.Errorf("after a pass: %+v", got)
	}
	if err := step.Begin(make([]int32, 254)); err != nil {
		t.Fatal(err)
	}
	if got := step.Params().Blocks; got != 2 {
		t.Errorf("blocks: got %d, want 2", got)
	}
	step.Advance()
	s.Reset()
	if got, want := *step.Params(), (kernels.StepParams{Temp: 1, TopP: 1}); got != want {
		t.Errorf("after a reset: %+v", got)
	}
	for _, n := range []int{0, kernels.MaxRows + 1} {
		if err := step.Begin(make([]int32, n)); err == nil {
			t.Errorf("%d rows accepted", n)
		}
	}
	if err := step.SetStops(make([]int32, kernels.MaxStops+1)); err == nil {
		t.Error("too many end ids accepted")
	}
}

func TestRing(t *testing.T) {
	a, _ := newArena(t, state.Config{Slots: 1, Window: 1024})
	step := open(t, a).Step()
	mem := step.Buffer().Bytes()
	put := func(n, token uint32) {
		off := kernels.RingOffset + int(n%kernels.RingSize)*int(unsafe.Sizeof(kernels.RingRecord{}))
		binary.LittleEndian.PutUint32(mem[off+4:], 1)
		binary.LittleEndian.PutUint32(mem[off+8:], token)
		binary.LittleEndian.PutUint32(mem[off:], n+1)
	}
	if _, ok := step.Record(0); ok {
		t.Error("a record before the first token")
	}
	put(0, 11)
	if r, ok := step.Record(0); !ok || r.Count != 1 || r.Tokens[0] != 11 {
		t.Errorf("record %+v, %v", r, ok)
	}
	if _, ok := step.Record(kernels.RingSize); ok {
		t.Error("the record of a lap before is taken for this one")
	}
	put(kernels.RingSize, 12)
	if r, ok := step.Record(kernels.RingSize); !ok || r.Tokens[0] != 12 {
		t.Errorf("record %+v, %v", r, ok)
	}
	binary.LittleEndian.PutUint32(mem[kernels.AltsOffset+8*(kernels.MaxAlternatives*2+1):], 77)
	if alts := step.Alternatives(kernels.RingSize+2, 3); len(alts) != 3 || alts[1].ID != 77 {
		t.Errorf("alternatives %v", alts)
	}
	if alts := step.Alternatives(0, 99); len(alts) != kernels.MaxAlternatives {
		t.Errorf("%d alternatives", len(alts))
	}
}

func TestStepMakesNoGarbage(t *testing.T) {
	a, _ := newArena(t, state.Config{Slots: 1, Window: 1024})
	s := open(t, a)
	step, ids, sum := s.Step(), make([]int32, 64), uint32(0)
	n := testing.AllocsPerRun(50, func() {
		if step.Begin(ids) != nil || s.Grow(500) != nil {
			t.Fatal("refused")
		}
		step.Advance()
		r, _ := step.Record(3)
		sum += r.Seq + step.Alternatives(3, 2)[0].ID
	})
	if n != 0 {
		t.Errorf("%v allocations a pass", n)
	}
}

func TestNewStepTooSmall(t *testing.T) {
	if _, err := state.NewStep(&memory{mem: make([]byte, kernels.StepBytes-1)}); err == nil {
		t.Error("accepted")
	}
}
