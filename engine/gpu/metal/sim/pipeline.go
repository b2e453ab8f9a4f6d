package sim

import (
	"reflect"

	"sotto/kernels"
)

// descriptor is what describes a pipeline, an archive or a residency set.
type descriptor struct {
	function  *object
	archives  *object // NSArray
	wholeSIMD bool    // threadgroups are a multiple of the width
	url       *object
	capacity  uintptr
}

// pipeline is an MTLComputePipelineState.
type pipeline struct {
	id        uint64
	mark      uint64 // the encoder that used it last
	kernel    *kernels.Kernel
	emulation *emulation // nil: the host driver runs it
	params    int64      // bytes at buffer 0
	threads   int        // the most of a threadgroup
	whole     bool
	step      int // number of the argument that is the step buffer, or -1
}

// Options of making a pipeline.
const failOnArchiveMiss = 4

func (r *Runtime) endDescriptor(d *descriptor) {
	r.release(d.function)
	r.release(d.archives)
	r.release(d.url)
}

// keep stores an object in a property that holds a reference.
func (r *Runtime) keep(to **object, id uintptr) uintptr {
	o := r.optional(id)
	if o != nil {
		o.retain()
	}
	r.release(*to)
	*to = o
	return 0
}

func pipelineBehaviours() behaviours {
	return behaviours{
		"MTLComputePipelineDescriptor": labelled(map[string]behaviour{
			"-setComputeFunction:": func(r *Runtime, o *object, a *args) uintptr {
				return r.keep(&o.descr.function, a[0])
			},
			"-setBinaryArchives:": func(r *Runtime, o *object, a *args) uintptr {
				return r.keep(&o.descr.archives, a[0])
			},
			"-setThreadGroupSizeIsMultipleOfThreadExecutionWidth:": func(_ *Runtime, o *object, a *args) uintptr {
				o.descr.wholeSIMD = a[0] != 0
				return 0
			},
		}),
		"MTLComputePipelineState": labelled(map[string]behaviour{
			"-threadExecutionWidth": func(*Runtime, *object, *args) uintptr { return simdLanes },
			"-maxTotalThreadsPerThreadgroup": func(_ *Runtime, o *object, _ *args) uintptr {
				return uintptr(o.pipeline.threads)
			},
		}),
	}
}

func newPipelineOfFunction(r *Runtime, _ *object, a *args) uintptr {
	f := r.object(a[0], "the function")
	if f == nil {
		return 0
	}
	return r.newPipeline(f.function, &descriptor{}, a[1])
}

func newPipelineOfDescriptor(r *Runtime, _ *object, a *args) uintptr {
	d := r.object(a[0], "the descriptor")
	switch {
	case d == nil:
		return 0
	case d.descr.function == nil:
		r.violate("computeFunction must not be nil")
		return 0
	case a[2] != 0:
		r.violate("the simulator has no reflection")
		return 0
	case a[1]&failOnArchiveMiss != 0 && !r.archived(d.descr):
		reason := "no archive holds the pipeline " + d.descr.function.function.name
		return r.fail(a[3], failure{archiveDomain, archiveInvalid, reason})
	}
	return r.newPipeline(d.descr.function.function, d.descr, a[3])
}

func (r *Runtime) newPipeline(f *function, d *descriptor, failed uintptr) uintptr {
	k, e := r.kernels[f.name], r.emulations[f.name]
	if k == nil && e != nil {
		k = &e.kernel
	}
	switch {
	case r.removed:
		return r.fail(failed, gone())
	case k == nil:
		r.violate("kernel %s is in the source but not in the catalogue: there is nothing to execute", f.name)
		return r.fail(failed, failure{stateDomain, 3, "nothing executes " + f.name})
	}
	if !r.archived(d) {
		if s := r.strikes(SlowPipeline, f.name); s != nil {
			r.pause(s.Delay)
		}
	}
	if s := r.strikes(PipelineFails, f.name); s != nil {
		return r.fail(failed, failure{stateDomain, 3, s.reason("Compiler encountered an internal error")})
	}
	p := &pipeline{kernel: k, emulation: e, threads: maxThreads, step: -1}
	if f.threads > 0 {
		p.threads = f.threads
	}
	p.whole = d.wholeSIMD
	if k.Params != nil {
		p.params = int64(reflect.TypeOf(k.Params).Size())
	}
	for i, a := range k.Args {
		if a.Name == kernels.StepArg {
			p.step = i
		}
	}
	o := r.make("MTLComputePipelineState")
	o.label = k.Name
	p.id = uint64(o.id)
	o.pipeline = p
	return uintptr(o.id)
}
