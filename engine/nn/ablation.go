package nn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sotto/engine/model"
)

// Ablation is a set of techniques that a program does without, to measure what each is worth. Results keep every bit.
type Ablation uint8

// Techniques.
const (
	// Concurrent is running ops that do not depend on each other at the same time: without it a barrier follows every
	// op.
	Concurrent Ablation = 1 << iota
	// Sparse is passing over the weights of dead neurons: without it they are read, as if the neurons were alive.
	Sparse
)

// ablations names them as the command line does.
var ablations = [...]struct {
	set  Ablation
	name string
	what string
}{
	{Concurrent, "concurrent", "ops that do not depend on each other run at the same time"},
	{Sparse, "sparse", "weights of dead neurons are not read (Nemotron's family)"},
}

// ParseAblation reads a name.
func ParseAblation(name string) (Ablation, error) {
	var names []string
	for _, a := range ablations {
		if a.name == name {
			return a.set, nil
		}
		names = append(names, a.name)
	}
	return 0, fmt.Errorf("ablation %q is unknown: want %s", name, strings.Join(names, ", "))
}

// Check fails if a model has no use for one of the techniques: doing without it would change nothing.
func (a Ablation) Check(s *model.Spec) error {
	sparse := func(b model.Block) bool { _, ok := b.Mixer.(*model.SparseMoE); return ok }
	if a&Sparse != 0 && !slices.ContainsFunc(s.Blocks, sparse) {
		return errors.New(`ablation "sparse" would change nothing: the model has no sparse experts`)
	}
	return nil
}

// Ablations describes all of them, a line each.
func Ablations() []string {
	var list []string
	for _, a := range ablations {
		list = append(list, a.name+": "+a.what)
	}
	return list
}
