package metal

import (
	"cmp"
	"slices"
	"sync/atomic"
	"unsafe"

	"sotto/engine/gpu"
	"sotto/kernels"
)

const (
	dispatchConcurrent = 1 // MTLDispatchTypeConcurrent
	barrierBuffers     = 1 // MTLBarrierScopeBuffers
)

// size is an MTLSize.
type size [3]uint

// tape is a program as messages to an encoder, ready but for the encoder itself, the step buffer and, where they may
// shrink, the sizes of grids. Memory that messages point to lies in its slices, which stay where they are.
type tape struct {
	messages []Message
	ids      []ID      // buffers of all ops, argument by argument
	offsets  []uintptr // in these buffers
	steps    []int     // indices in ids that receive the step buffer
	grids    []size    // of dispatches, then threadgroups; the receiver of a message may spoil them
	given    []size    // as recorded
	limits   []limit
}

// limit is a grid that may be cut to what the step record says.
type limit struct {
	grid int // index in grids
	kernels.Limit
}

// record lays the program out: ops by stage, a barrier before each stage but the first.
func (d *Device) record(x *exec, bound map[*gpu.Region]*buffer, pipelines []ID, params []int64) *tape {
	ops := x.program.Ops
	stages := x.program.Stages()
	r := &recorder{d: d, bound: bound, tape: newTape(ops)}
	stage, pipeline, moved := 1, ID(0), false
	for _, i := range inOrder(stages) {
		if stages[i] != stage {
			stage = stages[i]
			r.add(encodeBarrier, barrierBuffers)
		}
		if pipelines[i] != pipeline {
			pipeline = pipelines[i]
			r.add(encodePipeline, uintptr(pipeline))
		}
		r.bind(&ops[i], x.params.obj.id, params[i])
		r.dispatch(&ops[i], moved)
		moved = moved || movesStep(&ops[i])
	}
	r.tape.given = slices.Clone(r.tape.grids)
	return r.tape
}

// inOrder returns the ops by stage.
func inOrder(stages []int) []int {
	order := make([]int, len(stages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(stages[a], stages[b]) })
	return order
}

// movesStep reports whether an op writes the step record.
func movesStep(op *gpu.Op) bool {
	for j, s := range op.Args {
		if s.Region == gpu.Step && op.Kernel.Args[j].Access&kernels.Write != 0 {
			return true
		}
	}
	return false
}

// newTape makes room for ops, so that nothing moves while they are recorded.
func newTape(ops []gpu.Op) *tape {
	args := 0
	for i := range ops {
		args += 1 + len(ops[i].Args)
	}
	return &tape{
		ids: make([]ID, 0, args), offsets: make([]uintptr, 0, args), grids: make([]size, 0, 2*len(ops)),
		messages: make([]Message, 0, 4*len(ops)),
	}
}

type recorder struct {
	d     *Device
	bound map[*gpu.Region]*buffer
	tape  *tape
}

func (r *recorder) add(f method, args ...uintptr) {
	r.tape.messages = append(r.tape.messages, r.d.objc.message(f, 0, args...))
}

// bind binds the parameters and arguments of an op; what is unbound sees zeroes.
func (r *recorder) bind(op *gpu.Op, params ID, offset int64) {
	t := r.tape
	at := len(t.ids)
	t.put(r.d.zero.obj.id, 0)
	if len(op.Params) > 0 {
		t.ids[at], t.offsets[at] = params, uintptr(offset)
	}
	for _, s := range op.Args {
		switch {
		case s.Len == 0:
			t.put(r.d.zero.obj.id, 0)
		case s.Region == gpu.Step:
			t.steps = append(t.steps, len(t.ids))
			t.put(0, 0)
		default:
			t.put(r.bound[s.Region].place(s))
		}
	}
	r.add(encodeBuffers, uintptr(unsafe.Pointer(&t.ids[at])), uintptr(unsafe.Pointer(&t.offsets[at])), 0,
		uintptr(1+len(op.Args)))
}

func (t *tape) put(id ID, offset uintptr) {
	t.ids = append(t.ids, id)
	t.offsets = append(t.offsets, offset)
}

// place is the Metal buffer that holds a range, and the range's offset in it.
func (b *buffer) place(s gpu.Slice) (ID, uintptr) {
	if !b.mapped {
		return b.obj.id, uintptr(s.Off)
	}
	p := inside(b.pieces, span{s.Off, s.Off + s.Len})
	return p.obj.id, uintptr(s.Off - p.off)
}

// dispatch records the launch of an op. After an op that moves the step record, grids stay whole.
func (r *recorder) dispatch(op *gpu.Op, moved bool) {
	t := r.tape
	n := len(t.grids)
	t.grids = append(t.grids, size{uint(op.Grid[0]), uint(op.Grid[1]), uint(op.Grid[2])},
		size{uint(op.Simdgroups) * simdWidth, 1, 1})
	if !moved {
		for _, l := range op.Limits {
			t.limits = append(t.limits, limit{n, l})
		}
	}
	r.add(encodeDispatch, uintptr(unsafe.Pointer(&t.grids[n])), uintptr(unsafe.Pointer(&t.grids[n+1])))
}

// load makes the tape ready for one replay. Grids are cut where settled says that nothing in flight can change the
// step record; else they stay whole and surplus threadgroups end at once.
func (t *tape) load(encoder ID, step *buffer, settled bool) {
	for i := range t.messages {
		t.messages[i].To = encoder
	}
	for _, i := range t.steps {
		t.ids[i] = step.obj.id
	}
	copy(t.grids, t.given)
	if !settled {
		return
	}
	for _, l := range t.limits {
		value := atomic.LoadUint32((*uint32)(unsafe.Pointer(&step.mem[l.Offset])))
		groups := (uint64(value) + uint64(l.Div) - 1) / uint64(l.Div)
		g := &t.grids[l.grid][l.Dim]
		*g = min(*g, uint(max(groups, 1))) // Metal takes no empty grid
	}
}
