//go:build linux && amd64

package sim_test

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"sotto/engine/gpu"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
)

var macOS14 = metal.System{Major: 14, Minor: 7, Build: "23H124"}

// TestMessages sends one wrong message each.
func TestMessages(t *testing.T) {
	const (
		device      = "MTLDevice"
		options     = "MTLCompileOptions"
		newBuffer   = "newBufferWithLength:options:"
		noCopy      = "newBufferWithBytesNoCopy:length:options:deallocator:"
		newLibrary  = "newLibraryWithSource:options:error:"
		newPipeline = "newComputePipelineStateWithFunction:error:"
	)
	for _, tt := range []struct {
		name                    string
		send                    func(c *client)
		class, selector, reason string
	}{
		{
			"unknown class", func(c *client) { c.class("MTLComputePipelineDescripter") },
			"MTLComputePipelineDescripter", "", "no class of that name",
		},
		{"a protocol is no class", func(c *client) { c.class(device) }, device, "", "no class of that name"},
		{
			"unknown selector", func(c *client) { c.send(c.dev, "newBufferWithLenght:options:", 16, 0) },
			device, "newBufferWithLenght:options:", "unrecognized selector",
		},
		{"another class's selector", func(c *client) { c.send(c.dev, "commit") }, device, "commit", "unrecognized"},
		{
			"an instance's selector to the class", func(c *client) { c.send(c.class(options), "languageVersion") },
			options, "languageVersion", "unrecognized selector",
		},
		{
			"a class's selector to an instance", func(c *client) { c.send(c.options(), "new") },
			options, "new", "unrecognized selector",
		},
		{
			"too few arguments", func(c *client) { c.send(c.dev, newBuffer, 16) },
			device, newBuffer, "1 words of arguments, it takes 2",
		},
		{
			"too many arguments", func(c *client) { c.send(c.dev, "newSharedEvent", 1) },
			device, "newSharedEvent", "1 words of arguments, it takes 0",
		},
		{"nil", func(c *client) { c.send(0, "commit") }, "", "commit", "sent to nil"},
		{"no object", func(c *client) { c.send(12345, "commit") }, "", "commit", "is no object"},
		{"no selector", func(c *client) { c.r.Send(&metal.Message{Sel: 1 << 20}) }, "", "", "is no selector"},
		{"argument of another class", func(c *client) {
			c.send(c.dev, newLibrary, uintptr(c.options()), uintptr(c.options()), 0)
		}, device, newLibrary, "want NSString"},
		{"argument that is no object", func(c *client) {
			c.send(c.dev, newLibrary, 4711, 0, 0)
		}, device, newLibrary, "is no object"},
		{
			"a truth value of 2", func(c *client) { c.send(c.options(), "setFastMathEnabled:", 2) },
			options, "setFastMathEnabled:", "want YES or NO",
		},
		{"a block", func(c *client) {
			c.noCopy(page(c), gpu.Page, 1)
		}, device, noCopy, "block"},
		{
			"a struct as a result", func(c *client) { c.send(c.dev, "maxThreadsPerThreadgroup") },
			device, "maxThreadsPerThreadgroup", "integer register",
		},
		{
			"known and not played", func(c *client) { c.send(c.dev, "counterSets") },
			device, "counterSets", "does not play",
		},
		{
			"an object that is not made so", func(c *client) { c.send(c.class("NSURL"), "new") },
			"NSURL", "new", "does not make",
		},
		{
			"string of NULL", func(c *client) { c.send(c.class("NSString"), "stringWithUTF8String:", 0) },
			"NSString", "stringWithUTF8String:", "NULL",
		},
		{"index beyond", func(c *client) {
			a := c.get(c.class("NSArray"), "arrayWithObject:", uintptr(c.str("a")))
			c.send(a, "objectAtIndex:", 1)
		}, "NSArray", "objectAtIndex:", "beyond"},

		{"empty buffer", func(c *client) { c.buffer(0, 0) }, device, newBuffer, "length is 0"},
		{
			"huge buffer", func(c *client) { c.buffer(1<<50, 0) }, device, newBuffer,
			"beyond maxBufferLength",
		},
		{
			"private storage", func(c *client) { c.buffer(16, 0x20) }, device, newBuffer,
			"storage mode 2",
		},
		{
			"options that are none", func(c *client) { c.buffer(16, 0x8000) }, device, newBuffer,
			"no resource options",
		},
		{"memory that is not aligned", func(c *client) {
			c.noCopy(page(c)+16, gpu.Page, 0)
		}, device, noCopy, "start and end at a page"},
		{"memory that starts at a page of other processors", func(c *client) {
			c.noCopy(page(c)+4096, gpu.Page, 0)
		}, device, noCopy, "start and end at a page"},
		{"memory that ends inside a page", func(c *client) {
			c.noCopy(page(c), 4096, 0)
		}, device, noCopy, "start and end at a page"},
		{"memory of NULL", func(c *client) {
			c.noCopy(0, gpu.Page, 0)
		}, device, noCopy, "NULL"},

		{"no language version", func(c *client) {
			o := c.get(c.class(options), "new")
			c.send(o, "setFastMathEnabled:", 0)
			c.send(c.dev, newLibrary, uintptr(c.str("")), uintptr(o), 0)
		}, device, newLibrary, "no language version"},
		{"no options", func(c *client) {
			c.send(c.dev, newLibrary, uintptr(c.str("")), 0, 0)
		}, device, newLibrary, "no language version"},
		{"fast math", func(c *client) {
			o := c.options()
			c.send(o, "setMathMode:", 2)
			c.send(c.dev, newLibrary, uintptr(c.str("")), uintptr(o), 0)
		}, device, newLibrary, "fast math"},
		{"no source", func(c *client) {
			c.send(c.dev, newLibrary, 0, uintptr(c.options()), 0)
		}, device, newLibrary, "must not be nil"},
		{
			"language of the future", func(c *client) { c.send(c.options(), "setLanguageVersion:", 5<<16) },
			options, "setLanguageVersion:", "the newest here is 4.0",
		},
		{
			"math mode that is none", func(c *client) { c.send(c.options(), "setMathMode:", 3) },
			options, "setMathMode:", "no MTLMathMode",
		},
		{
			"kernel that nothing executes", func(c *client) { c.pipeline("unheard_of") },
			device, newPipeline, "not in the catalogue",
		},
		{
			"pipeline of nothing", func(c *client) { c.send(c.dev, newPipeline, 0, 0) },
			device, newPipeline, "must not be nil",
		},
		{"descriptor without a function", func(c *client) {
			d := c.get(c.class("MTLComputePipelineDescriptor"), "new")
			c.send(c.dev, "newComputePipelineStateWithDescriptor:options:reflection:error:", uintptr(d), 0, 0, 0)
		}, device, "newComputePipelineStateWithDescriptor:options:reflection:error:", "computeFunction"},
		{
			"a queue of none", func(c *client) { c.send(c.dev, "newCommandQueueWithMaxCommandBufferCount:", 0) },
			device, "newCommandQueueWithMaxCommandBufferCount:", "queue of 0",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := begin(t, sim.Options{})
			tt.send(c)
			c.wrong(tt.class, tt.selector, tt.reason)
		})
	}
}

