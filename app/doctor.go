package app

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"sotto/app/models"
	"sotto/engine"
	"sotto/engine/gpu"
	"sotto/engine/gpu/vectors"
	"sotto/engine/sample"
)

// Diagnosis is what there is to know of how the engine does on a machine, for people and as JSON.
type Diagnosis struct {
	Healthy bool           `json:"healthy"`
	Version string         `json:"version"` // of Sotto
	System  SystemFacts    `json:"system"`
	Device  *DeviceFacts   `json:"device,omitempty"` // nil if none opened
	Kernels *KernelFacts   `json:"kernels,omitempty"`
	Answers []AnswerFacts  `json:"answers,omitempty"` // of each built-in model
	Errors  []string       `json:"errors"`
	Loading []LoadingFacts `json:"loading,omitempty"`
}

// SystemFacts describe the machine.
type SystemFacts struct {
	OS          string `json:"os"`      // "darwin"
	Arch        string `json:"arch"`    // "arm64"
	Version     string `json:"version"` // "macOS 26.2 (25C56)"
	Processor   string `json:"processor"`
	Threads     int    `json:"threads"`
	MemoryBytes int64  `json:"memory_bytes"` // 0 if unknown
}

// DeviceFacts are the device's capabilities.
type DeviceFacts struct {
	Driver        string `json:"driver"`
	Name          string `json:"name"`
	Tier          string `json:"tier"`
	TierReason    string `json:"tier_reason"` // why no faster one
	Lanes         int    `json:"lanes_per_simdgroup"`
	MaxSimdgroups int    `json:"simdgroups_per_threadgroup"`
	MemoryLimit   int64  `json:"memory_limit_bytes"` // 0 if unknown
	Chunk         int    `json:"prefill_chunk_rows"`
}

// KernelFacts compare every kernel with recorded results.
type KernelFacts struct {
	Checks   int             `json:"checks"`
	Equal    int             `json:"equal"` // bit for bit
	Close    int             `json:"close"` // within the tolerance
	Worst    float64         `json:"worst"` // largest difference of a close one, as a share of its largest number
	Failures []KernelFailure `json:"failures"`
	Seconds  float64         `json:"seconds"`
}

// KernelFailure is a check that failed.
type KernelFailure struct {
	Kernels []string `json:"kernels"`
	Error   string   `json:"error"`
}

// AnswerFacts tell of a short greedy answer of a built-in model.
type AnswerFacts struct {
	Model           string  `json:"model"`
	Equal           bool    `json:"equal"` // to the reference's, token for token
	Text            string  `json:"text"`
	Expected        string  `json:"expected"` // the reference's text
	Tokens          int     `json:"tokens"`
	FirstTokenMS    float64 `json:"first_token_ms"`
	TokensPerSecond float64 `json:"tokens_per_second"`
}

// LoadingFacts say how long a stage of opening the device and the model took.
type LoadingFacts struct {
	Stage   string  `json:"stage"`
	Seconds float64 `json:"seconds"`
}

// What a diagnosis asks each built-in model. Of the questions to which mlx-lm's answers are known it is one where no
// token of either model is in doubt: the best is 7.6 or more above the next, so that every right device finds it.
const diagnosisPrompt = "Rewrite as bullet list: apples, some bread, two bottles of milk"

// diagnosisAnswer are the ids with which mlx-lm has each built-in model answer, without the end id
// (cmd/sotto/testdata/greedy-*.json).
var diagnosisAnswer = []int32{12, 1966, 198, 12, 1066, 1331, 198, 12, 696, 1907, 83, 873, 317, 1380}

// Diagnose opens the device, checks every kernel and has every built-in model answer a question whose answer is known.
// Whatever fails is in the diagnosis; the error is that of a context that ended.
func Diagnose(ctx context.Context, o Options, version string, progress func(done, total int)) (*Diagnosis, error) {
	return diagnose(ctx, o, version, progress, diagnosisAnswer)
}

