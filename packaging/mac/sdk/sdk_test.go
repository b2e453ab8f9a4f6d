package sdk_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/packaging/api"
	"sotto/packaging/mac/sdk"
)

func facts(t *testing.T) *api.Facts {
	t.Helper()
	f, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestHeader(t *testing.T) {
	got := string(sdk.Header(facts(t), []string{"NSMenuDelegate", "NSTextViewDelegate", "NoSuchProtocol"}))
	for _, want := range []string{
		"@protocol NSTextDelegate <NSObject>\n",
		"@protocol NSTextViewDelegate <NSObject, NSTextDelegate>\n",
		"- (BOOL)textView:(id)a0 doCommandBySelector:(SEL)a1;\n",
		"- (CGRect)confinementRectForMenu:(id)a0 onScreen:(id)a1;\n",
		"- (void)menuWillOpen:(id)a0;\n",
		"@protocol NoSuchProtocol <NSObject>\n@end\n",
		"- (id)copyWithZone:(void *)a0;\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	point, rect := strings.Index(got, "typedef struct CGPoint {"), strings.Index(got, "typedef struct CGRect {")
	if point < 0 || rect < point {
		t.Error("CGRect is not defined after CGPoint")
	}
	if strings.Index(got, "@protocol NSTextDelegate") > strings.Index(got, "@protocol NSTextViewDelegate") {
		t.Error("a protocol is not declared after the one that it adopts")
	}
	if got != string(sdk.Header(facts(t), []string{"NSMenuDelegate", "NSTextViewDelegate", "NoSuchProtocol"})) {
		t.Error("two headers differ")
	}
}

// TestHeaderMissingMethod shows that a method missing in the facts is missing in the header, where package bundle finds
// it.
func TestHeaderMissingMethod(t *testing.T) {
	f := *facts(t)
	p := *f.Types["NSMenuDelegate"]
	p.Methods = maps.Clone(p.Methods)
	delete(p.Methods, "-menuWillOpen:")
	f.Types = maps.Clone(f.Types)
	f.Types["NSMenuDelegate"] = &p
	if got := string(sdk.Header(&f, []string{"NSMenuDelegate"})); strings.Contains(got, "menuWillOpen:") {
		t.Error("the header has a method that the facts do not know")
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("kit/macos/appkit/protocols.gen.m", "#import \"AppKit/AppKit.h\"\n o = @protocol(NSMenuDelegate);\n")
	write("kit/macos/appkit/appkit.go", "// #cgo LDFLAGS: -framework AppKit -framework Spare\n")
	const security = "/System/Library/Frameworks/Security.framework/Versions/A/Security"
	write("go/src/x/macos/a.go", "//go:cgo_import_dynamic x_A A \""+security+"\"\n"+
		"//go:cgo_import_dynamic x_B B \"/usr/lib/libSystem.B.dylib\"\n")
	write("go/src/x/net_darwin.go", "//go:cgo_import_dynamic x_C C \"/usr/lib/libresolv.9.dylib\"\n")
	write("sdk/left/over", "x")
	s := sdk.Sources{Facts: facts(t), Darwinkit: filepath.Join(dir, "kit"), GoRoot: filepath.Join(dir, "go")}
	if err := sdk.Write(filepath.Join(dir, "sdk"), s); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"include/AppKit/AppKit.h":                    "#import <Foundation/Foundation.h>",
		"include/Foundation/NSString.h":              "#import <Foundation/Foundation.h>",
		"include/protocols.h":                        "@protocol NSMenuDelegate",
		"Frameworks/AppKit.framework/AppKit.tbd":     "Versions/C/AppKit'\ncurrent-version: 45.0.0",
		"Frameworks/Spare.framework/Spare.tbd":       "'/System/Library/Frameworks/Spare.framework/Versions/A/Spare'",
		"Frameworks/Security.framework/Security.tbd": "symbols: [ _A ]",
		"lib/libresolv.tbd":                          "symbols: [ _C ]",
		"lib/libresolv.9.tbd":                        "symbols: [ _C ]",
		"lib/libobjc.A.tbd":                          "objc-classes: [ NSObject ]",
	}
	for name, want := range tests {
		b, err := os.ReadFile(filepath.Join(dir, "sdk", filepath.FromSlash(name)))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: got %q, %v, want %q in it", name, b, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sdk", "Foundation", "Foundation.h")); err == nil {
		t.Error("Foundation.h, which is written by hand, was generated")
	}
	if _, err := os.Stat(filepath.Join(dir, "sdk", "left", "over")); err == nil {
		t.Error("what does not belong there was left")
	}
	s.Darwinkit = dir
	if err := sdk.Write(filepath.Join(dir, "sdk"), s); err == nil {
		t.Error("a folder without darwinkit passes")
	}
}
