package metal

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"sotto/engine/gpu"
)

const (
	maxCommandBuffers = 16 // alive at a time: more than there can be
	stepsPerBuffer    = 2  // submissions that share a command buffer while the device has another to run
)

// queue carries submissions to the device. A submission is encoded at once. Its command buffer is committed at once
// too if the device has none; otherwise it takes in what is submitted meanwhile, until it is full, the device has run
// all others, or somebody waits for it. Each submission signals its end, so that sharing delays nobody. Nothing here
// allocates once it has had as many waiters as it will have at a time.
type queue struct {
	objc    *objc
	objects *objects
	timeout time.Duration
	obj     object // MTLCommandQueue
	event   object // MTLSharedEvent: the number of the last submission that finished
	fence   object // MTLFence: an encoder waits for the one before it, in whatever command buffer that is

	mu        sync.Mutex
	changed   sync.Cond // on any change of the fields below
	submitted uint64
	done      uint64
	open      flight // takes in submissions; of Submit alone while encoding
	encoding  bool
	wanted    uint64 // somebody waits for this submission
	flights   [gpu.MaxInFlight]flight
	head, n   int // of flights
	failures  []failure
	spoilt    bool // a failure was seen while encoding
	lost      error
	closing   bool
	waiters   gpu.Waiters
	ended     chan struct{}
}

// flight is a command buffer and the submissions in it. Without a command buffer it does nothing.
type flight struct {
	cmd         object
	first, last uint64
	program     string // of the first
}

func newQueue(d *Device) (*queue, error) {
	o := d.objc
	q := &queue{objc: o, objects: d.objects, timeout: d.timeout, ended: make(chan struct{})}
	q.changed.L = &q.mu
	dev := d.device.id
	q.obj = d.objects.keep(o.object(deviceQueue, dev, maxCommandBuffers), "MTLCommandQueue", "")
	q.event = d.objects.keep(o.object(deviceEvent, dev), "MTLSharedEvent", "")
	q.fence = d.objects.keep(o.object(deviceFence, dev), "MTLFence", "")
	if q.obj.id == 0 || q.event.id == 0 || q.fence.id == 0 {
		q.drop()
		return nil, errors.New("no command queue, event or fence")
	}
	go q.watch()
	return q, nil
}

func (q *queue) drop() {
	q.objects.drop(&q.fence)
	q.objects.drop(&q.event)
	q.objects.drop(&q.obj)
}

// submit encodes one replay and returns its number.
func (q *queue) submit(x *exec, step *buffer) (uint64, error) {
	settled, err := q.enter(step)
	if err != nil {
		return 0, err
	}
	return q.leave(x, step, q.encode(x, step, q.submitted+1, settled))
}

// enter waits for room. It reports whether nothing in flight uses the step buffer.
func (q *queue) enter(step *buffer) (settled bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.lost == nil && q.submitted-q.done >= gpu.MaxInFlight {
		q.commit()
		q.changed.Wait()
	}
	if q.lost != nil {
		return false, q.lost
	}
	if err := q.untold(); err != nil {
		return false, err
	}
	q.encoding = true
	return step.last <= q.done, nil
}

// encode writes the program's messages into the open command buffer, as an encoder of its own, and the signal that says
// that submission n has run.
func (q *queue) encode(x *exec, step *buffer, n uint64, settled bool) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	o := q.objc
	pool := o.m.PushPool()
	defer o.m.PopPool(pool)
	if q.open.cmd.id == 0 {
		cmd := o.object(queueCommandBuffer, q.obj.id)
		if cmd == 0 {
			return errNoCommandBuffer
		}
		o.send(objRetain, cmd)
		q.open.cmd = q.objects.keep(cmd, "MTLCommandBuffer", "")
	}
	encoder := o.object(commandEncoder, q.open.cmd.id, dispatchConcurrent)
	if encoder == 0 {
		return errNoEncoder
	}
	o.send(encodeWaitFence, encoder, uintptr(q.fence.id))
	x.tape.load(encoder, step, settled)
	o.m.SendAll(x.tape.messages)
	o.send(encodeUpdateFence, encoder, uintptr(q.fence.id))
	o.send(encodeEnd, encoder)
	o.send(commandSignal, q.open.cmd.id, uintptr(q.event.id), uintptr(n))
	return nil
}

// A queue has buffers and encoders for whoever waits, unless its device is gone.
var (
	errNoCommandBuffer = fmt.Errorf("no command buffer: %w", gpu.ErrLost)
	errNoEncoder       = fmt.Errorf("no command encoder: %w", gpu.ErrLost)
)

// leave counts what was encoded and commits it if the device has room or somebody waits for it.
func (q *queue) leave(x *exec, step *buffer, err error) (uint64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.changed.Broadcast()
	q.encoding = false
	spoilt := q.spoilt
	q.spoilt = false
	if err != nil {
		switch {
		case q.open.first == 0 || spoilt:
			q.discard()
		case q.n == 0 || q.wanted >= q.open.first: // what was open before, which nobody could commit meanwhile
			q.commit()
		}
		return 0, err
	}
	q.submitted++
	step.last = q.submitted
	if q.open.first == 0 {
		q.open.first, q.open.program = q.submitted, x.program.Name
	}
	q.open.last = q.submitted
	switch {
	case spoilt:
		q.failures[len(q.failures)-1].to = q.submitted
		q.discard()
	case q.n == 0 || q.open.last-q.open.first+1 == stepsPerBuffer || q.wanted >= q.open.first:
		q.commit()
	}
	return q.submitted, nil
}

// commit hands the open command buffer to the device. The lock is held.
func (q *queue) commit() {
	if q.open.first == 0 || q.encoding {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := q.objc.m.PushPool()
	defer q.objc.m.PopPool(pool)
	q.objc.send(commandCommit, q.open.cmd.id)
	q.push()
}

// push makes the open command buffer the last one in flight.
func (q *queue) push() {
	q.flights[(q.head+q.n)%len(q.flights)] = q.open
	q.n++
	q.open = flight{}
	q.changed.Broadcast()
}

// discard gives the open command buffer up; its submissions, if any, count as finished in their turn. The lock is
// held.
func (q *queue) discard() {
	q.release(&q.open)
	if q.open.first == 0 {
		return
	}
	if q.lost != nil {
		q.done, q.open = q.open.last, flight{}
		return
	}
	q.push()
}

// release releases a command buffer.
func (q *queue) release(f *flight) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := q.objc.m.PushPool()
	defer q.objc.m.PopPool(pool)
	q.objects.drop(&f.cmd)
}

// drain waits until nothing is in flight.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.done < q.submitted || q.n > 0 {
		q.commit()
		q.changed.Wait()
	}
}

// loss is why the device is lost, or nil.
func (q *queue) loss() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

// close lets what is in flight finish, ends the watch and releases the queue. A pool must be in place.
func (q *queue) close() {
	q.drain()
	q.mu.Lock()
	q.closing = true
	q.changed.Broadcast()
	q.mu.Unlock()
	<-q.ended
	q.drop()
}