// page is the address of page-aligned memory.
func page(c *client) uintptr {
	const n = gpu.Page
	b := make([]byte, 2*n)
	c.kept = append(c.kept, b)
	p := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return (p + n - 1) / n * n
}

// TestTooNew sends what newer systems brought to older ones.
func TestTooNew(t *testing.T) {
	c := begin(t, sim.Options{OS: macOS14})
	if id := c.class("MTLResidencySetDescriptor"); id != 0 {
		t.Errorf("got a class %#x that macOS 15 brought", id)
	}
	c.right() // asking is allowed
	o := c.options()
	c.send(o, "setMathMode:", 0)
	c.wrong("MTLCompileOptions", "setMathMode:", "exists since macOS 15.0, this is 14.7")
	c.send(c.dev, "newResidencySetWithDescriptor:error:", 0, 0)
	c.wrong("MTLDevice", "newResidencySetWithDescriptor:error:", "since macOS 15.0")
	c.send(c.dev, "newMTL4CommandQueue")
	c.wrong("MTLDevice", "newMTL4CommandQueue", "since macOS 26.0")
	c.send(o, "setLanguageVersion:", 3<<16|2)
	c.wrong("MTLCompileOptions", "setLanguageVersion:", "language version 3.2, the newest here is 3.1")

	sel := func(s string) uintptr { return uintptr(c.r.Selector(s)) }
	for selector, want := range map[string]uintptr{
		"setMathMode:": 0, "setFastMathEnabled:": 1, "setMathMood:": 0, "retain": 1,
	} {
		if got := c.send(o, "respondsToSelector:", sel(selector)); got != want {
			t.Errorf("responds to %s: got %d, want %d", selector, got, want)
		}
	}

	c = begin(t, sim.Options{OS: metal.System{Major: 15, Build: "24A335"}})
	c.send(c.options(), "setMathMode:", 0)
	c.send(c.class("MTLResidencySetDescriptor"), "new")
	c.right()
	c.send(c.dev, "newMTL4CommandQueue")
	c.wrong("MTLDevice", "newMTL4CommandQueue", "since macOS 26.0")
}

// TestDriverMethods holds the driver's list of messages to the facts and to what is played here.
func TestDriverMethods(t *testing.T) {
	for _, m := range metal.Methods() {
		words, err := sim.Words(metal.System{Major: 26, Minor: 2}, m.Class, m.Selector)
		if err != nil || words != m.Args {
			t.Errorf("%s %s: sent with %d words, it takes %d (%v)", m.Class, m.Selector, m.Args, words, err)
		}
	}
	if _, err := sim.Words(macOS14, "MTLCompileOptions", "setMathMode:"); err == nil {
		t.Error("macOS 14 is said to have a math mode")
	}
}

