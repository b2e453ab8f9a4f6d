package weights

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// MaxHeader is the longest safetensors header in bytes that is read.
const MaxHeader = 100_000_000

// header is the parsed head of one safetensors file.
type header struct {
	raw     []byte
	tensors []*Tensor // in the order of their data; file and shard are not set
}

// readHeader reads and checks the head of a file of the given size. Format:
// https://github.com/huggingface/safetensors#format. The data section follows the header at once, at any
// address, and the tensors cover it without gap or overlap.
func readHeader(r io.ReaderAt, size int64) (*header, error) {
	var prefix [8]byte
	if size < int64(len(prefix)) {
		return nil, fmt.Errorf("%d bytes are too few for a safetensors file", size)
	}
	if err := readFull(r, prefix[:], 0); err != nil {
		return nil, fmt.Errorf("header length: %w", err)
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	switch {
	case n > uint64(size-8):
		return nil, fmt.Errorf("header of %d bytes in a file of %d bytes: cut or not a safetensors file", n, size)
	case n > MaxHeader:
		return nil, fmt.Errorf("header of %d bytes, at most %d are accepted", n, MaxHeader)
	}
	h := &header{raw: make([]byte, n)}
	if err := readFull(r, h.raw, 8); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if err := h.parse(); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if err := h.place(8+int64(n), size); err != nil {
		return nil, err
	}
	return h, nil
}

// parse fills tensors; offsets are still relative to the data section. Duplicate keys are refused, which the
// decoding into a map or a struct would not notice.
func (h *header) parse() error {
	dec := json.NewDecoder(bytes.NewReader(h.raw))
	dec.UseNumber()
	seen := map[string]bool{}
	err := object(dec, func(name string) error {
		if seen[name] {
			return fmt.Errorf("tensor %q twice", name)
		}
		seen[name] = true
		if name == "__metadata__" {
			return dec.Decode(new(json.RawMessage))
		}
		t, err := parseTensor(dec)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		t.Name = name
		h.tensors = append(h.tensors, t)
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the end of the JSON object")
	}
	return nil
}

// parseTensor reads {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}; other keys are skipped.
func parseTensor(dec *json.Decoder) (*Tensor, error) {
	t := &Tensor{}
	var offsets []int64
	seen := map[string]bool{}
	err := object(dec, func(key string) (err error) {
		if seen[key] {
			return fmt.Errorf("key %q twice", key)
		}
		seen[key] = true
		switch key {
		case "dtype":
			var tok json.Token
			tok, err = dec.Token()
			s, _ := tok.(string)
			t.Dtype = Dtype(s)
		case "shape":
			t.Shape, err = integers(dec)
		case "data_offsets":
			offsets, err = integers(dec)
		default:
			err = dec.Decode(new(json.RawMessage))
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case t.Dtype.Size() == 0:
		return nil, fmt.Errorf("unknown dtype %q", t.Dtype)
	case !seen["shape"]:
		return nil, errors.New("no shape")
	case len(offsets) != 2 || offsets[0] > offsets[1]:
		return nil, fmt.Errorf("data_offsets %v", offsets)
	}
	t.Offset, t.Length = offsets[0], offsets[1]-offsets[0]
	want, ok := product(append([]int64{t.Dtype.Size()}, t.Shape...)...)
	if !ok || want != t.Length {
		return nil, fmt.Errorf("%s %v does not take the %d bytes that data_offsets give", t.Dtype, t.Shape, t.Length)
	}
	return t, nil
}

// place makes offsets absolute and checks that the tensors tile the data section.
func (h *header) place(start, size int64) error {
	slices.SortFunc(h.tensors, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Length, b.Length), cmp.Compare(a.Name, b.Name))
	})
	end := int64(0)
	for _, t := range h.tensors {
		switch {
		case t.Offset < end:
			return fmt.Errorf("tensor %q: data at %d overlaps data that ends at %d", t.Name, t.Offset, end)
		case t.Offset > end:
			return fmt.Errorf("tensor %q: data at %d after a gap that starts at %d", t.Name, t.Offset, end)
		case t.Length > size-start-t.Offset:
			return fmt.Errorf("tensor %q: data ends at %d, the file has %d bytes of data: cut short",
				t.Name, t.Offset+t.Length, size-start)
		}
		end = t.Offset + t.Length
		t.Offset += start
	}
	if end != size-start {
		return fmt.Errorf("%d bytes of data belong to no tensor", size-start-end)
	}
	return nil
}

// object reads a JSON object, calling value for each key with the decoder before the value.
func object(dec *json.Decoder, value func(key string) error) error {
	if err := delim(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return fmt.Errorf("%v where a key is due", tok)
		}
		if err := value(key); err != nil {
			return err
		}
	}
	return delim(dec, '}')
}

// integers reads a JSON array of integers from 0 to the largest int64.
func integers(dec *json.Decoder) ([]int64, error) {
	if err := delim(dec, '['); err != nil {
		return nil, err
	}
	list := []int64{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		num, _ := tok.(json.Number)
		n, err := strconv.ParseUint(num.String(), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("%v where an integer from 0 to %d is due", tok, int64(math.MaxInt64))
		}
		list = append(list, int64(n))
	}
	return list, delim(dec, ']')
}

// delim reads one bracket.
func delim(dec *json.Decoder, want json.Delim) error {
	tok, err := dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	if tok != want {
		return fmt.Errorf("%v where %q is due", tok, want.String())
	}
	return nil
}

// readFull fills p from offset off; an early end is an error.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
