package api_test

import (
	"bytes"
	"compress/gzip"
	"slices"
	"testing"

	"sotto/packaging/api"
)

func load(t *testing.T) *api.Facts {
	t.Helper()
	f, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFind(t *testing.T) {
	f := load(t)
	tests := map[string]struct {
		class, key, want string // "" if there is none
	}{
		"own":                    {"NSWindow", "-setTitle:", "v @:NSString"},
		"inherited":              {"NSTextView", "-setEditable:", "v B"},
		"of an ancestor":         {"NSTextView", "-frame", "{CGRect}"},
		"of a protocol":          {"NSTextView", "-insertText:replacementRange:", "v @ {NSRange}"},
		"of a category":          {"NSString", "-sizeWithAttributes:", "{CGSize} @:NSDictionary"},
		"of NSObject":            {"NSColor", "-respondsToSelector:", "B :"},
		"of a class":             {"NSColor", "+labelColor", "@:NSColor"},
		"alloc":                  {"NSColor", "+alloc", "@:NSObject"},
		"a class is an object":   {"NSColor", "+respondsToSelector:", "B :"},
		"of a protocol's object": {"MTLDevice", "-newBufferWithLength:options:", "@:MTLBuffer Q Q:MTLResourceOptions"},
		"instance, not class":    {"NSColor", "-labelColor", ""},
		"class, not instance":    {"NSWindow", "+setTitle:", ""},
		"no such method":         {"NSWindow", "-setTitel:", ""},
		"no such class":          {"NSWindoww", "-setTitle:", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := f.Find(tt.class, tt.key)
			if string(got) != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got, ok, tt.want)
			}
		})
	}
}

func TestSignature(t *testing.T) {
	s, ok := load(t).Find("NSTableViewDelegate", "-tableView:heightOfRow:")
	if !ok || !s.Optional() || s.Deprecated() {
		t.Fatalf("got %q, %v, want an optional method", s, ok)
	}
	result, arguments := s.Codes()
	if result != "d" || !slices.Equal(arguments, []api.Code{"@:NSTableView", "q"}) {
		t.Errorf("got %q and %q", result, arguments)
	}
	kinds := map[api.Code]string{"@:NSView": "@", "@?": "@?", "{CGRect}": "{", ":": ":", "Q:NSUInteger": "Q", "v": "v"}
	for code, want := range kinds {
		if got := code.Kind(); got != want {
			t.Errorf("kind of %q: got %q, want %q", code, got, want)
		}
	}
	if got := api.Code("{CGRect}").Struct(); got != "CGRect" {
		t.Errorf("struct: got %q", got)
	}
}

func TestProtocols(t *testing.T) {
	f := load(t)
	if f.Protocol("NSWindow") != nil || f.Protocol("NSMenuDelegate") == nil {
		t.Error("classes and protocols are mixed up")
	}
	if p := f.Protocol("NSAccessibilityElement"); p == nil || !p.Protocol() {
		t.Error("a protocol that is called like a class is not found")
	}
	m := f.ProtocolMethods("NSTextViewDelegate")
	for _, key := range []string{"-textView:doCommandBySelector:", "-textDidChange:"} { // its own, and NSTextDelegate's
		if s, ok := m[key]; !ok || !s.Optional() {
			t.Errorf("NSTextViewDelegate: %s: got %q, %v, want an optional method", key, s, ok)
		}
	}
}

func TestAnywhere(t *testing.T) {
	f := load(t)
	if got := f.Anywhere("setTitle:"); len(got) == 0 {
		t.Error("setTitle: is nowhere")
	}
	if got := f.Anywhere("setTitel:"); len(got) > 0 {
		t.Errorf("got %q, want nothing", got)
	}
}

// TestValues looks at facts other than methods.
func TestValues(t *testing.T) {
	f := load(t)
	if got := f.Structs["CGRect"]; len(got) != 2 || got[1] != [2]string{"size", "{CGSize}"} {
		t.Errorf("CGRect: got %v", got)
	}
	if got := f.Enums["MTLResourceOptions"]["StorageModePrivate"]; got != 32.0 {
		t.Errorf("MTLResourceOptions.StorageModePrivate: got %v, want 32", got)
	}
	if got := f.Functions["NSPerformService"]; got != "B @:NSString @:NSPasteboard" {
		t.Errorf("NSPerformService: got %q", got)
	}
	if len(f.Types) < 1400 {
		t.Errorf("%d types: some are lost", len(f.Types))
	}
}

func TestReviewed(t *testing.T) {
	extra, since, err := api.Reviewed()
	if err != nil {
		t.Fatal(err)
	}
	tools := since["NSTextView setWritingToolsBehavior:"]
	if !extra["undo:"] || since["NSGlassEffectView"] != "26.0" || tools != "15.0" {
		t.Errorf("got %v and %v", extra, since)
	}
}

func TestDecodeRefuses(t *testing.T) {
	packed := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, b := range map[string][]byte{
		"not packed": []byte("{}"), "no JSON": packed("{"), "nothing": packed("{}"), "empty": nil,
		"no NSObject": packed(`{"types":{"A":{"kind":"class"}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := api.Decode(b); err == nil {
				t.Error("no error")
			}
		})
	}
}
