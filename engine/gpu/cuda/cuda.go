// Package cuda is a device driver for NVIDIA GPUs that checks kernels on real hardware; it is not built for speed.
// It loads the kernels as PTX or cubin files through libcuda, without cgo. A submission copies in every buffer
// whose bytes the caller has seen, launches the ops one by one, waits for each, and copies out what they wrote;
// so Submit returns when all is done, and an error names the kernel. Memory is plain device memory with a shadow
// on the host: managed and mapped memory are not used. Grid limits are ignored, which shows that kernels are
// right on whole grids.
package cuda

import "log/slog"

// Options says where the kernels are.
type Options struct {
	// Dir holds a file for each kernel source: gemv.cubin or gemv.ptx for gemv.metal.
	Dir    string
	Logger *slog.Logger // nil: silent
}
