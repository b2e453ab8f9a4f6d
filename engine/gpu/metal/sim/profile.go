package sim

// Profile is a GPU. The limits of memory are those of one machine with it, not of all.
type Profile struct {
	Name       string // as MTLDevice says it
	Family     int    // newest MTLGPUFamily of Apple's, less 1000
	WorkingSet int64  // recommendedMaxWorkingSetSize, bytes
	MaxBuffer  int64  // maxBufferLength, bytes
}

const gib = 1 << 30

// The generations of Apple's GPUs in Macs, by the smallest machine that Sotto is for.
var (
	M1 = Profile{"Apple M1", 7, 16 * gib * 2 / 3, 8 * gib}
	M2 = Profile{"Apple M2", 8, 16 * gib * 2 / 3, 8 * gib}
	M3 = Profile{"Apple M3", 9, 24 * gib * 2 / 3, 12 * gib}
	M4 = Profile{"Apple M4", 9, 24 * gib * 2 / 3, 12 * gib}
	M5 = Profile{"Apple M5", 10, 32 * gib * 3 / 4, 18 * gib}
)

// Profiles lists the generations, oldest first.
func Profiles() []Profile { return []Profile{M1, M2, M3, M4, M5} }

// families that are not a generation, by MTLGPUFamily, with the first of Apple's that has all of it.
var families = map[uintptr]int{
	2001: 1, 2002: 6, // Mac
	3001: 1, 3002: 2, 3003: 3, // Common
	5001: 7, // Metal 3
}

// Numbers of MTLGPUFamily that need more than the generation.
const (
	familyMetal4  = 5002
	familyApple   = 1000
	familyApple10 = 1010
	simdLanes     = 32
	maxThreads    = 1024 // a threadgroup
)

// supports answers supportsFamily:.
func (r *Runtime) supports(family uintptr) bool {
	switch {
	case family > familyApple && family <= familyApple10:
		// A system knows the generations that are older than it.
		return int(family-familyApple) <= r.gpu.Family && (family < familyApple10 || r.os.Major >= 26)
	case family == familyMetal4:
		return r.gpu.Family >= 7 && r.os.Major >= 26
	}
	first, ok := families[family]
	return ok && r.gpu.Family >= first
}
