package sim

import (
	"hash/maphash"
	"slices"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// registry knows the exact ranges of dispatches, which Metal is never told: it learns them from the programs that are
// compiled. A dispatch is found by its kernel, its parameters, the addresses of its arguments and its grid, which the
// driver may have cut to the live part.
type registry struct {
	seed maphash.Seed
	ops  map[opKey][]*registered
}

// opKey finds candidates: the address is that of the first argument that is written and is not the step buffer.
type opKey struct {
	kernel string
	params uint64
	first  uintptr
}

// registered is an op of a program.
type registered struct {
	key   opKey
	from  []uintptr // 0: unbound, or the step buffer
	sizes []int64
	grid  [3]uint32
	count int
}

func (g *registry) init() {
	g.seed = maphash.MakeSeed()
	g.ops = map[opKey][]*registered{}
}

// key of a dispatch whose arguments begin at the addresses that from gives.
func (g *registry) key(k *kernels.Kernel, params []byte, from func(i int) uintptr) opKey {
	key := opKey{kernel: k.Name, params: maphash.Bytes(g.seed, params)}
	for i, a := range k.Args {
		if writes(a) && a.Name != kernels.StepArg {
			key.first = from(i)
			break
		}
	}
	return key
}

// add registers an op; bind gives the memory of regions.
func (g *registry) add(op *gpu.Op, bind map[*gpu.Region]gpu.Buffer) *registered {
	n := &registered{grid: op.Grid, count: 1}
	for _, s := range op.Args {
		from := uintptr(0)
		if b := bind[s.Region]; b != nil && s.Region != gpu.Step && s.Len > 0 {
			from = address(b.Bytes()) + uintptr(s.Off)
		}
		n.from = append(n.from, from)
		n.sizes = append(n.sizes, s.Len)
	}
	n.key = g.key(op.Kernel, op.Params, func(i int) uintptr { return n.from[i] })
	for _, o := range g.ops[n.key] {
		if o.same(n) {
			o.count++
			return o
		}
	}
	g.ops[n.key] = append(g.ops[n.key], n)
	return n
}

func (n *registered) same(o *registered) bool {
	return n.grid == o.grid && slices.Equal(n.from, o.from) && slices.Equal(n.sizes, o.sizes)
}

// fits reports whether a dispatch can be this op.
func (n *registered) fits(d *dispatch, from func(i int) uintptr) bool {
	for i, g := range n.grid {
		if d.grid[i] > g {
			return false
		}
	}
	for i := range n.from {
		if n.from[i] != 0 && n.from[i] != from(i) {
			return false
		}
	}
	return true
}

// groups is the size of the grid.
func (n *registered) groups() uint64 {
	return uint64(n.grid[0]) * uint64(n.grid[1]) * uint64(n.grid[2])
}

// remove takes an op back.
func (g *registry) remove(n *registered) {
	if n.count--; n.count > 0 {
		return
	}
	list := g.ops[n.key]
	for i := range list {
		if list[i] == n {
			list[i] = list[len(list)-1]
			g.ops[n.key] = list[:len(list)-1]
			break
		}
	}
	if len(g.ops[n.key]) == 0 {
		delete(g.ops, n.key)
	}
}

// find returns the op of a dispatch, or nil. Of several it is the one with the smallest grid: row classes differ in
// nothing else, and what a dispatch with few threadgroups touches lies within the ranges of the smaller class.
func (g *registry) find(d *dispatch, bound []binding) *registered {
	if len(g.ops) == 0 {
		return nil
	}
	from := func(i int) uintptr { return bound[i].object.buffer.base + uintptr(bound[i].off) }
	var best *registered
	for _, n := range g.ops[g.key(d.pipe.kernel, d.params, from)] {
		if n.fits(d, from) && (best == nil || n.groups() < best.groups()) {
			best = n
		}
	}
	return best
}
