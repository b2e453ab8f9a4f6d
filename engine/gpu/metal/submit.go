package metal

import (
	"errors"
	"fmt"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// Submit encodes one replay. It does not allocate.
func (d *Device) Submit(x gpu.Exec, step gpu.Buffer) (uint64, error) {
	if d.closed {
		return 0, &gpu.Error{Op: "submit", Err: gpu.ErrClosed}
	}
	e, ok := x.(*exec)
	if !ok || e.dev != d || e.tape == nil {
		return 0, &gpu.Error{Op: "submit", Err: errors.New("no live program of this device")}
	}
	b, ok := step.(*buffer)
	if !ok || b.dev != d || b.mapped || len(b.mem) < kernels.StepBytes {
		return 0, &gpu.Error{Op: "submit", Err: fmt.Errorf("program %s: the step buffer is not a live buffer of "+
			"this device with %d bytes", e.program.Name, kernels.StepBytes)}
	}
	for _, o := range e.buffers {
		if o.mem == nil || o == b {
			return 0, &gpu.Error{Op: "submit", Err: fmt.Errorf("program %s: a buffer of it was freed or is the step "+
				"buffer", e.program.Name)}
		}
	}
	n, err := d.queue.submit(e, b)
	if err != nil {
		return 0, &gpu.Error{Op: "submit", Err: err}
	}
	return n, nil
}
