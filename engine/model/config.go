package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sotto/engine/weights"
)

// Names of the files, for messages.
const (
	configFile     = "config.json"
	generationFile = "generation_config.json"
)

// Limits of a model's numbers. They are far above any model of these families and far below what could overflow
// a size in bytes.
const (
	maxHidden  = 1 << 16
	maxVocab   = 1 << 24
	maxWindow  = 1 << 24
	maxLayers  = 1024
	maxHeads   = 1024
	maxDim     = 1024
	maxExperts = 1024
	maxStops   = 64
)

// Warning is a defect that does not keep a model from being used.
type Warning struct {
	File string
	Text string
}

func (w Warning) String() string { return w.File + ": " + w.Text }

// UnsupportedError reports a model of a family that this package does not know.
type UnsupportedError struct {
	Type      string   // model_type
	Supported []string // the types that are known
}

func (e *UnsupportedError) Error() string {
	known := strings.Join(e.Supported, ", ")
	return fmt.Sprintf("%s: model_type %q is not supported, only %s", configFile, e.Type, known)
}

// family builds the Spec of one model_type. root is the top level of config.json.
type family struct {
	model string
	build func(root *object, b *builder) *Spec
}

// families is the list of all that are known.
func families() []family {
	return []family{{"nemotron_h", nemotronH}, {"qwen3_5_moe", qwen35MoE}}
}

// Parse reads a model's config.json and, where there is one, its generation_config.json. The tensors of the
// checkpoint decide which matrices are quantised and to how many bits; what config.json says must agree. A defect
// of generation_config.json (nil: absent) is only a warning. Errors: a *[SyntaxError], an *[UnsupportedError], a
// *[weights.MissingTensorError], a *[weights.ShapeError], or a message that names the field or tensor.
func Parse(config, generation []byte, ckpt *weights.Checkpoint) (*Spec, []Warning, error) {
	if ckpt == nil {
		return nil, nil, errors.New("model: no checkpoint")
	}
	return parse(config, generation, ckpt)
}

// SpecFromConfig is [Parse] without a checkpoint: config.json alone decides the bits. Programs of any size can be
// recorded from it.
func SpecFromConfig(config, generation []byte) (*Spec, []Warning, error) {
	return parse(config, generation, nil)
}

func parse(config, generation []byte, ckpt *weights.Checkpoint) (*Spec, []Warning, error) {
	root, err := parseObject(configFile, config)
	if err != nil {
		return nil, nil, err
	}
	fam, err := selectFamily(root)
	if err != nil {
		return nil, nil, err
	}
	b := &builder{ckpt: ckpt, quant: parseQuantization(root)}
	s := fam.build(root, b)
	if err := *root.fault; err != nil {
		return nil, nil, fmt.Errorf("%s: %w", configFile, err)
	}
	if b.err != nil {
		return nil, nil, b.err
	}
	if err := checkTensors(s, ckpt); err != nil {
		return nil, nil, err
	}
	s.Family = fam.model
	warnings := s.applyGeneration(generation)
	slices.Sort(s.Stops)
	s.Stops = slices.Compact(s.Stops)
	return s, warnings, nil
}

// checkTensors compares the tensors of the checkpoint, if there is one, with what the Spec says of them.
func checkTensors(s *Spec, ckpt *weights.Checkpoint) error {
	layout, err := weights.Plan(s.Recipe())
	if err != nil || ckpt == nil {
		return err
	}
	return ckpt.Check(layout)
}

func selectFamily(root *object) (*family, error) {
	name := root.text("model_type", "")
	if *root.fault != nil {
		return nil, fmt.Errorf("%s: %w", configFile, *root.fault)
	}
	var known []string
	for _, f := range families() {
		if f.model == name {
			return &f, nil
		}
		known = append(known, f.model)
	}
	return nil, &UnsupportedError{Type: name, Supported: known}
}

// stops reads an end-of-text id or a list of them, each below vocab.
func (o *object) stops(key string, vocab int) []int {
	r, ok := o.raw(key)
	if !ok {
		return nil
	}
	elements := []json.RawMessage{r}
	if r[0] == '[' {
		elements = o.list(key, maxStops)
	}
	var ids []int
	for _, e := range elements {
		n, err := whole(e)
		if err == nil && (n < 0 || n >= vocab) {
			err = fmt.Errorf("%d is outside 0 to %d", n, vocab-1)
		}
		if err != nil {
			o.fail(key, "%v", err)
			return nil
		}
		ids = append(ids, n)
	}
	return ids
}

// applyGeneration takes end ids and sampling defaults from generation_config.json. Each field that is wrong is
// skipped with a warning.
func (s *Spec) applyGeneration(text []byte) []Warning {
	s.Sampling = Sampling{Temperature: 1, TopP: 1}
	if text == nil {
		return nil
	}
	root, err := parseObject(generationFile, text)
	if err != nil {
		return []Warning{{generationFile, strings.TrimPrefix(err.Error(), generationFile+":")}}
	}
	var warnings []Warning
	field := func(read func(*object)) {
		o := &object{fields: root.fields, fault: new(error)}
		if read(o); *o.fault != nil {
			warnings = append(warnings, Warning{generationFile, (*o.fault).Error()})
		}
	}
	d := &s.Sampling
	field(func(o *object) { s.Stops = append(s.Stops, o.stops("eos_token_id", s.Vocab)...) })
	field(func(o *object) { d.Temperature = float32(o.float("temperature", 1, 0, 100)) })
	field(func(o *object) { d.TopP = float32(o.float("top_p", 1, 0, 1)) })
	field(func(o *object) { d.MinP = float32(o.float("min_p", 0, 0, 1)) })
	field(func(o *object) { d.TopK = o.optional("top_k", 0, 0, maxVocab) })
	field(func(o *object) {
		if !o.boolean("do_sample", true) {
			d.Temperature = 0
		}
	})
	return warnings
}
