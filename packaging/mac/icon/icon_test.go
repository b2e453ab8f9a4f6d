package icon_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"sotto/packaging/mac/icon"
)

var update = flag.Bool("update", false, "draw assets/icon.png anew")

// TestPicture holds the committed picture against the drawing; the last bit may differ between processors.
func TestPicture(t *testing.T) {
	path := filepath.Join("..", "..", "..", "assets", "icon.png")
	want := icon.Draw(512)
	if *update {
		b, err := icon.PNG(want)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := img.(*image.NRGBA)
	if !ok || got.Bounds() != want.Bounds() {
		t.Fatalf("the committed picture is %T of %v", img, img.Bounds())
	}
	for i, w := range want.Pix {
		if d := int(w) - int(got.Pix[i]); d < -1 || d > 1 {
			t.Fatalf("byte %d of the pixels: got %d, want %d: draw it with -update and look at it", i, got.Pix[i], w)
		}
	}
}

func TestShapes(t *testing.T) {
	for _, size := range []int{16, 32, 512} {
		img := icon.Draw(size)
		at := func(x, y float64) (r, g, b, a uint32) {
			return img.At(int(x*float64(size)), int(y*float64(size))).RGBA()
		}
		if _, _, _, a := at(0, 0); a != 0 {
			t.Errorf("%d: the corner is not clear", size)
		}
		if r, _, b, a := at(0.5, 0.85); a < 0xff00 || b < r {
			t.Errorf("%d: the tile is not blue", size)
		}
		if r, g, _, _ := at(0.5, 0.31); r < 0xc000 || g < 0xc000 {
			t.Errorf("%d: the bubble is not light", size)
		}
	}
}

func TestFile(t *testing.T) {
	b, err := icon.File()
	if err != nil {
		t.Fatal(err)
	}
	be := binary.BigEndian
	if string(b[:4]) != "icns" || int(be.Uint32(b[4:])) != len(b) {
		t.Fatalf("the file begins with %q and says it has %d of %d bytes", b[:4], be.Uint32(b[4:]), len(b))
	}
	want := map[string]int{
		"ic04": 16, "ic05": 32, "ic11": 32, "ic12": 64, "ic07": 128, "ic13": 256, "ic08": 256, "ic14": 512, "ic09": 512,
		"ic10": 1024,
	}
	for at := 8; at < len(b); {
		kind, size := string(b[at:at+4]), int(be.Uint32(b[at+4:]))
		data := b[at+8 : at+size]
		if rest, ok := bytes.CutPrefix(data, []byte("ARGB")); ok {
			if got := unpacked(t, rest); got != 4*want[kind]*want[kind] {
				t.Errorf("%s unpacks to %d bytes, want %d", kind, got, 4*want[kind]*want[kind])
			}
		} else {
			c, err := png.DecodeConfig(bytes.NewReader(data))
			if err != nil || c.Width != want[kind] || c.Height != want[kind] {
				t.Errorf("%s: %dx%d, %v, want %d", kind, c.Width, c.Height, err, want[kind])
			}
		}
		delete(want, kind)
		at += size
	}
	if len(want) > 0 {
		t.Errorf("missing %v", want)
	}
}

// unpacked returns how many bytes run-length coded data stand for.
func unpacked(t *testing.T, b []byte) (n int) {
	t.Helper()
	for i := 0; i < len(b); {
		if b[i] < 128 {
			n += int(b[i]) + 1
			i += int(b[i]) + 2
		} else {
			n += int(b[i]) - 125
			i += 2
		}
		if i > len(b) {
			t.Fatal("a run is cut off")
		}
	}
	return n
}
