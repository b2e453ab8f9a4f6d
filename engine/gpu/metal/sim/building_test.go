//go:build linux && amd64

package sim_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sotto/assets"
	"sotto/engine"
	"sotto/engine/gpu"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
	"sotto/engine/sample"
	"sotto/kernels"
)

// slowPipelines have the compiler take its time.
func slowPipelines(d time.Duration) []sim.Fault {
	return []sim.Fault{{Kind: sim.SlowPipeline, Delay: d, Times: -1}}
}

// mostBuilders is how many pipelines are built at a time at most.
const mostBuilders = 4

// TestOpenWaitsForKernels opens a model while the compiler is slow: it tells of progress, and when it is open
// everything is ready that requests usually need, though not all pipelines are. The compiler then fails, unnoticed.
func TestOpenWaitsForKernels(t *testing.T) {
	var told atomic.Int64
	dev, err := sim.Open(sim.Options{Inject: slowPipelines(5 * time.Millisecond)}, metal.Options{
		Progress: func(done, _ int) { told.Store(int64(done)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	e := openModel(t, "qwen-tiny", engine.Options{Device: dev, Chunk: 64})
	n := int(told.Load())
	if all := len(kernels.All()); n < 20 || n > all/2 {
		t.Errorf("the model is open with %d of %d kernels", n, all)
	}
	dev.Runtime().Inject(sim.Fault{Kind: sim.PipelineFails, Times: -1})
	for _, text := range []string{"Hi", strings.Repeat("one two three ", 60), "What is your name? And mine?"} {
		for _, temperature := range []float32{0, 1} {
			r := engine.Request{Messages: []engine.Message{{Role: engine.User, Content: text}}, MaxTokens: 4}
			r.Sampling = sample.Settings{Temperature: temperature, TopP: 1}
			for _, err := range e.NewSession().Generate(t.Context(), r) {
				if err != nil {
					t.Errorf("%d letters, temperature %v: %v", len(text), temperature, err)
				}
			}
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenIsCancelled gives up opening a model while kernels are built: no other pipeline is begun.
func TestOpenIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told atomic.Int64
	dev, err := sim.Open(sim.Options{Inject: slowPipelines(20 * time.Millisecond)}, metal.Options{
		Progress: func(done, _ int) {
			if told.Store(int64(done)); done == 3 {
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := assets.Model("qwen-tiny")
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.Open(ctx, dir, engine.Options{Device: dev, PackDir: t.TempDir(), Manifests: manifests{}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	// Weights are packed before: the model may have been given up then. The rest is what was under way.
	if n := told.Load(); n > 3+5*mostBuilders {
		t.Errorf("%d pipelines were built", n)
	}
}

// TestRequestIsCancelled gives a request up that waits for kernels, on a device that was opened again: it does not wait
// for what is not begun, and the next request is answered.
func TestRequestIsCancelled(t *testing.T) {
	var told atomic.Int64
	var reached func() // at the third pipeline
	reopen := func() (gpu.Device, error) {
		return sim.Open(sim.Options{Inject: slowPipelines(20 * time.Millisecond)}, metal.Options{
			Progress: func(done, _ int) {
				if told.Store(int64(done)); done == 3 {
					reached()
				}
			},
		})
	}
	dev, err := sim.Open(sim.Options{}, metal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := openModel(t, "qwen-tiny", engine.Options{Device: dev, Reopen: reopen, Chunk: 64})
	want, err := ask(t, e.NewSession(), "Hello!", 3)
	if err != nil {
		t.Fatal(err)
	}
	dev.Runtime().Inject(sim.Fault{Kind: sim.DeviceRemoved})
	if _, err := ask(t, e.NewSession(), "Hello!", 3); !errors.Is(err, gpu.ErrLost) {
		t.Errorf("got %v, want %v", err, gpu.ErrLost)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reached = cancel
	for ev, err := range e.NewSession().Generate(ctx, engine.Request{
		Messages: []engine.Message{{Role: engine.User, Content: "Hello!"}}, MaxTokens: 3,
	}) {
		if err != nil || ev.Kind == engine.Finished && ev.Result.Reason != engine.ReasonCancelled {
			t.Errorf("got %+v, %v, want a cancelled request", ev, err)
		}
	}
	if n := told.Load(); n > 3+2*mostBuilders {
		t.Errorf("%d pipelines were built before it returned", n)
	}
	reached = func() {}
	if got, err := ask(t, e.NewSession(), "Hello!", 3); err != nil || got != want {
		t.Errorf("afterwards: got %q, %v, want %q", got, err, want)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseWhileWaiting closes the engine while a request waits for kernels.
func TestCloseWhileWaiting(t *testing.T) {
	dev, err := sim.Open(sim.Options{}, metal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var told atomic.Int64
	begun := make(chan struct{})
	e := openModel(t, "qwen-tiny", engine.Options{Device: dev, Chunk: 64, Reopen: func() (gpu.Device, error) {
		return sim.Open(sim.Options{Inject: slowPipelines(20 * time.Millisecond)}, metal.Options{
			Progress: func(done, _ int) {
				if told.Store(int64(done)); done == 3 {
					close(begun)
				}
			},
		})
	}})
	dev.Runtime().Inject(sim.Fault{Kind: sim.DeviceRemoved})
	if _, err := ask(t, e.NewSession(), "Hello!", 3); !errors.Is(err, gpu.ErrLost) {
		t.Errorf("got %v, want %v", err, gpu.ErrLost)
	}
	closed := make(chan error, 1)
	go func() {
		<-begun
		closed <- e.Close()
	}()
	if _, err := ask(t, e.NewSession(), "Hello!", 3); err != nil {
		t.Errorf("got %v, want that the request is cancelled", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if n := told.Load(); n > 3+3*mostBuilders {
		t.Errorf("%d pipelines were built before it returned", n)
	}
}

// TestShortRunIsKept opens a model, asks and closes before all pipelines are built: what the model needs comes from the
// archive the next time.
func TestShortRunIsKept(t *testing.T) {
	dir, all := t.TempDir(), len(kernels.All())
	const add = "MTLBinaryArchive addComputePipelineFunctionsWithDescriptor:error:"
	run := func(o sim.Options) (added int) {
		dev, err := sim.Open(o, metal.Options{ArchiveDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		e := openModel(t, "qwen-tiny", engine.Options{Device: dev, Chunk: 64})
		if _, err := ask(t, e.NewSession(), "Hello!", 3); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		return int(dev.Runtime().Sent()[add])
	}
	first := run(sim.Options{Inject: slowPipelines(5 * time.Millisecond)})
	if first < 20 || first > all/2 {
		t.Errorf("%d of %d pipelines were kept", first, all)
	}
	begin := time.Now()
	second := run(sim.Options{Inject: slowPipelines(time.Second)})
	if second > mostBuilders {
		t.Errorf("%d pipelines were added while the compiler takes a second each", second)
	}
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("it took %v: what the model needs was compiled again", d)
	}
}
