package icon

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
)

// entries are the pictures of an icon file: the two smallest in Apple's own coding, because macOS shows PNG wrongly
// there, the others as PNG. Those for screens of double density repeat a size under another name.
var entries = []struct {
	kind string
	size int
	argb bool
}{
	{"ic04", 16, true},
	{"ic05", 32, true},
	{"ic11", 32, false},
	{"ic12", 64, false},
	{"ic07", 128, false},
	{"ic13", 256, false},
	{"ic08", 256, false},
	{"ic14", 512, false},
	{"ic09", 512, false},
	{"ic10", 1024, false},
}

// File returns the icon as an .icns file.
func File() ([]byte, error) {
	pictures := map[int]*image.NRGBA{}
	var body []byte
	for _, e := range entries {
		img := pictures[e.size]
		if img == nil {
			img = Draw(e.size)
			pictures[e.size] = img
		}
		data := argb(img)
		if !e.argb {
			var err error
			if data, err = PNG(img); err != nil {
				return nil, err
			}
		}
		body = append(body, e.kind...)
		body = binary.BigEndian.AppendUint32(body, uint32(8+len(data)))
		body = append(body, data...)
	}
	head := binary.BigEndian.AppendUint32([]byte("icns"), uint32(8+len(body)))
	return append(head, body...), nil
}

// PNG encodes a picture.
func PNG(img image.Image) ([]byte, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("icon: %w", err)
	}
	return b.Bytes(), nil
}

// argb writes the four channels of a picture one after the other, each run-length coded.
func argb(img *image.NRGBA) []byte {
	out := []byte("ARGB")
	for _, channel := range []int{3, 0, 1, 2} {
		plane := make([]byte, 0, len(img.Pix)/4)
		for i := channel; i < len(img.Pix); i += 4 {
			plane = append(plane, img.Pix[i])
		}
		out = append(out, runs(plane)...)
	}
	return out
}

// runs codes bytes: n < 128 and n+1 bytes as they are, or n >= 128 and one byte that is repeated n-125 times.
func runs(b []byte) []byte {
	var out, plain []byte
	flush := func() {
		for len(plain) > 0 {
			n := min(len(plain), 128)
			out = append(append(out, byte(n-1)), plain[:n]...)
			plain = plain[n:]
		}
	}
	for i := 0; i < len(b); {
		n := 1
		for i+n < len(b) && n < 130 && b[i+n] == b[i] {
			n++
		}
		if n < 3 {
			plain = append(plain, b[i:i+n]...)
		} else {
			flush()
			out = append(out, byte(n+125), b[i])
		}
		i += n
	}
	flush()
	return out
}
