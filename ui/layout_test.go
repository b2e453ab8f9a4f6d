package ui

import (
	"fmt"
	"reflect"
	"testing"

	"sotto/ui/kit"
)

// parts lists the frames of a struct by the names of its fields.
func parts(v any) map[string]kit.Frame {
	out := map[string]kit.Frame{}
	var walk func(name string, v reflect.Value)
	walk = func(name string, v reflect.Value) {
		switch {
		case v.Type() == reflect.TypeFor[kit.Frame]():
			out[name] = kit.Frame{
				X: v.Field(0).Float(), Y: v.Field(1).Float(), W: v.Field(2).Float(), H: v.Field(3).Float(),
			}
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				walk(name+v.Type().Field(i).Name+".", v.Field(i))
			}
		case v.Kind() == reflect.Array:
			for i := range v.Len() {
				walk(fmt.Sprint(name, i, "."), v.Index(i))
			}
		case v.Kind() == reflect.Map:
			for _, k := range v.MapKeys() {
				walk(fmt.Sprint(name, k.Uint(), "."), v.MapIndex(k))
			}
		}
	}
	walk("", reflect.ValueOf(v))
	return out
}

// holds tells whether inner lies in outer.
func holds(outer, inner kit.Frame) bool {
	const e = 1e-9
	return inner.X >= outer.X-e && inner.Y >= outer.Y-e && inner.X+inner.W <= outer.X+outer.W+e &&
		inner.Y+inner.H <= outer.Y+outer.H+e
}

func empty(f kit.Frame) bool { return f.W == 0 || f.H == 0 }

// check finds parts that leave the window or lie on each other, where neither is meant to lie behind the other.
func check(t *testing.T, w, h float64, frames map[string]kit.Frame, behind map[string]bool) {
	t.Helper()
	for name, f := range frames {
		if !holds(kit.Frame{W: w, H: h}, f) {
			t.Errorf("%gx%g: %s at %v leaves the window", w, h, name, f)
		}
		for other, g := range frames {
			if name < other && !behind[name] && !behind[other] && !empty(f) && !empty(g) &&
				f.X < g.X+g.W && g.X < f.X+f.W && f.Y < g.Y+g.H && g.Y < f.Y+f.H {
				t.Errorf("%gx%g: %s at %v and %s at %v overlap", w, h, name, f, other, g)
			}
		}
	}
}

func TestLayouts(t *testing.T) {
	behind := map[string]bool{
		"sidebar.": true, "notice.": true, "undo.": true, "listEmpty.": true, "emptyTitle.": true, "emptyText.": true,
	}
	shapes := map[string]chatShape{
		"plain": {}, "long text": {composerText: 9000}, "notice": {notice: words{[]float64{90}, 4}},
		"long notice": {notice: words{[]float64{4000}, 4}, noticeButton: true},
		"everything": {
			composerText: 60, notice: words{[]float64{200, 200, 200}, 4}, noticeButton: true, otherModel: true,
			undo: true, editing: true,
		},
	}
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			for _, size := range [][2]float64{{chatWidth, chatHeight}, {chatMinWidth, chatMinHeight}, {2000, 1200}} {
				check(t, size[0], size[1], parts(layoutChat(size[0], size[1], s)), behind)
			}
		})
	}
	t.Run("quick", func(t *testing.T) {
		for _, answers := range []bool{false, true} {
			h := map[bool]float64{false: quickLeast, true: quickMost}[answers]
			check(t, quickWidth, h, parts(layoutQuick(quickWidth, h, 30, answers)), nil)
		}
	})
	t.Run("service", func(t *testing.T) {
		check(t, serviceWidth, serviceHeight, parts(layoutService(serviceWidth, serviceHeight)), nil)
	})
	t.Run("settings", func(t *testing.T) {
		check(t, settingsWidth, settingsHeight, parts(layoutSettings(settingsWidth, settingsHeight)), nil)
	})
}

// TestWords holds that a notice gets the lines that its words take: a path in it is one long word.
func TestWords(t *testing.T) {
	for _, tt := range []struct {
		name   string
		widths []float64
		room   float64
		want   int
	}{
		{"nothing", nil, 100, 1},
		{"fits exactly", []float64{45, 45}, 100, 1},
		{"one too many", []float64{45, 46}, 100, 2},
		{"a path between two words", []float64{50, 80, 50}, 100, 3},
		{"a word longer than a line", []float64{10, 250, 60}, 100, 5},
		{"no room", []float64{3}, 0, 3},
	} {
		if got := (words{tt.widths, 10}).lines(tt.room); got != tt.want {
			t.Errorf("%s: %d lines, want %d", tt.name, got, tt.want)
		}
	}
	f := layoutChat(chatWidth, chatHeight, chatShape{notice: words{[]float64{200, 500, 200}, 4}, noticeButton: true})
	if f.noticeText.H != 3*lineHeight {
		t.Errorf("a notice of three lines has a height of %g", f.noticeText.H)
	}
}

func TestComposerGrows(t *testing.T) {
	for _, tt := range []struct{ text, want float64 }{{0, composerLeast}, {100, 100}, {5000, composerMost}} {
		f := layoutChat(chatWidth, chatHeight, chatShape{composerText: tt.text})
		if got := f.composer.H; got != tt.want {
			t.Errorf("text of %g: composer of %g, want %g", tt.text, got, tt.want)
		}
		if f.send.W == 0 || f.send.Y+f.send.H > f.composer.Y+composerLeast {
			t.Errorf("text of %g: the button at %v does not stand at the lower edge", tt.text, f.send)
		}
	}
}
