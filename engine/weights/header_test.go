package weights

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
)

// entry spells one tensor of a header.
func entry(name, dtype, shape string, begin, end any) string {
	return fmt.Sprintf(`%q:{"dtype":%q,"shape":%s,"data_offsets":[%v,%v]}`, name, dtype, shape, begin, end)
}

// with spells a file of these tensors and n bytes of data.
func with(n int, entries ...string) []byte {
	return prefixed("{"+strings.Join(entries, ",")+"}", make([]byte, n))
}

// headerCases are files that must be refused, and what the message says.
var headerCases = []struct {
	name string
	file []byte
	want string
}{
	{"empty", nil, "too few"},
	{"seven bytes", make([]byte, 7), "too few"},
	{"length of 2^63-1", append(binary.LittleEndian.AppendUint64(nil, math.MaxInt64), "{}"...), "cut or not"},
	{"length of 2^64-1", append(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "{}"...), "cut or not"},
	{"length beyond the file by one", append(binary.LittleEndian.AppendUint64(nil, 3), "{}"...), "cut or not"},
	{"no header", prefixed("", nil), "EOF"},
	{"not JSON", prefixed("hello", nil), "invalid character"},
	{"an array", prefixed("[]", nil), `"{" is due`},
	{"cut JSON", prefixed(`{"a":{"dtype":"U8"`, nil), "EOF"},
	{"two objects", prefixed("{}{}", nil), "after the end"},
	{"unknown dtype", with(1, entry("a", "F12", "[1]", 0, 1)), `unknown dtype "F12"`},
	{"lower-case dtype", with(1, entry("a", "u8", "[1]", 0, 1)), `unknown dtype "u8"`},
	{"dtype is a number", prefixed(`{"a":{"dtype":3,"shape":[1],"data_offsets":[0,1]}}`, []byte{1}), "unknown dtype"},
	{"no dtype", prefixed(`{"a":{"shape":[1],"data_offsets":[0,1]}}`, []byte{1}), "unknown dtype"},
	{"no shape", prefixed(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, []byte{1}), "no shape"},
	{"no offsets", prefixed(`{"a":{"dtype":"U8","shape":[1]}}`, []byte{1}), "data_offsets"},
	{"three offsets", prefixed(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}}`, []byte{1}), "data_offsets"},
	{"null", prefixed(`{"a":null}`, nil), `"{" is due`},
	{"shape is null", prefixed(`{"a":{"dtype":"U8","shape":null,"data_offsets":[0,1]}}`, []byte{1}), `"[" is due`},
	{"negative dimension", with(1, entry("a", "U8", "[-1]", 0, 1)), "integer from 0"},
	{"fractional dimension", with(1, entry("a", "U8", "[1.0]", 0, 1)), "integer from 0"},
	{"dimension of 2^63", with(1, entry("a", "U8", "[9223372036854775808]", 0, 1)), "integer from 0"},
	{"nested shape", with(1, entry("a", "U8", "[[1]]", 0, 1)), "integer from 0"},
	{"backward offsets", with(1, entry("a", "U8", "[1]", 1, 0)), "data_offsets"},
	{"negative offset", with(1, entry("a", "U8", "[1]", -1, 0)), "integer from 0"},
	{"shape too short", with(8, entry("a", "F32", "[1]", 0, 8)), "does not take the 8 bytes"},
	{"shape too long", with(8, entry("a", "F32", "[3]", 0, 8)), "does not take the 8 bytes"},
	{"product wraps to 0", with(0, entry("a", "U8", "[4294967296,4294967296]", 0, 0)), "does not take"},
	{"product wraps to 8", with(8, entry("a", "F64", "[2305843009213693953]", 0, 8)), "does not take"},
	{"end past the data", with(1, entry("a", "U8", "[2]", 0, 2)), "cut short"},
	{"end near 2^63", with(1, entry("a", "U8", "[9223372036854775807]", 0, "9223372036854775807")), "cut short"},
	{"overlap", with(3, entry("a", "U8", "[2]", 0, 2), entry("b", "U8", "[2]", 1, 3)), "overlaps"},
	{"the same range twice", with(2, entry("a", "U8", "[2]", 0, 2), entry("b", "U8", "[2]", 0, 2)), "overlaps"},
	{"gap", with(3, entry("a", "U8", "[1]", 0, 1), entry("b", "U8", "[1]", 2, 3)), "gap"},
	{"data of nobody", prefixed("{}", make([]byte, 3)), "belong to no tensor"},
	{"tensor twice", with(2, entry("a", "U8", "[1]", 0, 1), entry("a", "U8", "[1]", 1, 2)), `"a" twice`},
	{"metadata twice", prefixed(`{"__metadata__":{},"__metadata__":{}}`, nil), `"__metadata__" twice`},
	{"key twice", with(1, `"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}`), `"dtype" twice`},
	{"deep nesting", prefixed(`{"a":{"x":`+strings.Repeat("[", 20000), nil), "depth"},
}

func TestHeaderRefusals(t *testing.T) {
	for _, c := range headerCases {
		t.Run(c.name, func(t *testing.T) {
			_, err := OpenCheckpoint(directory(map[string][]byte{"model.safetensors": c.file}))
			wantParts(t, err, "model.safetensors: ", c.want)
		})
	}
}

// endless is a file of any size that has only a first length.
type endless struct{ length uint64 }

func (e endless) ReadAt(p []byte, off int64) (int, error) {
	if off != 0 || len(p) != 8 {
		return 0, io.ErrUnexpectedEOF
	}
	binary.LittleEndian.PutUint64(p, e.length)
	return 8, nil
}

func TestLyingLengthAllocatesNothing(t *testing.T) {
	for _, length := range []uint64{MaxHeader + 1, 1 << 40, math.MaxInt64, math.MaxUint64} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readHeader(endless{length}, math.MaxInt64)
		runtime.ReadMemStats(&after)
		wantParts(t, err, "header of")
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<16 {
			t.Errorf("length %d: %d bytes were allocated", length, got)
		}
	}
}

func TestHeaderPaddedWithSpaces(t *testing.T) {
	data := prefixed("{"+entry("a", "U8", "[1]", 0, 1)+"}   ", []byte{7})
	h, err := readHeader(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(h.tensors) != 1 || h.tensors[0].Offset != int64(len(data)-1) {
		t.Errorf("readHeader: %v, %v", h, err)
	}
}

// FuzzHeader holds what later code relies on: accepted tensors have unique names and known dtypes, and their
// ranges lie in the file behind the header, in order, with the length that the shape says.
func FuzzHeader(f *testing.F) {
	for _, c := range headerCases {
		f.Add(c.file)
	}
	f.Add(file(1, random("a.weight", U32, 3, 8), random("a.scales", BF16, 3, 1), random("none", F32, 0, 4)))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readHeader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		end := 8 + int64(len(h.raw))
		seen := map[string]bool{}
		for _, x := range h.tensors {
			n, ok := product(append([]int64{x.Dtype.Size()}, x.Shape...)...)
			if seen[x.Name] || x.Dtype.Size() == 0 || !ok || n != x.Length || x.Offset != end {
				t.Fatalf("accepted %+v after %d", x, end)
			}
			seen[x.Name] = true
			end += x.Length
		}
		if end != int64(len(data)) {
			t.Fatalf("tensors end at %d of %d", end, len(data))
		}
	})
}
