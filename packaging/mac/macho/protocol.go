package macho

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	limit  = 1 << 16 // bounds counts read from a file
	budget = 1 << 24 // bounds how many bytes of records are read in all: lists may overlap
)

// readFixups finds out how pointers in the file are written: LC_DYLD_CHAINED_FIXUPS says so for every segment.
func (f *File) readFixups(offset, size uint32) error {
	f.chained = true
	le := binary.LittleEndian
	segment := f.file.Segment("__LINKEDIT")
	if segment == nil || size < 32 || size > 1<<28 || uint64(offset) < segment.Offset {
		return errors.New("the fixups are outside the file")
	}
	b := make([]byte, size)
	if _, err := segment.ReadAt(b, int64(offset)-int64(segment.Offset)); err != nil {
		return fmt.Errorf("fixups: %w", err)
	}
	starts := uint64(le.Uint32(b[4:]))
	if starts+4 > uint64(size) {
		return errors.New("the fixups are cut off")
	}
	count := uint64(le.Uint32(b[starts:]))
	for i := range count {
		at := starts + 4 + 4*i
		if at+4 > uint64(size) {
			return errors.New("the fixups are cut off")
		}
		segmentOffset := uint64(le.Uint32(b[at:]))
		if segmentOffset == 0 {
			continue
		}
		if at := starts + segmentOffset + 6; at+2 <= uint64(size) {
			f.offsets = le.Uint16(b[at:]) == fixupsOffset64
		}
	}
	return nil
}

// target returns the address that a pointer in the file stands for, 0 for none or for something in another library.
func (f *File) target(v uint64) uint64 {
	switch {
	case !f.chained || v == 0:
		return v
	case v>>63 != 0: // bound by name
		return 0
	case f.offsets:
		return f.base + v&fixupsTarget
	default:
		return v & fixupsTarget
	}
}

// bytes reads n bytes at an address.
func (f *File) bytes(address uint64, n int) ([]byte, error) {
	if f.read += n; f.read > budget {
		return nil, errors.New("the protocols' records do not end")
	}
	for _, s := range f.file.Sections {
		if address >= s.Addr && address-s.Addr < s.Size && uint64(n) <= s.Size-(address-s.Addr) && s.Offset != 0 {
			b := make([]byte, n)
			_, err := s.ReadAt(b, int64(address-s.Addr))
			return b, err
		}
	}
	return nil, fmt.Errorf("nothing lies at %#x", address)
}

func (f *File) pointer(address uint64) (uint64, error) {
	b, err := f.bytes(address, 8)
	if err != nil {
		return 0, err
	}
	return f.target(binary.LittleEndian.Uint64(b)), nil
}

// text reads a string that ends with a zero byte.
func (f *File) text(address uint64) (string, error) {
	var out strings.Builder
	for ; out.Len() < 4096; address++ {
		b, err := f.bytes(address, 1)
		if err != nil {
			return "", err
		}
		if b[0] == 0 {
			return out.String(), nil
		}
		out.WriteByte(b[0])
	}
	return "", errors.New("a name does not end")
}

// readProtocols reads the list of protocols that the runtime is given.
func (f *File) readProtocols() error {
	for _, s := range f.file.Sections {
		if s.Name != "__objc_protolist" {
			continue
		}
		for at := s.Addr; at+8 <= s.Addr+s.Size; at += 8 {
			record, err := f.pointer(at)
			if err != nil {
				return err
			}
			if err := f.readProtocol(record); err != nil {
				return fmt.Errorf("protocol at %#x: %w", record, err)
			}
		}
	}
	return nil
}

// readProtocol reads a record: isa, name, adopted protocols, then methods: required of instances and classes, optional
// of both.
func (f *File) readProtocol(record uint64) error {
	var field [7]uint64
	for i := range field {
		var err error
		if field[i], err = f.pointer(record + 8*uint64(i)); err != nil {
			return err
		}
	}
	name, err := f.text(field[1])
	if err != nil {
		return err
	}
	p := &Protocol{}
	if p.Adopts, err = f.adopted(field[2]); err != nil {
		return err
	}
	for i, to := range []*[]string{&p.Required, &p.Required, &p.Optional, &p.Optional} {
		selectors, err := f.methods(field[3+i])
		if err != nil {
			return err
		}
		for _, s := range selectors {
			*to = append(*to, string("-+"[i%2])+s)
		}
	}
	slices.Sort(p.Required)
	slices.Sort(p.Optional)
	f.Protocols[name] = p
	return nil
}

func (f *File) adopted(list uint64) ([]string, error) {
	if list == 0 {
		return nil, nil
	}
	b, err := f.bytes(list, 8)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(b)
	if n > limit {
		return nil, fmt.Errorf("adopts %d protocols", n)
	}
	var out []string
	for i := range n {
		record, err := f.pointer(list + 8 + 8*i)
		if err != nil {
			return nil, err
		}
		at, err := f.pointer(record + 8)
		if err != nil {
			return nil, err
		}
		name, err := f.text(at)
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out, nil
}

// methods reads the selectors of a list of methods: entries of three pointers, or of three offsets of which the first
// leads to a pointer to the name.
func (f *File) methods(list uint64) ([]string, error) {
	if list == 0 {
		return nil, nil
	}
	head, err := f.bytes(list, 8)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	flags, n := le.Uint32(head), le.Uint32(head[4:])
	size := uint64(flags & 0xfffc)
	if n > limit || size < 12 {
		return nil, fmt.Errorf("a list of %d methods of %d bytes", n, size)
	}
	var out []string
	for i := range uint64(n) {
		entry := list + 8 + i*size
		at := entry
		if flags>>31 != 0 {
			b, err := f.bytes(entry, 4)
			if err != nil {
				return nil, err
			}
			at = entry + uint64(int64(int32(le.Uint32(b))))
		}
		name, err := f.pointer(at)
		if err != nil {
			return nil, err
		}
		s, err := f.text(name)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
