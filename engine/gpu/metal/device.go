package metal

import (
	"context"
	"log/slog"
	"time"

	"sotto/engine/gpu"
)

// Device is one GPU. Its methods follow the contract of [gpu.Device].
type Device struct {
	objc      *objc
	objects   *objects
	log       *slog.Logger
	timeout   time.Duration
	device    object
	maxBuffer int64
	caps      gpu.Caps
	zero      buffer // never written: what is unbound
	builder   *builder
	queue     *queue
	residency *residency

	buffers map[*buffer]struct{}
	execs   map[*exec]struct{}
	live    int64 // bytes that Alloc has handed out
	taken   int64 // bytes of the device's memory: of these, of mapped memory and of the driver's own
	closed  bool
}

var _ gpu.Device = (*Device)(nil)

func open(o Options) (d *Device, err error) {
	d = &Device{
		log: o.Logger, timeout: o.Timeout, buffers: map[*buffer]struct{}{}, execs: map[*exec]struct{}{},
	}
	if d.objc, err = newObjc(o.Messenger); err != nil {
		return nil, err
	}
	d.objects = &objects{objc: d.objc}
	if err := d.objc.pooled(func() error { return d.start(o) }); err != nil {
		d.end()
		return nil, err
	}
	d.log.Debug("metal device opened", slog.String("name", d.caps.Name), slog.String("tier", d.caps.Tier),
		slog.Int64("memory", d.caps.MemoryLimit))
	return d, nil
}

// start sets the device up. What it leaves behind on an error, end takes away.
func (d *Device) start(o Options) error {
	p, err := d.choose()
	if err != nil {
		return err
	}
	if d.builder, err = newBuilder(d.objc, d.objects, d.device.id, o); err != nil {
		return err
	}
	if p.tensors {
		d.builder.addProbe()
	}
	if o.ArchiveDir != "" {
		d.builder.openArchive(o.ArchiveDir, archiveName(d.builder.libraries, d.objc.sys, p.name))
	}
	d.builder.start()
	if err := d.newZero(); err != nil {
		return err
	}
	if p.tensors {
		d.probe()
	}
	d.caps.Chunk = p.chunk()
	return d.connect()
}

// connect makes the queue that submissions go to, whose numbers count from 1.
func (d *Device) connect() error {
	q, err := newQueue(d)
	if err != nil {
		return err
	}
	d.queue = q
	d.residency = newResidency(d)
	d.residency.add(d.zero.obj.id, gpu.ZeroBytes)
	return nil
}

// disconnect ends a queue in which nothing is in flight.
func (d *Device) disconnect() {
	if d.queue == nil {
		return
	}
	d.queue.drain()
	d.residency.close()
	d.queue.close()
}

// Caps describes the device.
func (d *Device) Caps() gpu.Caps { return d.caps }

// usable reports why a call cannot be served.
func (d *Device) usable(op string) error {
	err := gpu.ErrClosed
	if !d.closed {
		err = d.queue.loss()
	}
	if err != nil {
		return &gpu.Error{Op: op, Err: err}
	}
	return nil
}

// Wait returns when submission n has finished. It allocates only when more calls wait at a time than ever before.
func (d *Device) Wait(ctx context.Context, n uint64) error { return d.queue.wait(ctx, n) }

// Close waits for what is in flight, or until the device counts as lost, and releases everything. Closing twice does
// nothing.
func (d *Device) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	d.end()
	return nil
}

// end takes away whatever there is.
func (d *Device) end() {
	if d.builder != nil {
		d.builder.stop()
	}
	_ = d.objc.pooled(func() error { // f returns no error
		d.disconnect()
		return nil
	})
	for x := range d.execs {
		x.clear()
	}
	for b := range d.buffers {
		b.mem, b.pieces = nil, nil
	}
	clear(d.execs)
	clear(d.buffers)
	d.live, d.taken = 0, 0
	d.objects.close()
}

// newZero makes the buffer behind unbound arguments.
func (d *Device) newZero() error {
	id := d.objc.object(deviceBuffer, d.device.id, gpu.ZeroBytes, storage)
	d.zero.obj = d.objects.keep(id, "MTLBuffer", "zero")
	if d.zero.obj.id == 0 {
		return gpu.ErrOutOfMemory
	}
	d.take(&d.zero, gpu.ZeroBytes)
	return nil
}
