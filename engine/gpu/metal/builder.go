package metal

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// builder makes pipelines on threads of its own, those first that a program waits for.
type builder struct {
	objc     *objc
	objects  *objects
	device   ID
	archive  *archive
	progress func(done, total int)
	log      *slog.Logger

	libraries map[string]*library
	pipelines map[string]*pipeline
	order     []*pipeline

	mu      sync.Mutex
	changed sync.Cond // a pipeline is ready, or the builder stops
	urgent  []*pipeline
	built   []*pipeline // and not in the archive
	adding  bool        // to the archive
	next    int         // in order
	behind  int         // being built that nobody waited for when they were begun
	most    int         // of these
	stopped bool
	tell    sync.Mutex // calls of progress
	done    int
	ended   chan struct{}
}

// newBuilder lists what is to be built; start begins.
func newBuilder(o *objc, t *objects, device ID, opt Options) (*builder, error) {
	b := &builder{
		objc: o, objects: t, device: device, archive: &archive{}, progress: opt.Progress, log: opt.Logger,
		pipelines: map[string]*pipeline{}, ended: make(chan struct{}),
	}
	b.changed.L = &b.mu
	all := kernels.All()
	var err error
	if b.libraries, err = sourceTexts(all); err != nil {
		return nil, err
	}
	for i := range all {
		p := &pipeline{name: all[i].Name, lib: b.libraries[all[i].File]}
		b.pipelines[p.name] = p
		b.order = append(b.order, p)
	}
	b.order = spread(b.order)
	return b, nil
}

// spread puts the first pipeline of each source first, so that sources compile side by side.
func spread(all []*pipeline) []*pipeline {
	var first, rest []*pipeline
	seen := map[*library]bool{}
	for _, p := range all {
		if seen[p.lib] {
			rest = append(rest, p)
		} else {
			seen[p.lib] = true
			first = append(first, p)
		}
	}
	return append(first, rest...)
}

// maxBuilders bounds the threads: the compiler is a service that works on a few requests at a time.
const maxBuilders = 4

func (b *builder) start() {
	var workers sync.WaitGroup
	n := min(maxBuilders, runtime.NumCPU())
	b.most = max(n-1, 1) // one is free for what somebody waits for
	for range n {
		workers.Go(b.work)
	}
	go func() {
		defer close(b.ended)
		workers.Wait()
		_ = b.objc.pooled(func() error { // f returns no error
			b.finish()
			return nil
		})
	}()
}

// work builds until nothing is left.
func (b *builder) work() {
	for {
		p := b.take()
		switch {
		case p == nil:
			return
		case p.state == ready:
			b.keep(p)
		default:
			b.make(p)
		}
	}
}

// make builds a pipeline.
func (b *builder) make(p *pipeline) {
	err := b.objc.pooled(func() error { return b.build(p) })
	if err != nil {
		b.log.Warn("kernel does not compile", slog.String("kernel", p.name), slog.Any("error", err))
	}
	b.mu.Lock()
	p.state, p.err = ready, err
	if p.behind {
		b.behind--
	}
	if p.descriptor.id != 0 {
		b.built = append(b.built, p)
	}
	b.changed.Broadcast()
	b.mu.Unlock()
	b.report()
}

// keep puts a pipeline into the archive.
func (b *builder) keep(p *pipeline) {
	_ = b.objc.pooled(func() error { // f returns no error
		b.add(p)
		return nil
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.adding = false
}

func (b *builder) report() {
	b.tell.Lock()
	defer b.tell.Unlock()
	b.done++
	if b.progress != nil {
		b.progress(b.done, len(b.order))
	}
}

// take returns the next pipeline to build or, if nobody waits for one, to put into the archive; or nil.
func (b *builder) take() *pipeline {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.stopped {
		var p *pipeline
		switch {
		case len(b.urgent) > 0:
			p, b.urgent = b.urgent[0], b.urgent[1:]
		case len(b.built) > 0 && !b.adding:
			p, b.built = b.built[0], b.built[1:]
			b.adding = true
			return p
		case b.next == len(b.order):
			return nil
		case b.behind == b.most:
			b.changed.Wait()
			continue
		default:
			p = b.order[b.next]
			b.next++
			if p.state == waiting {
				p.behind = true
				b.behind++
			}
		}
		if p.state == waiting {
			p.state = building
			return p
		}
	}
	return nil
}

// need waits for the pipeline of a kernel. Those of a program should be asked for by hurry first. When ctx ends, wake
// is to be called.
func (b *builder) need(ctx context.Context, name string) (*pipeline, error) {
	p := b.pipelines[name]
	if p == nil {
		return nil, errors.New("not in the catalogue")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for p.state != ready && !b.stopped && ctx.Err() == nil {
		b.changed.Wait()
	}
	switch {
	case p.state == ready:
		return p, p.err
	case b.stopped:
		return nil, gpu.ErrClosed
	}
	return nil, context.Cause(ctx)
}

// wake has whoever waits for a pipeline look at the context again.
func (b *builder) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed.Broadcast()
}

// hurry has the pipelines of a program built first.
func (b *builder) hurry(p *gpu.Program) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range p.Ops {
		if q := b.pipelines[p.Ops[i].Kernel.Name]; q != nil && q.state == waiting {
			b.urgent = append(b.urgent, q)
		}
	}
	b.changed.Broadcast()
}

// finish writes the archive and gives up what only building needs.
func (b *builder) finish() {
	b.save()
	for _, p := range b.order {
		b.objects.drop(&p.descriptor)
	}
	for _, l := range b.libraries {
		b.objects.drop(&l.obj)
	}
	b.objects.drop(&b.archive.obj)
}

// stop ends building after what is being built now.
func (b *builder) stop() {
	b.mu.Lock()
	b.stopped = true
	b.changed.Broadcast()
	b.mu.Unlock()
	<-b.ended
}
