// Package macho reads what matters about a finished macOS binary and finds what is wrong with it: the versions it
// claims, the libraries it loads, the protocols it brings along. It reads thin 64-bit files only.
package macho

import (
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Load commands that debug/macho leaves raw.
const (
	loadWeak       = 0x80000018
	loadReexport   = 0x8000001f
	loadSignature  = 0x1d
	loadBuild      = 0x32
	loadFixups     = 0x80000034
	loadMain       = 0x80000028
	platformMacOS  = 1
	flagPIE        = 0x200000
	flagTwoLevel   = 0x80
	fixupsTarget   = 1<<36 - 1 // of a chained pointer
	fixupsOffset64 = 6         // pointers are offsets from the image's start
)

// Version is a version as Mach-O packs it.
type Version uint32

// MakeVersion packs a version.
func MakeVersion(major, minor int) Version { return Version(major<<16 | minor<<8) }

// String returns the version as people write it.
func (v Version) String() string {
	if v&0xff != 0 {
		return fmt.Sprintf("%d.%d.%d", v>>16, v>>8&0xff, v&0xff)
	}
	return fmt.Sprintf("%d.%d", v>>16, v>>8&0xff)
}

// File is a binary.
type File struct {
	CPU       macho.Cpu
	Program   bool // rather than a library or an object
	PIE       bool
	TwoLevel  bool    // each symbol names its library
	Start     bool    // says where to start, as dyld wants it
	Signed    bool    // has a signature; what it is worth is not looked at
	Platform  uint32  // 1 is macOS
	Minimum   Version // oldest macOS that it asks for
	SDK       Version // newest macOS that it knows
	Libraries []string
	Protocols map[string]*Protocol

	file    *macho.File
	base    uint64 // address of the image
	offsets bool   // pointers in the file are offsets from base
	chained bool   // pointers in the file carry more than an address
	read    int    // bytes of records read so far
}

// Protocol is the record of an Objective-C protocol.
type Protocol struct {
	Adopts   []string
	Required []string // -selector: and +selector:, sorted
	Optional []string
}

// Read reads a binary.
func Read(r io.ReaderAt) (*File, error) {
	m, err := macho.NewFile(r)
	if err != nil {
		return nil, err
	}
	if m.Magic != macho.Magic64 || m.ByteOrder != binary.LittleEndian {
		return nil, errors.New("not a thin 64-bit Mach-O file")
	}
	f := &File{
		CPU: m.Cpu, Program: m.Type == macho.TypeExec, PIE: m.Flags&flagPIE != 0, TwoLevel: m.Flags&flagTwoLevel != 0,
		Protocols: map[string]*Protocol{}, file: m,
	}
	if text := m.Segment("__TEXT"); text != nil {
		f.base = text.Addr
	}
	for _, l := range m.Loads {
		if err := f.load(l.Raw()); err != nil {
			return nil, err
		}
	}
	return f, f.readProtocols()
}

func (f *File) load(raw []byte) error {
	le := binary.LittleEndian
	if len(raw) < 8 {
		return errors.New("a load command is cut off")
	}
	short := func(n int) error {
		if len(raw) < n {
			return fmt.Errorf("load command %#x is cut off", le.Uint32(raw))
		}
		return nil
	}
	switch c := le.Uint32(raw); c {
	case uint32(macho.LoadCmdDylib), loadWeak, loadReexport:
		if err := short(12); err != nil {
			return err
		}
		at := le.Uint32(raw[8:])
		if int64(at) > int64(len(raw)) {
			return errors.New("the name of a library is cut off")
		}
		name, _, _ := strings.Cut(string(raw[at:]), "\x00")
		f.Libraries = append(f.Libraries, name)
	case loadBuild:
		if err := short(24); err != nil {
			return err
		}
		f.Platform = le.Uint32(raw[8:])
		f.Minimum, f.SDK = Version(le.Uint32(raw[12:])), Version(le.Uint32(raw[16:]))
	case loadMain:
		f.Start = true
	case loadSignature:
		f.Signed = true
	case loadFixups:
		if err := short(16); err != nil {
			return err
		}
		return f.readFixups(le.Uint32(raw[8:]), le.Uint32(raw[12:]))
	}
	return nil
}

// Want is what a binary must be like.
type Want struct {
	CPU          macho.Cpu
	Minimum, SDK Version
	Libraries    []string // all that it loads; nil: any
}

// Faults returns what is wrong with the binary, in sentences, or nothing.
func (f *File) Faults(w Want) []string {
	var out []string
	is := func(ok bool, format string, a ...any) {
		if !ok {
			out = append(out, fmt.Sprintf(format, a...))
		}
	}
	is(f.Program, "it is no program")
	is(f.CPU == w.CPU, "it is for %v, not %v", f.CPU, w.CPU)
	is(f.PIE, "it is not position independent")
	is(f.TwoLevel, "its symbols do not name their libraries")
	is(f.Start, "it does not say where to start")
	is(f.Platform == platformMacOS, "its platform is %d, not macOS", f.Platform)
	is(f.Minimum == w.Minimum, "it asks for macOS %v, not %v", f.Minimum, w.Minimum)
	is(f.SDK == w.SDK, "it was linked for the SDK of macOS %v, not %v", f.SDK, w.SDK)
	is(f.Signed, "it is not signed")
	seen := map[string]bool{}
	for _, l := range f.Libraries {
		is(!seen[l], "it loads %s twice, which macOS 26 refuses", l)
		is(w.Libraries == nil || slices.Contains(w.Libraries, l), "it loads %s, which is not on the list", l)
		seen[l] = true
	}
	for _, l := range w.Libraries {
		is(seen[l], "it does not load %s, which is on the list", l)
	}
	return out
}
