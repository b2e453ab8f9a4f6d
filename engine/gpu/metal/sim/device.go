package sim

func deviceBehaviours() behaviours {
	return behaviours{"MTLDevice": {
		"-name":            func(r *Runtime, _ *object, _ *args) uintptr { return r.string(r.gpu.Name) },
		"-supportsFamily:": func(r *Runtime, _ *object, a *args) uintptr { return truth(r.supports(a[0])) },
		"-recommendedMaxWorkingSetSize": func(r *Runtime, _ *object, _ *args) uintptr {
			return uintptr(r.gpu.WorkingSet)
		},
		"-maxBufferLength":      func(r *Runtime, _ *object, _ *args) uintptr { return uintptr(r.gpu.MaxBuffer) },
		"-currentAllocatedSize": func(r *Runtime, _ *object, _ *args) uintptr { return uintptr(r.allocated) },

		"-newBufferWithLength:options:":                                    newBuffer,
		"-newBufferWithBytesNoCopy:length:options:deallocator:":            newBufferNoCopy,
		"-newLibraryWithSource:options:error:":                             newLibrary,
		"-newComputePipelineStateWithFunction:error:":                      newPipelineOfFunction,
		"-newComputePipelineStateWithDescriptor:options:reflection:error:": newPipelineOfDescriptor,
		"-newBinaryArchiveWithDescriptor:error:":                           newArchive,
		"-newResidencySetWithDescriptor:error:":                            newResidencySet,
		"-newCommandQueue": func(r *Runtime, _ *object, _ *args) uintptr {
			return newQueue(r, defaultQueueLength)
		},
		"-newCommandQueueWithMaxCommandBufferCount:": func(r *Runtime, _ *object, a *args) uintptr {
			return newQueue(r, a[0])
		},
		"-newSharedEvent": func(r *Runtime, _ *object, _ *args) uintptr {
			o := r.make("MTLSharedEvent")
			o.event = &event{}
			return uintptr(o.id)
		},
		"-newFence": func(r *Runtime, _ *object, _ *args) uintptr {
			o := r.make("MTLFence")
			o.fence = &fence{}
			return uintptr(o.id)
		},
	}}
}

// labelled are the methods of whatever has a label.
func labelled(b map[string]behaviour) map[string]behaviour {
	b["-label"] = func(r *Runtime, o *object, _ *args) uintptr { return r.string(o.label) }
	b["-setLabel:"] = func(r *Runtime, o *object, a *args) uintptr {
		if s := r.optional(a[0]); s != nil {
			o.label = s.text.s
		}
		return 0
	}
	return b
}
