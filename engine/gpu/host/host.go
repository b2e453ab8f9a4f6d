// Package host is the device driver for x86-64 Linux: it runs the kernels, compiled from the same sources as
// for Metal, on the processor. A program is packed once into memory that the kernel library reads directly, so
// that a replay is one C call, without garbage. Submissions run in order on one thread of the driver's own,
// which shares the work of each stage with the library's worker threads.
//
// The driver needs a kernel library: the fast build (one lane a simdgroup) is embedded in the binary, any other
// build is given by path. It knows nothing of models and does not tune itself.
package host

import "log/slog"

// Options chooses a kernel library and how it runs. The zero value is the embedded library on all processors.
type Options struct {
	Library string // path of a kernel library; "" is the embedded one
	Threads int    // worker threads, the caller's included; 0: one for each processor that may be used
	// Seed shuffles the order of simdgroups, of threadgroups and of the ops of a stage, for tests: results must
	// not depend on it. 0 keeps the natural order.
	Seed   uint64
	Logger *slog.Logger // nil: silent
}

// chunkRows is how many rows of the built-in model's size two processors prefill in about 100 ms.
const chunkRows = 64
