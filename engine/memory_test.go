package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/host"
	"sotto/engine/model"
	"sotto/engine/sample"
	"sotto/engine/state"
	"sotto/kernels"
)

// smallDevice is a device that says it has less memory.
type smallDevice struct {
	gpu.Device
	limit int64
}

func (d smallDevice) Caps() gpu.Caps {
	c := d.Device.Caps()
	c.MemoryLimit = d.limit
	return c
}

// small makes a model folder's device one that says it has less memory and opens the model.
func small(t *testing.T, dir string, limit int64, change func(*Options)) (*Engine, error) {
	t.Helper()
	device, err := host.Open(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Device: smallDevice{device, limit}, PackDir: filepath.Join(t.TempDir(), "packs"), Manifests: memory{},
	}
	if change != nil {
		change(&o)
	}
	e, err := Open(t.Context(), os.DirFS(dir), o)
	if err == nil {
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return e, err
}

// needs is what a model needs in bytes: for the state of a session of so many tokens, and for all else.
func needs(t *testing.T, dir string, window int) (session, rest int64) {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	spec, _, err := model.SpecFromConfig(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := state.Plan(spec, state.Config{DType: kernels.BF16, Slots: 1, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Regions() {
		session += r.Size
	}
	_, err = small(t, dir, 1, nil)
	var all int64
	var least int
	_, scan := fmt.Sscanf(fmt.Sprint(err), "%d MB of weights and of state for %d tokens", &all, &least)
	if scan != nil || !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Fatalf("got %v, want ErrOutOfMemory with numbers", err)
	}
	if least != window {
		return session, 0 // the refusal is about a shorter window
	}
	return session, (all+1)*1e6 - session
}

func TestSessionsAreFewerWhereMemoryIsShort(t *testing.T) {
	dir := copyModel(t, "qwen-tiny", strings.NewReplacer())
	session, rest := needs(t, dir, 4096)
	for _, c := range []struct {
		ask  int
		room int64 // for states
		want int
	}{
		{0, 100, 1},
		{4, 100, 4},
		{4, 3, 2},
		{5, 3, 3},
		{7, 1, 1},
	} {
		t.Run(fmt.Sprintf("%d in room for %d", c.ask, c.room), func(t *testing.T) {
			e, err := small(t, dir, rest+c.room*session+session/2, func(o *Options) { o.Sessions = c.ask })
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Info().Sessions; got != c.want {
				t.Errorf("got %d sessions, want %d", got, c.want)
			}
			ask(t, t.Context(), e.NewSession(), Request{Messages: user("Hello!"), MaxTokens: 2}, nil)
		})
	}
}

// TestWindowIsShorterWhereMemoryIsShort holds that a model runs with a shorter window rather than not at all, says so,
// and answers the same.
func TestWindowIsShorterWhereMemoryIsShort(t *testing.T) {
	const whole = 65536
	dir := copyModel(t, "qwen-tiny", strings.NewReplacer(
		`"max_position_embeddings": 4096`, fmt.Sprintf(`"max_position_embeddings": %d`, whole)))
	least, rest := needs(t, dir, leastOf(whole))
	request := Request{Messages: user("Who are you?"), MaxTokens: 20}
	want := ask(t, t.Context(), open(t, nil).NewSession(), request, nil)
	for _, window := range []int{whole, whole / 2, whole / 4, leastOf(whole)} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			session, _ := needs(t, dir, window)
			var warned []string
			e, err := small(t, dir, rest+session+least/2, func(o *Options) {
				o.Sessions = 3
				if window == whole {
					o.Sessions = 1
				}
				o.Warn = func(s string) { warned = append(warned, s) }
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Info(); got.Window != window || got.WholeWindow != whole || got.Sessions != 1 {
				t.Errorf("got a window of %d, %d sessions, want %d, 1", got.Window, got.Sessions, window)
			}
			if short := strings.Contains(fmt.Sprint(warned), "memory is short"); short != (window < whole) {
				t.Errorf("warned: %q", warned)
			}
			if got := ask(t, t.Context(), e.NewSession(), request, nil); got.Text != want.Text {
				t.Errorf("answers %q, with all memory %q", got.Text, want.Text)
			}
			long := Request{Messages: user(strings.Repeat("one two three ", window/2))}
			_, err = first(e.NewSession().Generate(t.Context(), long))
			var refused *WindowError
			if !errors.As(err, &refused) || refused.Window != window {
				t.Errorf("a prompt that is too long: %v", err)
			}
		})
	}
}

// leastOf is the shortest window that memory makes of a longer one.
func leastOf(window int) int {
	for window/2 >= 4096 {
		window /= 2
	}
	return window
}

// TestTooLargeForMemory refuses a model before its weights are packed, which may take minutes and much of the disk.
func TestTooLargeForMemory(t *testing.T) {
	packs := filepath.Join(t.TempDir(), "packs")
	dir := copyModel(t, "nemotron-tiny", strings.NewReplacer())
	_, err := small(t, dir, 5e6, func(o *Options) { o.PackDir = packs })
	if !errors.Is(err, gpu.ErrOutOfMemory) || !strings.Contains(err.Error(), "the 5 MB that ") {
		t.Errorf("got %v, want the numbers", err)
	}
	if _, err := os.Stat(packs); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("weights were packed: %v", err)
	}
}

// strictDevice hands out no more than it says it has.
type strictDevice struct {
	smallDevice
	used *int64 // what is freed stays counted
}

func (d strictDevice) Alloc(size int64) (gpu.Buffer, error) {
	if *d.used+size > d.limit {
		return nil, fmt.Errorf("%d bytes with %d in use of %d: %w", size, *d.used, d.limit, gpu.ErrOutOfMemory)
	}
	*d.used += size
	return d.Device.Alloc(size)
}

func (d strictDevice) Map(mem []byte) (gpu.Buffer, error) {
	*d.used += int64(len(mem))
	return d.Device.Map(mem)
}

// TestWhatIsAdmittedRuns opens a model in the least memory that will do: then short and long prompts and
// answers do too, in any order.
func TestWhatIsAdmittedRuns(t *testing.T) {
	for _, model := range []string{"qwen-tiny", "nemotron-tiny"} {
		dir, packs := os.DirFS(copyModel(t, model, strings.NewReplacer())), t.TempDir()
		strict := func(limit int64, chunk int) (*Engine, error) {
			device, err := host.Open(host.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return Open(t.Context(), dir, Options{
				Device:  strictDevice{smallDevice{device, limit}, new(int64)},
				PackDir: packs, Manifests: memory{}, Chunk: chunk,
			})
		}
		for _, chunk := range []int{1, 256} {
			_, err := strict(1, chunk)
			var needs int64
			if _, scan := fmt.Sscanf(fmt.Sprint(err), "%d MB of weights", &needs); scan != nil {
				t.Fatalf("got %v, want a refusal with numbers", err)
			}
			refused, taken := needs*1e6, (needs+1)*1e6
			for taken-refused > 32<<10 {
				limit := (refused + taken) / 2
				e, err := strict(limit, chunk)
				if err != nil {
					refused = limit
					continue
				}
				taken = limit
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
			e, err := strict(taken, chunk)
			if err != nil {
				t.Fatal(err)
			}
			s := e.NewSession()
			for _, text := range []string{"Hello!", strings.Repeat("one two three ", 100), "Hello!"} {
				for _, temperature := range []float32{0, 1} {
					r := Request{Messages: user(text), MaxTokens: 4}
					r.Sampling = sample.Settings{Temperature: temperature, TopP: 1}
					for _, err := range s.Generate(t.Context(), r) {
						if err != nil {
							t.Errorf("%s in %d bytes, chunks of %d, %d letters: %v", model, taken, chunk, len(text),
								err)
						}
					}
				}
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
