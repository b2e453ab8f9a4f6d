//go:build linux && amd64

package sim_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"sotto/assets"
	"sotto/engine"
	"sotto/engine/gpu"
	"sotto/engine/gpu/host"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
	"sotto/engine/sample"
)

// manifests are kept in memory.
type manifests map[string][]byte

func (m manifests) Load(key string) ([]byte, error)     { return m[key], nil }
func (m manifests) Save(key string, value []byte) error { m[key] = value; return nil }

// TestModel runs the built-in models through the Metal driver on each system: every token and log-probability is what
// the host driver gives, nothing is wrong and nothing is left.
func TestModel(t *testing.T) {
	for _, model := range []string{"qwen-tiny", "nemotron-tiny"} {
		t.Run(model, func(t *testing.T) { testModel(t, model) })
	}
}

func testModel(t *testing.T, model string) {
	device, err := host.Open(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := talk(t, model, device)
	for _, s := range systems {
		t.Run(s.name, func(t *testing.T) {
			dev, err := sim.Open(sim.Options{OS: s.os, GPU: s.gpu}, metal.Options{ArchiveDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			before := dev.Runtime().Stats()
			got := talk(t, model, dev)
			after := dev.Runtime().Stats()
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			tokens := 0
			for _, a := range got {
				tokens += len(a.ids)
			}
			t.Logf("%d tokens, %d messages, %d dispatches, %d barriers, %d command buffers, %d programs", tokens,
				after.Messages-before.Messages, after.Dispatches-before.Dispatches, after.Barriers-before.Barriers,
				after.CommandBuffers-before.CommandBuffers, after.Programs-before.Programs)
		})
	}
}

// answer is what must be the same.
type answer struct {
	text string
	ids  []int32
	logs []float32
}

// talk opens the model on a device, holds a conversation, one with chance in it, and closes all.
func talk(t *testing.T, model string, device gpu.Device) []answer {
	t.Helper()
	e := openModel(t, model, engine.Options{Device: device, Chunk: 64})
	defer func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	var all []answer
	var messages []engine.Message
	s := e.NewSession()
	for i, text := range []string{"My name is Bertha.", "Tell me a story.", "What is my name?"} {
		messages = append(messages, engine.Message{Role: engine.User, Content: text})
		r := engine.Request{Messages: messages, MaxTokens: 40, Logprobs: true}
		if i == 1 {
			r.Sampling = sample.Settings{Temperature: 1.5, TopP: 0.95, TopK: 50, Seed: 7}
		}
		a := answer{}
		for ev, err := range s.Generate(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev.Kind {
			case engine.Reading:
			case engine.Text:
				a.logs = append(a.logs, ev.Token.Log)
			case engine.Finished:
				a.text, a.ids = ev.Result.Text, ev.Result.IDs
				messages = append(messages, ev.Result.Message)
			}
		}
		if len(a.ids) == 0 {
			t.Errorf("%q has no answer", text)
		}
		all = append(all, a)
	}
	return all
}

func openModel(t *testing.T, model string, o engine.Options) *engine.Engine {
	t.Helper()
	dir, err := assets.Model(model)
	if err != nil {
		t.Fatal(err)
	}
	o.PackDir, o.Manifests = t.TempDir(), manifests{}
	e, err := engine.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// ask is one short answer.
func ask(t *testing.T, s *engine.Session, text string, tokens int) (string, error) {
	t.Helper()
	out := ""
	for e, err := range s.Generate(t.Context(), engine.Request{
		Messages: []engine.Message{{Role: engine.User, Content: text}}, MaxTokens: tokens,
	}) {
		if err != nil {
			return "", err
		}
		if e.Kind == engine.Finished {
			out = e.Result.Text
		}
	}
	return out, nil
}

// TestRequests serves a thousand requests: not one object more is alive afterwards, and at the end none at all.
func TestRequests(t *testing.T) {
	dev, err := sim.Open(sim.Options{}, metal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Chunks of one size: those that follow the time need programs for other numbers of rows on a slow machine.
	e := openModel(t, "qwen-tiny", engine.Options{Device: dev, Sessions: 2, Chunk: 64})
	var before int
	for i := range 1020 {
		if _, err := ask(t, e.NewSession(), "Hello!", 2); err != nil {
			t.Fatal(err)
		}
		if i == 19 { // all pipelines are built, all programs compiled
			before = len(dev.Runtime().Live())
		}
	}
	if after := dev.Runtime().Live(); len(after) > before {
		t.Errorf("%d objects after a thousand requests, %d before", len(after), before)
	}
	if err := e.Close(); err != nil { // tells of whatever is left or was wrong
		t.Error(err)
	}
}

// TestAnswersFail fails a command buffer in the middle of an answer, for every reason that Metal has: the request ends
// with the reason, the next one is answered as if nothing had been, and nothing is left.
func TestAnswersFail(t *testing.T) {
	faults := []sim.Fault{{Kind: sim.DeviceRemoved}}
	for _, code := range []int{1, 2, 3, 4, 7, 8, 9, 10, 11, 12} {
		faults = append(faults, sim.Fault{Kind: sim.CommandFails, Code: code},
			sim.Fault{Kind: sim.CommandFails, Code: code, Signals: true})
	}
	const text, tokens = "Hello! What can you do?", 12
	open := func() *sim.Device {
		dev, err := sim.Open(sim.Options{}, metal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return dev
	}
	e := openModel(t, "qwen-tiny", engine.Options{Device: open()})
	want, err := ask(t, e.NewSession(), text, tokens)
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Run(fmt.Sprintf("kind %d, code %d, signals %v", f.Kind, f.Code, f.Signals), func(t *testing.T) {
			dev := open()
			e := openModel(t, "qwen-tiny", engine.Options{
				Device: dev, Reopen: func() (gpu.Device, error) { return open(), nil },
			})
			s := e.NewSession()
			if _, err := ask(t, s, text, tokens); err != nil {
				t.Fatal(err)
			}
			f.After = 3
			dev.Runtime().Inject(f)
			var failed *gpu.Error
			if got, err := ask(t, s, text, tokens); !errors.As(err, &failed) {
				t.Errorf("got %q and %v, want the device's error", got, err)
			}
			for range 2 {
				if got, err := ask(t, s, text, tokens); err != nil || got != want {
					t.Errorf("afterwards: got %q and %v, want %q", got, err, want)
				}
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStepsPerBuffer decodes where a step takes longer than encoding: two steps share a command buffer, and each token
// is told as soon as it is there.
func TestStepsPerBuffer(t *testing.T) {
	dev, err := sim.Open(sim.Options{}, metal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := openModel(t, "qwen-tiny", engine.Options{Device: dev, Chunk: 64})
	const step = 20 * time.Millisecond
	dev.Runtime().Inject(sim.Fault{Kind: sim.SlowPass, Delay: step, Times: -1})
	before := dev.Runtime().Stats().CommandBuffers
	const tokens = 40
	var times []time.Time
	for ev, err := range e.NewSession().Generate(t.Context(), engine.Request{
		Messages: []engine.Message{{Role: engine.User, Content: "Tell me a story about a dragon."}}, MaxTokens: tokens,
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == engine.Text {
			times = append(times, time.Now())
		}
	}
	if len(times) < tokens-1 {
		t.Fatalf("got %d tokens, want %d", len(times), tokens)
	}
	// One for the prompt, one step alone in the beginning and one at the end; some more where this machine is slow.
	if n := dev.Runtime().Stats().CommandBuffers - before; n > tokens/2+tokens/8+3 {
		t.Errorf("%d command buffers for %d tokens", n, len(times))
	}
	apart := 0
	for i := 1; i < len(times); i++ {
		if times[i].Sub(times[i-1]) > step/2 {
			apart++
		}
	}
	if apart < len(times)*3/4 {
		t.Errorf("%d of %d tokens came a step apart, want nearly all", apart, len(times))
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
