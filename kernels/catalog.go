package kernels

// families lists the catalogue's parts in the order in which [All] concatenates them. A family is one Go file
// beside its sources.
func families() []func() []Kernel {
	return []func() []Kernel{
		gemvKernels, normKernels, headKernels, sampleKernels, deltaKernels, attentionKernels, moeKernels,
		mambaKernels, relu2Kernels, neuronKernels,
	}
}

// All returns every entry point, family by family. The slice is the caller's own.
func All() []Kernel {
	var all []Kernel
	for _, family := range families() {
		all = append(all, family()...)
	}
	return all
}

// Lookup returns the entry point of that name, or nil.
func Lookup(name string) *Kernel {
	for _, family := range families() {
		list := family()
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