// diagnose expects that answer.
func diagnose(ctx context.Context, o Options, version string, progress func(done, total int), want []int32) (
	*Diagnosis, error,
) {
	d := &Diagnosis{Version: version, System: systemFacts(), Errors: []string{}}
	fail := func(what string, err error) {
		if err != nil && !errors.Is(err, ctx.Err()) {
			d.Errors = append(d.Errors, fmt.Sprintf("%s: %v", what, err))
		}
	}
	interrupted := func() error {
		d.Errors = append(d.Errors, "the check was interrupted: what it says is not all")
		return ctx.Err()
	}
	start := time.Now()
	device, err := openDevice(o) //nolint:contextcheck // a device that opens is not given up half-way
	if err != nil {
		fail("device", err)
		return d, ctx.Err()
	}
	d.Device = deviceFacts(device.Caps())
	d.Loading = append(d.Loading, LoadingFacts{"opening the device", time.Since(start).Seconds()})
	d.Kernels, err = checkKernels(ctx, device, progress)
	fail("kernels", err)
	fail("closing the device", device.Close())
	if ctx.Err() != nil {
		return d, interrupted()
	}
	list, err := models.Builtin()
	fail("models", err)
	for _, m := range list {
		o.Model = m.Name
		err := d.ask(ctx, o, want)
		if ctx.Err() != nil {
			return d, interrupted()
		}
		fail("answer of "+m.Name, err)
	}
	d.Healthy = len(d.Errors) == 0 && len(d.Kernels.Failures) == 0
	return d, nil
}

func deviceFacts(c gpu.Caps) *DeviceFacts {
	return &DeviceFacts{
		Driver: c.Driver, Name: c.Name, Tier: c.Tier, TierReason: c.TierReason, Lanes: c.SIMD,
		MaxSimdgroups: c.MaxGroup, MemoryLimit: c.MemoryLimit, Chunk: c.Chunk,
	}
}

func checkKernels(ctx context.Context, device gpu.Device, progress func(done, total int)) (*KernelFacts, error) {
	k := &KernelFacts{Failures: []KernelFailure{}}
	start := time.Now()
	err := vectors.Check(ctx, device, func(done, total int, r vectors.Result) {
		progress(done, total)
		k.Checks++
		switch {
		case r.Err != nil:
			k.Failures = append(k.Failures, KernelFailure{r.Kernels, r.Err.Error()})
		case r.Equal:
			k.Equal++
		default:
			k.Close++
			k.Worst = max(k.Worst, r.Worst)
		}
	})
	k.Seconds = time.Since(start).Seconds()
	return k, err
}

// ask opens a model as any front end does, has it answer greedily, and fails unless the answer has the ids wanted.
func (d *Diagnosis) ask(ctx context.Context, o Options, want []int32) (err error) {
	start := time.Now()
	m, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	d.Loading = append(d.Loading, LoadingFacts{"opening " + m.Name, time.Since(start).Seconds()})
	var result engine.Result
	for e, err := range m.Engine.NewSession().Generate(ctx, engine.Request{
		Messages:  []engine.Message{{Role: engine.User, Content: diagnosisPrompt}},
		Sampling:  sample.Settings{TopP: 1},
		MaxTokens: 2 * len(want),
	}) {
		if err != nil {
			return err
		}
		if e.Kind == engine.Finished {
			result = e.Result
		}
	}
	if ctx.Err() != nil { // the answer may have been cut
		return ctx.Err()
	}
	f := result.Figures
	a := AnswerFacts{
		Model: m.Name, Equal: slices.Equal(result.IDs, want), Text: result.Text, Tokens: f.Completion,
		FirstTokenMS: float64(f.FirstToken.Microseconds()) / 1e3, TokensPerSecond: f.DecodeRate(),
	}
	var text []byte
	for _, id := range want {
		text = append(text, m.Engine.TokenBytes(id)...)
	}
	a.Expected = string(text)
	d.Answers = append(d.Answers, a)
	if !a.Equal {
		return fmt.Errorf("it is %q, and not the reference's, %q", a.Text, a.Expected)
	}
	return nil
}

func systemFacts() SystemFacts {
	s := SystemFacts{OS: runtime.GOOS, Arch: runtime.GOARCH, Threads: runtime.NumCPU()}
	s.fill()
	return s
}
