package gpu

import (
	"fmt"

	"sotto/kernels"
)

// Bindings checks and returns the buffers of all regions of a program but the step, for a driver whose buffers are B.
// own tells whether a buffer is a live one of the device, and whether it is mapped and so for reading only.
func Bindings[B interface {
	comparable
	Buffer
}](p *Program, bind map[*Region]Buffer, own func(B) (live, mapped bool)) (map[*Region]B, error) {
	bound, owner := map[*Region]B{}, map[B]*Region{}
	for i := range p.Ops {
		op := &p.Ops[i]
		for j, s := range op.Args {
			r := s.Region
			if r == nil || r == Step {
				continue
			}
			b, ok := bind[r].(B)
			live, mapped := false, false
			if ok {
				live, mapped = own(b)
			}
			switch {
			case !live:
				return nil, fmt.Errorf("region %s has no live buffer of this device", r.Name)
			case b.Size() < r.Size:
				return nil, fmt.Errorf("region %s needs %d bytes, its buffer has %d", r.Name, r.Size, b.Size())
			case mapped && op.Kernel.Args[j].Access&kernels.Write != 0:
				return nil, fmt.Errorf("op %s writes region %s, which is mapped for reading", op.Label, r.Name)
			case owner[b] != nil && owner[b] != r:
				return nil, fmt.Errorf("regions %s and %s share a buffer", r.Name, owner[b].Name)
			}
			bound[r], owner[b] = b, r
		}
	}
	return bound, nil
}
