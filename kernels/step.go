package kernels

// Sizes of the step buffer's parts. A step buffer is the only binding that changes between replays: it holds
// a StepParams record, then the token ring, the page table and the ids of the rows:
//
//	StepOffset   StepParams (256 bytes)
//	RingOffset   RingRecord[RingSize]
//	AltsOffset   Alternative[RingSize][MaxAlternatives]
//	PagesOffset  u32[MaxPages]   page of key block b of this session
//	IDsOffset    u32[MaxRows]    token ids of the rows of this pass; decode hands its token on in ids[0]
const (
	RingSize        = 64   // records; token n goes to record n % RingSize
	MaxAlternatives = 20   // log-probability alternatives a token
	MaxPages        = 1024 // key blocks of 256: a window of 262,144
	MaxRows         = 4096 // rows of a pass
	KeyBlock        = 256  // keys a block: unit of attention splits, pages and snapshots
	MaxStops        = 16   // end-of-text ids

	StepOffset  = 0
	RingOffset  = 256
	AltsOffset  = RingOffset + RingSize*48
	PagesOffset = AltsOffset + RingSize*MaxAlternatives*8
	IDsOffset   = PagesOffset + MaxPages*4
	StepBytes   = IDsOffset + MaxRows*4
)

// StepParams is everything that changes from step to step. The host fills it before a prefill chunk; in
// decode the last kernel of a pass advances it on the device.
type StepParams struct {
	Pos      uint32 // position of the first row of this pass = tokens already consumed
	Rows     uint32 // live rows of this pass
	Active   uint32 // 0: kernels that write state or tokens return at once
	Slot     uint32 // session slot of the state arenas
	Blocks   uint32 // key blocks that exist after this pass: ceil((Pos+Rows)/KeyBlock)
	Parity   uint32 // conv state is read from half Parity&1 and written to the other; flips each pass
	Step     uint32 // tokens sampled so far: counter of the generator and of the ring
	Limit    uint32 // Active is cleared when Step reaches it
	SeedLo   uint32 // Philox4x32-10 key
	SeedHi   uint32
	Greedy   uint32 // 1: argmax, ties to the lower id; the sampling fields are not read
	TopK     uint32 // 0: off
	Temp     float32
	TopP     float32 // 1: off
	MinP     float32 // 0: off
	Alts     uint32  // alternatives to record with log-probabilities, 0 to MaxAlternatives
	Logprobs uint32  // 1: record the log-probability of the chosen token
	NumStops uint32
	Stops    [MaxStops]uint32 // a token that is one of these clears Active
	Reserved [30]uint32
}

// RingRecord is what one decode step leaves for the host.
type RingRecord struct {
	Seq    uint32 // Step+1 of this token, written last: a record is valid when Seq is the expected one
	Count  uint32 // tokens, 1 without drafts
	Tokens [5]uint32
	Flags  uint32     // RingStopped when a stop id or the limit cleared Active
	Logs   [4]float32 // log-probability of Tokens[0..3] under the model at temperature 1
}

// Flags of a RingRecord.
const (
	RingStopped uint32 = 1 << iota // an end id was sampled
	RingLimit                      // Limit was reached
	RingNaN                        // the logits held a NaN: the token is not to be used
)

// Alternative is one of the most probable tokens of a step.
type Alternative struct {
	ID  uint32
	Log float32
}
