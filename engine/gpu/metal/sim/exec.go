package sim

import (
	"context"
	"time"
)

// Codes of MTLCommandBufferError.
const (
	codeInternal    = 1
	codeTimeout     = 2
	codePageFault   = 3
	codeOutOfMemory = 8
	codeRemoved     = 11
)

// commandReasons are what Metal says for a code.
var commandReasons = map[int]string{
	codeInternal:  "Internal Error (0000000e:Internal Error)",
	codeTimeout:   "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)",
	codePageFault: "Caused GPU Address Fault Error (0000000b:kIOGPUCommandBufferCallbackErrorPageFault)",
	4: "Ignored (for causing prior/excessive GPU errors) " +
		"(00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)",
	7:               "Insufficient Permission (to submit GPU work from background) (00000006)",
	codeOutOfMemory: "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
	9:               "Invalid Resource (00000009:kIOGPUCommandBufferCallbackErrorInvalidResource)",
	10:              "Memoryless Resource Error (0000000a)",
	codeRemoved:     "The device was removed (0000000b)",
	12:              "Stack Overflow (0000000c:kIOGPUCommandBufferCallbackErrorStackOverflow)",
}

// execute runs a committed command buffer to its end. The lock is given up while the host driver works.
func (r *Runtime) execute(q *queue, o *object) {
	c := o.command
	c.state = statusScheduled
	f := r.ill(q, o)
	if q.hung {
		return
	}
	for _, it := range c.items {
		switch it.kind {
		case itemPass:
			if f == nil {
				f = r.run(&c.work, c.passes[it.pass])
			}
		case itemWait:
			for it.event.event.value < it.value && !r.closed && f == nil {
				r.progress.Wait()
			}
		case itemSignal:
			if f == nil || f.Signals {
				r.signal(it.event.event, it.value)
			}
		}
	}
	r.end(c, f)
	r.progress.Broadcast()
}

// end sets how a command buffer has ended.
func (r *Runtime) end(c *command, f *Fault) {
	if f == nil {
		c.state = statusCompleted
		return
	}
	if f.Signals { // what comes of it is known later than the signal
		r.pause(f.Delay)
	}
	c.state = statusError
	c.failure = r.errorObject(failure{commandDomain, f.Code, f.reason(commandReasons[f.Code])})
	c.failure.refs, c.failure.inner = 0, 1
}

// pause gives up the lock for a time.
func (r *Runtime) pause(d time.Duration) {
	now := r.now
	r.mu.Unlock()
	time.Sleep(d)
	r.mu.Lock()
	r.now = now
}

// ill returns the fault that a command buffer meets before it does anything, if any.
func (r *Runtime) ill(q *queue, o *object) *Fault {
	if f := r.strikes(Slow, ""); f != nil {
		r.pause(f.Delay)
	}
	if r.strikes(Hang, "") != nil {
		q.hung = true
		for _, p := range q.pending { // nobody can know when it is over with them
			r.letGo(p.command)
		}
		return nil
	}
	if f := r.strikes(DeviceRemoved, ""); f != nil {
		r.removed = true
	}
	if r.removed {
		return &Fault{Code: codeRemoved}
	}
	if f := r.strikes(CommandFails, o.label); f != nil {
		return f
	}
	if r.allocated > r.gpu.WorkingSet {
		return &Fault{Code: codeOutOfMemory}
	}
	return nil
}

// run executes the dispatches of a pass.
func (r *Runtime) run(w *work, p *pass) *Fault {
	if f := r.strikes(SlowPass, ""); f != nil {
		r.pause(f.Delay)
	}
	for first := p.first; first < p.last; {
		if d := &w.dispatches[first]; d.pipe.emulation != nil {
			r.emulate(w, d)
			first++
			continue
		}
		end, step := w.segment(first, p.last)
		memory := r.noStep
		if step != nil {
			memory = step.memory
		}
		prog, err := r.program(w, first, end)
		if err == nil {
			var n uint64
			if n, err = r.host.Submit(prog.exec, memory); err == nil {
				r.mu.Unlock()
				err = r.host.Wait(context.Background(), n)
				r.mu.Lock()
			}
		}
		if err != nil {
			r.violated("MTLCommandBuffer", "execution failed: %v", err)
			return &Fault{Code: codeInternal, Reason: err.Error()}
		}
		first = end
	}
	return nil
}
