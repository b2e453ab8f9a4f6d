// Package sign seals an application bundle with an ad-hoc signature, on any system: hashes of the binary's pages, of
// Info.plist and of every other file. It says that nothing was changed since, not who made it; macOS on arm64 runs no
// program without at least that. On a Mac use codesign.
//
// Only bundles of Sotto's shape are signed: one thin binary, nothing nested, files under Contents/Resources.
package sign

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Parts of a signature, from Apple's published sources of Security (cs_blobs.h).
const (
	magicCodeDirectory = 0xfade0c02
	magicSignature     = 0xfade0cc0
	magicRequirements  = 0xfade0c01
	magicCMS           = 0xfade0b01
	slotDirectory      = 0
	slotRequirements   = 2
	slotCMS            = 0x10000
	directoryVersion   = 0x20400
	directoryHead      = 88
	flagAdHoc          = 2
	hashSHA256         = 2
	mainBinary         = 1
	pageBits           = 12
	specialSlots       = 3 // CodeResources, requirements, Info.plist
	page               = 1 << pageBits
	pageVM             = 1 << 14 // of arm64
	loadSegment        = 0x19
	loadSignature      = 0x1d
)

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

// Bundle signs the bundle app, whose binary is Contents/MacOS/name, in place.
func Bundle(app, name, identifier string) error {
	contents := filepath.Join(app, "Contents")
	info, err := os.ReadFile(filepath.Join(contents, "Info.plist"))
	if err != nil {
		return err
	}
	resources, err := seal(contents)
	if err != nil {
		return err
	}
	folder := filepath.Join(contents, "_CodeSignature")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "CodeResources"), resources, 0o644); err != nil {
		return err
	}
	path := filepath.Join(contents, "MacOS", name)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	signed, err := binarySignature(b, identifier, info, resources)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, signed, 0o755)
}

// layout is where a binary's parts lie.
type layout struct {
	text, linkedit int // load commands of the segments
	signature      int // load command of the signature, or 0
	end            int // of the load commands
	first          int // first byte that belongs to a section
}

func readLayout(b []byte) (layout, error) {
	l := layout{first: len(b)}
	if len(b) < 32 || le.Uint32(b) != 0xfeedfacf {
		return l, errors.New("not a thin 64-bit Mach-O file")
	}
	at := 32
	for range le.Uint32(b[16:]) {
		if at+8 > len(b) {
			return l, errors.New("load commands are cut off")
		}
		command, size := le.Uint32(b[at:]), int(le.Uint32(b[at+4:]))
		if size < 8 || size > len(b)-at {
			return l, errors.New("load commands are cut off")
		}
		switch {
		case command == loadSegment && size >= 72:
			l.segment(b[at:at+size], at)
		case command == loadSignature && size >= 16:
			l.signature = at
		}
		at += size
	}
	l.end = at
	if l.text == 0 || l.linkedit == 0 {
		return l, errors.New("no __TEXT or no __LINKEDIT")
	}
	return l, nil
}

func (l *layout) segment(b []byte, at int) {
	switch string(bytes.TrimRight(b[8:24], "\x00")) {
	case "__TEXT":
		l.text = at
	case "__LINKEDIT":
		l.linkedit = at
	}
	for s := 72; s+80 <= len(b); s += 80 {
		if offset := int(le.Uint32(b[s+48:])); offset != 0 {
			l.first = min(l.first, offset)
		}
	}
}

// binarySignature returns the binary with a signature in place of the one it had.
func binarySignature(b []byte, identifier string, info, resources []byte) ([]byte, error) {
	l, err := readLayout(b)
	if err != nil {
		return nil, err
	}
	if l.signature == 0 {
		if l.end+16 > l.first {
			return nil, errors.New("no room for the signature's load command")
		}
		l.signature = l.end
		le.PutUint32(b[l.signature:], loadSignature)
		le.PutUint32(b[l.signature+4:], 16)
		le.PutUint32(b[16:], le.Uint32(b[16:])+1)
		le.PutUint32(b[20:], le.Uint32(b[20:])+16)
		b = append(b, make([]byte, -len(b)&15)...)
	} else {
		start := int64(le.Uint32(b[l.signature+8:]))
		if start > int64(len(b)) {
			return nil, errors.New("the old signature is outside the file")
		}
		b = b[:start]
	}
	d := directory{limit: len(b), identifier: identifier}
	requirements := be.AppendUint32(be.AppendUint32(be.AppendUint32(nil, magicRequirements), 12), 0)
	cms := be.AppendUint32(be.AppendUint32(nil, magicCMS), 8)
	total := 12 + 3*8 + d.size() + len(requirements) + len(cms)
	size := (total + 15) &^ 15

	le.PutUint32(b[l.signature+8:], uint32(len(b)))
	le.PutUint32(b[l.signature+12:], uint32(size))
	inFile := uint64(len(b)+size) - le.Uint64(b[l.linkedit+40:])
	le.PutUint64(b[l.linkedit+48:], inFile)
	le.PutUint64(b[l.linkedit+32:], (inFile+pageVM-1)&^(pageVM-1))
	d.segmentBase, d.segmentLimit = le.Uint64(b[l.text+40:]), le.Uint64(b[l.text+48:])

	blobs := []struct {
		slot uint32
		b    []byte
	}{
		{slotDirectory, d.encode(b, [specialSlots][]byte{resources, requirements, info})},
		{slotRequirements, requirements},
		{slotCMS, cms},
	}
	out := be.AppendUint32(be.AppendUint32(be.AppendUint32(nil, magicSignature), uint32(total)), uint32(len(blobs)))
	at := 12 + 8*len(blobs)
	for _, x := range blobs {
		out = be.AppendUint32(be.AppendUint32(out, x.slot), uint32(at))
		at += len(x.b)
	}
	for _, x := range blobs {
		out = append(out, x.b...)
	}
	return append(b, append(out, make([]byte, size-total)...)...), nil
}

// directory is the code directory: hashes of everything, which the rest of a real signature would sign.
type directory struct {
	limit                     int // bytes of the binary that are hashed
	identifier                string
	segmentBase, segmentLimit uint64
}

func (d *directory) pages() int { return (d.limit + page - 1) / page }

func (d *directory) size() int {
	return directoryHead + len(d.identifier) + 1 + (specialSlots+d.pages())*sha256.Size
}

func (d *directory) encode(b []byte, special [specialSlots][]byte) []byte {
	hashes := directoryHead + len(d.identifier) + 1 + specialSlots*sha256.Size
	out := make([]byte, directoryHead, d.size())
	for i, v := range []int{
		magicCodeDirectory, d.size(), directoryVersion, flagAdHoc, hashes, directoryHead, specialSlots, d.pages(),
		d.limit,
	} {
		be.PutUint32(out[4*i:], uint32(v))
	}
	out[36], out[37], out[39] = sha256.Size, hashSHA256, pageBits
	be.PutUint64(out[64:], d.segmentBase)
	be.PutUint64(out[72:], d.segmentLimit)
	be.PutUint64(out[80:], mainBinary)
	out = append(append(out, d.identifier...), 0)
	for _, s := range special {
		h := sha256.Sum256(s)
		out = append(out, h[:]...)
	}
	for at := 0; at < d.limit; at += page {
		h := sha256.Sum256(b[at:min(at+page, d.limit)])
		out = append(out, h[:]...)
	}
	return out
}
