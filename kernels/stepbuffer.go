package kernels

// StepBuffer is the whole of a step buffer as kernels see it: they bind it by the name [StepArg] and read
// step.p.pos, step.pages[b], step.ids[r]. Its layout is that of the offsets above StepBytes.
type StepBuffer struct {
	P     StepParams
	Ring  [RingSize]RingRecord
	Alts  [RingSize * MaxAlternatives]Alternative
	Pages [MaxPages]uint32
	IDs   [MaxRows]uint32
}
