package state

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// Step gives typed access to a step buffer (see kernels.StepParams). Nothing here allocates.
type Step struct {
	buffer gpu.Buffer
	params *kernels.StepParams
	ring   *[kernels.RingSize]kernels.RingRecord
	alts   *[kernels.RingSize][kernels.MaxAlternatives]kernels.Alternative
	pages  *[kernels.MaxPages]uint32
	ids    *[kernels.MaxRows]uint32
}

// The views below are right only if the records have the sizes that the offsets assume.
const (
	_ = uint(kernels.RingOffset - kernels.StepOffset - unsafe.Sizeof(kernels.StepParams{}))
	_ = uint(kernels.AltsOffset - kernels.RingOffset - kernels.RingSize*unsafe.Sizeof(kernels.RingRecord{}))
)

// NewStep views a buffer of kernels.StepBytes, zeroed by the device.
func NewStep(b gpu.Buffer) (*Step, error) {
	m := b.Bytes()
	if len(m) < kernels.StepBytes {
		return nil, fmt.Errorf("step buffer of %d bytes, want %d", len(m), kernels.StepBytes)
	}
	base := unsafe.Pointer(unsafe.SliceData(m))
	return &Step{
		buffer: b,
		params: (*kernels.StepParams)(unsafe.Add(base, kernels.StepOffset)),
		ring:   (*[kernels.RingSize]kernels.RingRecord)(unsafe.Add(base, kernels.RingOffset)),
		alts:   (*[kernels.RingSize][kernels.MaxAlternatives]kernels.Alternative)(unsafe.Add(base, kernels.AltsOffset)),
		pages:  (*[kernels.MaxPages]uint32)(unsafe.Add(base, kernels.PagesOffset)),
		ids:    (*[kernels.MaxRows]uint32)(unsafe.Add(base, kernels.IDsOffset)),
	}, nil
}

// Buffer is what a pass is submitted with.
func (s *Step) Buffer() gpu.Buffer { return s.buffer }

// Params is the record that the kernels read. It is the memory itself: no pass may be in flight when it is written.
func (s *Step) Params() *kernels.StepParams { return s.params }

// reset empties the step for a slot. The page table is left: entries past the pages held are never read.
func (s *Step) reset(slot uint32) {
	*s.params = kernels.StepParams{Slot: slot, Temp: 1, TopP: 1}
	clear(s.ring[:])
	clear(s.alts[:])
}

// SetStops lists the end ids.
func (s *Step) SetStops(ids []int32) error {
	if len(ids) > kernels.MaxStops {
		return fmt.Errorf("%d end ids, at most %d are possible", len(ids), kernels.MaxStops)
	}
	s.params.Stops = [kernels.MaxStops]uint32{}
	for i, id := range ids {
		s.params.Stops[i] = uint32(id)
	}
	s.params.NumStops = uint32(len(ids))
	return nil
}

// Begin sets up a pass over the given ids at position StepParams.Pos: one chunk of a prompt. The session must have
// grown to hold them.
func (s *Step) Begin(ids []int32) error {
	if len(ids) < 1 || len(ids) > kernels.MaxRows {
		return fmt.Errorf("%d rows in a pass, want 1 to %d", len(ids), kernels.MaxRows)
	}
	for i, id := range ids {
		s.ids[i] = uint32(id)
	}
	p := s.params
	p.Rows, p.Active = uint32(len(ids)), 1
	p.Blocks = uint32(pagesFor(int(p.Pos) + len(ids)))
	return nil
}

// Advance moves past the rows of a finished pass that had no sampler; with one, the device has done so.
func (s *Step) Advance() {
	p := s.params
	p.Pos += p.Rows
	p.Rows = 0
	p.Parity ^= 1
}

// Record returns the record of token n, counted from 0 by StepParams.Step; false while it is not there. It may be
// called while passes are in flight.
func (s *Step) Record(n uint32) (kernels.RingRecord, bool) {
	r := &s.ring[n%kernels.RingSize]
	if atomic.LoadUint32(&r.Seq) != n+1 {
		return kernels.RingRecord{}, false
	}
	return *r, true
}

// Alternatives are the count most probable tokens of step n, valid once its record is. It is the memory itself.
func (s *Step) Alternatives(n uint32, count int) []kernels.Alternative {
	return s.alts[n%kernels.RingSize][:min(max(count, 0), kernels.MaxAlternatives)]
}
