package kit

import "testing"

func TestCuts(t *testing.T) {
	f := Frame{10, 20, 100, 50}
	tests := []struct {
		name      string
		cut       func(Frame, float64) (Frame, Frame)
		by        float64
		cutF, all Frame
	}{
		{"top", Frame.Top, 20, Frame{10, 50, 100, 20}, Frame{10, 20, 100, 30}},
		{"bottom", Frame.Bottom, 20, Frame{10, 20, 100, 20}, Frame{10, 40, 100, 30}},
		{"left", Frame.Left, 30, Frame{10, 20, 30, 50}, Frame{40, 20, 70, 50}},
		{"right", Frame.Right, 30, Frame{80, 20, 30, 50}, Frame{10, 20, 70, 50}},
		{"more than there is", Frame.Top, 99, Frame{10, 20, 100, 50}, Frame{10, 20, 100, 0}},
		{"less than nothing", Frame.Left, -5, Frame{10, 20, 0, 50}, Frame{10, 20, 100, 50}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, rest := tt.cut(f, tt.by)
			if got != tt.cutF || rest != tt.all {
				t.Errorf("got %v and %v, want %v and %v", got, rest, tt.cutF, tt.all)
			}
		})
	}
}

func TestInsetAndMiddle(t *testing.T) {
	f := Frame{0, 0, 20, 10}
	for _, tt := range []struct {
		name      string
		got, want Frame
	}{
		{"inset", f.Inset(3, 2), Frame{3, 2, 14, 6}},
		{"inset of all there is", f.Inset(99, 99), Frame{10, 5, 0, 0}},
		{"middle", f.Middle(4), Frame{0, 3, 20, 4}},
		{"middle of all there is", f.Middle(40), f},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}