func TestStrings(t *testing.T) {
	c := begin(t, sim.Options{GPU: sim.M3})
	if got := c.text(c.get(c.dev, "name")); got != "Apple M3" {
		t.Errorf("got %q", got)
	}
	s := c.str("Grüße 😀")
	if got, n := c.text(s), c.send(s, "length"); got != "Grüße 😀" || n != 8 {
		t.Errorf("got %q of length %d", got, n)
	}
	a := c.get(c.class("NSArray"), "arrayWithObjects:count:", keep(c, s, c.str("b")), 2)
	if n, second := c.send(a, "count"), c.text(c.get(a, "objectAtIndex:", 1)); n != 2 || second != "b" {
		t.Errorf("got %d objects, the second %q", n, second)
	}
	u := c.get(c.class("NSURL"), "fileURLWithPath:isDirectory:", uintptr(c.str("/a/b")), 0)
	if got := c.text(c.get(u, "path")); got != "/a/b" {
		t.Errorf("got %q", got)
	}
}

func TestCounts(t *testing.T) {
	c := begin(t, sim.Options{})
	before := c.r.Stats().Messages
	o := c.options()
	c.send(o, "setLanguageVersion:", 3<<16|1)
	if got := c.r.Stats().Messages - before; got != 4 {
		t.Errorf("got %d messages, want 4", got)
	}
	if got := c.r.Sent()["MTLCompileOptions setLanguageVersion:"]; got != 2 {
		t.Errorf("got %d of one method, want 2", got)
	}
}

// TestFamilies is the table of what each GPU says it is.
func TestFamilies(t *testing.T) {
	for _, tt := range []struct {
		gpu  sim.Profile
		os   metal.System
		want []uintptr // of those asked for
	}{
		{sim.M1, macOS14, []uintptr{1001, 1007, 2002, 3003, 5001}},
		{sim.M2, macOS14, []uintptr{1001, 1007, 1008, 2002, 3003, 5001}},
		{sim.M3, macOS14, []uintptr{1001, 1007, 1008, 1009, 2002, 3003, 5001}},
		{sim.M4, metal.System{Major: 15, Build: "24A335"}, []uintptr{1001, 1007, 1008, 1009, 2002, 3003, 5001}},
		{sim.M5, metal.System{Major: 26, Build: "25A354"}, []uintptr{
			1001, 1007, 1008, 1009, 1010, 2002, 3003, 5001, 5002,
		}},
		{sim.M1, metal.System{Major: 26, Build: "25A1"}, []uintptr{1001, 1007, 2002, 3003, 5001, 5002}},
	} {
		t.Run(tt.gpu.Name+" on "+tt.os.Build, func(t *testing.T) {
			c := begin(t, sim.Options{GPU: tt.gpu, OS: tt.os})
			var got []uintptr
			for _, f := range []uintptr{1001, 1007, 1008, 1009, 1010, 2002, 3003, 5001, 5002, 9999} {
				if c.send(c.dev, "supportsFamily:", f) == 1 {
					got = append(got, f)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if got := int64(c.send(c.dev, "recommendedMaxWorkingSetSize")); got != tt.gpu.WorkingSet || got == 0 {
				t.Errorf("got a working set of %d", got)
			}
			if got := int64(c.send(c.dev, "maxBufferLength")); got != tt.gpu.MaxBuffer || got == 0 {
				t.Errorf("got a buffer length of %d", got)
			}
		})
	}
}

func TestLibraries(t *testing.T) {
	c := begin(t, sim.Options{})
	lib := c.library(`#if __METAL_VERSION__ >= 310
		template <typename T> [[max_total_threads_per_threadgroup(64)]] kernel void f(device T* x) {}
		template [[host_name("`+norm.Kernel.Name+`")]] kernel decltype(f<int>) f<int>;
		#endif`, 0)
	if id := c.get(lib, "newFunctionWithName:", uintptr(c.str("f"))); id != 0 {
		t.Error("a template is no function")
	}
	f := c.get(lib, "newFunctionWithName:", uintptr(c.str(norm.Kernel.Name)))
	if got := c.text(c.get(f, "name")); got != norm.Kernel.Name {
		t.Errorf("got %q", got)
	}
	d := c.get(f, "functionConstantsDictionary")
	if n := c.send(d, "count"); n != 0 {
		t.Errorf("got %d constants", n)
	}
	p := c.get(c.dev, "newComputePipelineStateWithFunction:error:", uintptr(f), 0)
	if w, n := c.send(p, "threadExecutionWidth"), c.send(p, "maxTotalThreadsPerThreadgroup"); w != 32 || n != 64 {
		t.Errorf("got width %d and %d threads, want 32 and 64", w, n)
	}
	code, text := c.failed(func(e uintptr) { c.library("#include \"simd.h\"", e) })
	if code != 3 || !strings.Contains(text, "file not found") {
		t.Errorf("got error %d, %q", code, text)
	}
	c.right()
}
