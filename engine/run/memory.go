package run

import (
	"errors"
	"fmt"

	"sotto/engine/gpu"
	"sotto/engine/nn"
	"sotto/engine/state"
	"sotto/engine/weights"
	"sotto/kernels"
)

// leastWindow is the smallest window in positions that memory is allowed to make of a larger one: what would not hold
// a conversation is refused.
const leastWindow = 4096

// wholeWindow is the window that the model has where memory is not short.
func wholeWindow(c Config) int { return min(c.Spec.Window, state.MaxWindow) }

// sizes are how much state there may be, what was asked for first: fewer sessions, then shorter windows.
func sizes(c Config) []state.Config {
	var out []state.Config
	window := wholeWindow(c)
	for slots := max(c.Sessions, 1); slots > 1; slots = (slots + 1) / 2 {
		out = append(out, state.Config{DType: c.DType, Slots: slots, Window: window})
	}
	for ; ; window /= 2 {
		out = append(out, state.Config{DType: c.DType, Slots: 1, Window: window})
		if window/2 < leastWindow {
			return out
		}
	}
}

// fit calls use with one size after the other until one fits the memory. Other errors end it.
func fit(c Config, use func(state.Config) error) (err error) {
	for _, s := range sizes(c) {
		if err = use(s); !errors.Is(err, gpu.ErrOutOfMemory) {
			return err
		}
	}
	return err
}

// Supports tells why a model cannot run, before its weights are packed, which may take minutes: c has no pack yet. A
// shape that no kernel covers yields a *kernels.UnsupportedError that says where; too little memory, an error with
// [gpu.ErrOutOfMemory] and the numbers.
func Supports(c Config) error {
	var err error
	if c.Layout, err = weights.Plan(c.Spec.Recipe()); err != nil {
		return err
	}
	return fit(c, func(s state.Config) error {
		l, err := state.Plan(c.Spec, s)
		if err != nil {
			return err
		}
		_, err = admit(c, l)
		return err
	})
}

// record records the largest pass of so many rows.
func record(c Config, l *state.Layout, rows int) (*nn.Pass, error) {
	return nn.Record(nn.Model{Spec: c.Spec, Weights: c.Layout, State: l}, nn.Options{
		Rows: rows, Sampler: nn.Sampled, Logits: nn.LastLogits, Without: c.Without,
	})
}

// admit refuses what does not fit the device's memory, with the numbers: weights, state, step buffers, the scratch
// memory of passes, and what a device takes beside these. What is admitted runs; a diagnosis takes more and may not. It
// returns the scratch memory to set up.
func admit(c Config, l *state.Layout) (scratch int64, err error) {
	caps := c.Device.Caps()
	scratch, params, err := passMemory(c, l)
	if err != nil {
		return 0, err
	}
	need := gpu.MapFootprint(c.Layout.Size()) + gpu.Footprint(scratch) + params + gpu.ZeroBytes +
		int64(l.Slots)*gpu.Footprint(kernels.StepBytes)
	for _, r := range l.Regions() {
		need += gpu.Footprint(r.Size)
	}
	if caps.MemoryLimit > 0 && need > caps.MemoryLimit {
		return 0, fmt.Errorf("%d MB of weights and of state for %d tokens do not fit the %d MB that %s allows: %w",
			need/1e6, l.Window, caps.MemoryLimit/1e6, caps.Name, gpu.ErrOutOfMemory)
	}
	return scratch, nil
}

// samplers is the number of programs that a row class has: without a sampler, and with each.
const samplers = 3

// passMemory is the scratch memory that any pass needs, up to the widest chunk, and what the parameters of all their
// programs take. A pass of one row may need the most scratch memory: it is the one that samples with the whole
// vocabulary at hand.
func passMemory(c Config, l *state.Layout) (scratch, params int64, err error) {
	widest := class(newPace(c).widest())
	for _, rows := range classes {
		pass, err := record(c, l, rows)
		if err != nil {
			return 0, 0, err
		}
		if rows > widest {
			continue // recorded to see that there are kernels for it
		}
		scratch = max(scratch, pass.Scratch.Size)
		params += samplers * gpu.Footprint(pass.ParamBytes())
	}
	return scratch, params, nil
}
