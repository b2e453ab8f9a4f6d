package token

import "sync"

// pairs is an open-addressing table from two neighbouring tokens to the merge that joins them.
type pairs struct {
	slots []pairSlot // a power of two, at most half full
	shift uint
}

type pairSlot struct {
	key  uint64 // both ids and one, so that 0 is free
	rank int32
	id   int32
}

func newPairs(n int) pairs {
	bits := uint(4)
	for 1<<bits < 2*n {
		bits++
	}
	return pairs{slots: make([]pairSlot, 1<<bits), shift: 64 - bits}
}

func pairKey(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) + 1 }

// find returns the slot of the pair, or the free one where it belongs.
func (p *pairs) find(key uint64) *pairSlot {
	mask := uint64(len(p.slots) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> p.shift; ; i = (i + 1) & mask {
		if s := &p.slots[i]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// node is a token of the word that is being built; the nodes form a list.
type node struct{ id, prev, next int32 }

// candidate is a merge of the nodes at pos and after it, valid while they still hold the tokens left and right.
type candidate struct{ rank, pos, id, left, right int32 }

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.pos < d.pos
}

// builder holds the scratch memory of one word.
type builder struct {
	nodes []node
	heap  []candidate
}

var builders = sync.Pool{New: func() any { return new(builder) }}

// maxWord is the longest word in bytes that is built as one; positions are 32 bits wide.
const maxWord = 1 << 30

// word appends the tokens of one word: merges in the order of their ranks, the leftmost first among equals.
func (t *Tokenizer) word(dst []int32, w string) []int32 {
	if t.ignore {
		if id, ok := t.words[w]; ok {
			return append(dst, id)
		}
	}
	if len(w) == 1 {
		return append(dst, t.byByte[w[0]])
	}
	b := builders.Get().(*builder)
	defer builders.Put(b)
	b.nodes, b.heap = b.nodes[:0], b.heap[:0]
	for i := range len(w) {
		b.nodes = append(b.nodes, node{t.byByte[w[i]], int32(i - 1), int32(i + 1)})
	}
	b.nodes[len(w)-1].next = -1
	for i := range b.nodes {
		t.propose(b, int32(i))
	}
	for len(b.heap) > 0 {
		c := b.pop()
		x := &b.nodes[c.pos]
		if x.id != c.left || x.next < 0 || b.nodes[x.next].id != c.right {
			continue
		}
		y := &b.nodes[x.next]
		x.id, x.next, y.id = c.id, y.next, -1
		if x.next >= 0 {
			b.nodes[x.next].prev = c.pos
		}
		if x.prev >= 0 {
			t.propose(b, x.prev)
		}
		t.propose(b, c.pos)
	}
	for i := int32(0); i >= 0; i = b.nodes[i].next {
		dst = append(dst, b.nodes[i].id)
	}
	return dst
}

// propose puts the merge of node i and its follower on the heap, if there is one.
func (t *Tokenizer) propose(b *builder, i int32) {
	x := b.nodes[i]
	if x.next < 0 {
		return
	}
	right := b.nodes[x.next].id
	if s := t.merges.find(pairKey(x.id, right)); s.key != 0 {
		b.push(candidate{s.rank, i, s.id, x.id, right})
	}
}

func (b *builder) push(c candidate) {
	b.heap = append(b.heap, c)
	i := len(b.heap) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !c.before(b.heap[up]) {
			break
		}
		b.heap[i] = b.heap[up]
		i = up
	}
	b.heap[i] = c
}

func (b *builder) pop() candidate {
	top := b.heap[0]
	last := b.heap[len(b.heap)-1]
	b.heap = b.heap[:len(b.heap)-1]
	n := len(b.heap)
	if n == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && b.heap[down+1].before(b.heap[down]) {
			down++
		}
		if !b.heap[down].before(last) {
			break
		}
		b.heap[i] = b.heap[down]
		i = down
	}
	b.heap[i] = last
	return top
}

// cache keeps the tokens of short words. It is bounded: when full it starts afresh.
type cache struct {
	mu sync.RWMutex
	m  map[string][]int32
}

const (
	cacheWords    = 1 << 15
	cacheWordSize = 32 // bytes
)

// cached appends the tokens of w, from the cache where it can.
func (t *Tokenizer) cached(dst []int32, w string) []int32 {
	if len(w) > cacheWordSize || len(w) == 1 {
		return t.word(dst, w)
	}
	t.cache.mu.RLock()
	ids, ok := t.cache.m[w]
	t.cache.mu.RUnlock()
	if ok {
		return append(dst, ids...)
	}
	start := len(dst)
	dst = t.word(dst, w)
	ids = append([]int32(nil), dst[start:]...)
	key := string(append([]byte(nil), w...)) // the word must not keep the whole text alive
	t.cache.mu.Lock()
	if t.cache.m == nil || len(t.cache.m) >= cacheWords {
		t.cache.m = make(map[string][]int32)
	}
	t.cache.m[key] = ids
	t.cache.mu.Unlock()
	return dst
}
