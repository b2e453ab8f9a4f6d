package metal

import (
	"errors"
	"fmt"

	"sotto/engine/gpu"
)

const (
	simdWidth      = 32
	failOnMiss     = 4 // MTLPipelineOptionFailOnBinaryArchiveMiss
	threadsPerMost = gpu.MaxSimdgroups * simdWidth
)

// state of a pipeline.
type state uint8

const (
	waiting state = iota
	building
	ready // or failed
)

// pipeline is a kernel made ready for the device.
type pipeline struct {
	name       string
	lib        *library
	state      state
	behind     bool   // nobody waited for it when it was begun
	obj        object // MTLComputePipelineState
	maxThreads int    // a threadgroup
	err        error
	descriptor object // until it is in the archive, which lacks it
}

// build makes a pipeline. A pool must be in place.
func (b *builder) build(p *pipeline) error {
	descriptor, err := b.descriptor(p)
	if err != nil {
		return err
	}
	defer b.objects.drop(&descriptor)
	id, found, err := b.state(descriptor.id)
	if err != nil {
		return err
	}
	p.obj = b.objects.keep(id, "MTLComputePipelineState", p.name)
	p.maxThreads = int(b.objc.send(pipelineMaxThreads, id))
	if width := int(b.objc.send(pipelineWidth, id)); width != simdWidth {
		return fmt.Errorf("compiled for %d lanes a simdgroup, want %d", width, simdWidth)
	}
	if !found && b.archive.path != "" {
		p.descriptor, descriptor = descriptor, object{}
	}
	return nil
}

// state takes a pipeline from the archive, or compiles it.
func (b *builder) state(descriptor ID) (id ID, found bool, err error) {
	if b.archive.loaded {
		b.objc.send(descriptorArchives, descriptor, uintptr(b.objc.list(b.archive.obj.id)))
		if id, err = b.objc.try(devicePipeline, b.device, uintptr(descriptor), failOnMiss, 0); err == nil {
			return id, true, nil
		}
		b.objc.send(descriptorArchives, descriptor, 0)
	}
	id, err = b.objc.try(devicePipeline, b.device, uintptr(descriptor), 0, 0)
	return id, false, err
}

// descriptor describes a pipeline; it is the caller's.
func (b *builder) descriptor(p *pipeline) (object, error) {
	lib, err := b.library(p.lib)
	if err != nil {
		return object{}, err
	}
	id := b.objc.object(libraryFunction, lib, uintptr(b.objc.str(p.name)))
	if id == 0 {
		return object{}, fmt.Errorf("%s has no such kernel", p.lib.file)
	}
	function := b.objects.keep(id, "MTLFunction", p.name)
	defer b.objects.drop(&function)
	constants := b.objc.object(functionConstants, id)
	if constants != 0 && b.objc.send(dictionaryCount, constants) != 0 {
		return object{}, errors.New("it has function constants, which nothing sets")
	}
	d := b.objects.keep(b.objc.class(descriptorNew), "MTLComputePipelineDescriptor", p.name)
	if d.id == 0 {
		return object{}, errors.New("no pipeline descriptor")
	}
	b.objc.send(descriptorFunction, d.id, uintptr(id))
	b.objc.send(descriptorWidth, d.id, word(true)) // threadgroups are whole simdgroups
	return d, nil
}
