package gpu

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"sotto/kernels"
)

// Bounds of an op that every driver can rely on.
const (
	Align         = 16   // bytes: every argument starts at a multiple of it
	MaxArgs       = 30   // buffers of an op, its parameters not counted
	MaxParams     = 4096 // bytes of a parameter struct
	MaxSimdgroups = 32   // a threadgroup
	MaxLimits     = 2    // grid limits of an op
)

// ParamBytes is the size of all parameter structs, each at a multiple of [ParamAlign].
func (p *Program) ParamBytes() int64 {
	n := int64(0)
	for i := range p.Ops {
		n += p.Ops[i].ParamBytes()
	}
	return n
}

// ParamBytes is the size of the op's parameters and of the gap behind them.
func (op *Op) ParamBytes() int64 {
	return (int64(len(op.Params)) + ParamAlign - 1) / ParamAlign * ParamAlign
}

// Validate checks everything that can be known without a device: that each op has the buffers and parameters
// that its kernel names, that ranges lie inside their regions and are aligned, and that geometry and limits
// are in bounds. Arguments may be left unbound (a zero Slice): kernels see [ZeroBytes] of zeroes there.
func (p *Program) Validate() error {
	if p.Rows < 1 {
		return fmt.Errorf("program %s: %d rows", p.Name, p.Rows)
	}
	if uint64(len(p.Ops)) > math.MaxUint32 {
		return fmt.Errorf("program %s: %d ops", p.Name, len(p.Ops))
	}
	names := map[string]*Region{}
	for i := range p.Ops {
		op := &p.Ops[i]
		if err := op.validate(names); err != nil {
			return fmt.Errorf("program %s: op %d (%s): %w", p.Name, i, op.Label, err)
		}
	}
	return nil
}

func (op *Op) validate(names map[string]*Region) error {
	k := op.Kernel
	switch {
	case k == nil:
		return errors.New("no kernel")
	case len(k.Args) > MaxArgs:
		return fmt.Errorf("kernel %s takes %d buffers, more than %d", k.Name, len(k.Args), MaxArgs)
	case len(op.Args) != len(k.Args):
		return fmt.Errorf("%d buffers, but kernel %s takes %d", len(op.Args), k.Name, len(k.Args))
	case op.Touch != nil && len(op.Touch) != len(op.Args):
		return fmt.Errorf("%d touched sizes for %d buffers", len(op.Touch), len(op.Args))
	}
	if err := op.validateLaunch(); err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	for i, s := range op.Args {
		if err := op.validateArg(i, s, names); err != nil {
			return fmt.Errorf("kernel %s: argument %s: %w", k.Name, k.Args[i].Name, err)
		}
	}
	return nil
}

func (op *Op) validateLaunch() error {
	want := 0
	if op.Kernel.Params != nil {
		want = int(reflect.TypeOf(op.Kernel.Params).Size())
	}
	switch {
	case len(op.Params) != want:
		return fmt.Errorf("%d bytes of parameters, want %d", len(op.Params), want)
	case len(op.Params) > MaxParams:
		return fmt.Errorf("%d bytes of parameters, more than %d", len(op.Params), MaxParams)
	case op.Simdgroups < 1 || op.Simdgroups > MaxSimdgroups:
		return fmt.Errorf("%d simdgroups a threadgroup, want 1 to %d", op.Simdgroups, MaxSimdgroups)
	case len(op.Limits) > MaxLimits:
		return fmt.Errorf("%d limits, more than %d", len(op.Limits), MaxLimits)
	}
	groups := uint64(1)
	for _, n := range op.Grid {
		if groups *= uint64(n); n == 0 || groups > math.MaxInt32 {
			return fmt.Errorf("grid %v is empty or holds 2^31 threadgroups or more", op.Grid)
		}
	}
	for _, l := range op.Limits {
		if !inStep(l) {
			return fmt.Errorf("limit %+v: dimension, divisor or offset out of range", l)
		}
	}
	return nil
}

// inStep reports whether a limit cuts a dimension that exists by a number of the step record.
func inStep(l kernels.Limit) bool {
	return l.Dim >= 0 && l.Dim <= 2 && l.Div != 0 && l.Offset%4 == 0 &&
		uint64(l.Offset)+4 <= uint64(unsafe.Sizeof(kernels.StepParams{}))
}

func (op *Op) validateArg(i int, s Slice, names map[string]*Region) error {
	a := op.Kernel.Args[i]
	switch {
	case a.Access == 0 || a.Access > kernels.ReadWrite:
		return fmt.Errorf("access %d", a.Access)
	case (a.Name == kernels.StepArg) != (s.Region == Step) || s.Region == Step && s.Off != 0:
		return fmt.Errorf("the argument named %s, and no other, is bound to the start of the step buffer",
			kernels.StepArg)
	case s.Region == nil && s != (Slice{}):
		return errors.New("a range without a region")
	case s.Len == 0 && a.Access != kernels.Read:
		return errors.New("unbound, but the kernel writes it")
	case s.Region == nil:
		return nil
	case op.Touch != nil && op.Touch[i] < 0:
		return fmt.Errorf("touches %d bytes", op.Touch[i])
	}
	if first, ok := names[s.Region.Name]; ok && first != s.Region {
		return fmt.Errorf("two regions are named %s", s.Region.Name)
	}
	names[s.Region.Name] = s.Region
	return s.validate()
}

// validate checks a range of a region.
func (s Slice) validate() error {
	r := s.Region
	switch {
	case r.Size < 0 || s.Off < 0 || s.Len < 0 || s.Off > r.Size || s.Len > r.Size-s.Off:
		return fmt.Errorf("range %d+%d is outside region %s of %d bytes", s.Off, s.Len, r.Name, r.Size)
	case s.Off%Align != 0:
		return fmt.Errorf("offset %d in region %s is not a multiple of %d", s.Off, r.Name, Align)
	}
	return nil
}
