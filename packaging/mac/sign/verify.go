package sign

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Verify checks a signed bundle: the hashes of the binary's pages, of Info.plist and of CodeResources, and that
// CodeResources is what the files in the bundle make it.
func Verify(app, name, identifier string) error {
	contents := filepath.Join(app, "Contents")
	read := func(parts ...string) []byte {
		b, err := os.ReadFile(filepath.Join(append([]string{contents}, parts...)...))
		if err != nil {
			return nil
		}
		return b
	}
	info, resources, b := read("Info.plist"), read("_CodeSignature", "CodeResources"), read("MacOS", name)
	if info == nil || resources == nil || b == nil {
		return errors.New("cannot read Info.plist, CodeResources or the binary")
	}
	want, err := seal(contents)
	if err != nil {
		return err
	}
	if !bytes.Equal(resources, want) {
		return errors.New("the files in Resources are not those that were sealed")
	}
	return verifyBinary(b, identifier, info, resources)
}

// blob is a part of a signature.
func blob(signature []byte, slot, magic uint32) ([]byte, error) {
	if len(signature) < 12 || be.Uint32(signature) != magicSignature {
		return nil, errors.New("the signature is none")
	}
	for i := range int(be.Uint32(signature[8:])) {
		at := 12 + 8*i
		if at+8 > len(signature) {
			break
		}
		if be.Uint32(signature[at:]) != slot {
			continue
		}
		start := int64(be.Uint32(signature[at+4:]))
		if start+8 > int64(len(signature)) {
			break
		}
		b := signature[start:]
		size := int64(be.Uint32(b[4:]))
		if be.Uint32(b) != magic || size < 8 || size > int64(len(b)) {
			break
		}
		return b[:size], nil
	}
	return nil, fmt.Errorf("the signature has no whole part %#x", slot)
}

func verifyBinary(b []byte, identifier string, info, resources []byte) error {
	l, err := readLayout(b)
	if err != nil {
		return err
	}
	if l.signature == 0 {
		return errors.New("it is not signed")
	}
	start, size := int64(le.Uint32(b[l.signature+8:])), int64(le.Uint32(b[l.signature+12:]))
	if start+size != int64(len(b)) {
		return errors.New("the signature does not end the file")
	}
	signature := b[start:]
	d, err := blob(signature, slotDirectory, magicCodeDirectory)
	if err != nil {
		return err
	}
	requirements, err := blob(signature, slotRequirements, magicRequirements)
	if err != nil {
		return err
	}
	if len(d) < directoryHead {
		return errors.New("the code directory is cut off")
	}
	hashes, name := int64(be.Uint32(d[16:])), int64(be.Uint32(d[20:]))
	special, pages := int64(be.Uint32(d[24:])), int64(be.Uint32(d[28:]))
	ofThisKind := d[37] == hashSHA256 && d[39] == pageBits && special == specialSlots
	ofThisFile := int64(be.Uint32(d[32:])) == start && pages == (start+page-1)/page
	if !ofThisKind || !ofThisFile || hashes+pages*sha256.Size != int64(len(d)) || hashes < name+special*sha256.Size {
		return errors.New("the code directory does not fit the file")
	}
	return compare(d, hashes, name, b[:start], identifier, [][]byte{info, requirements, resources})
}

// compare holds the hashes of a code directory against what was hashed.
func compare(d []byte, hashes, name int64, b []byte, identifier string, special [][]byte) error {
	if got, _, _ := bytes.Cut(d[name:hashes], []byte{0}); string(got) != identifier {
		return fmt.Errorf("it is signed as %q, not %q", got, identifier)
	}
	hash := func(slot int64) []byte { return d[hashes+slot*sha256.Size:][:sha256.Size] }
	for i, s := range special {
		if h := sha256.Sum256(s); !bytes.Equal(h[:], hash(int64(-1-i))) {
			what := []string{"Info.plist", "the requirements", "CodeResources"}[i]
			return fmt.Errorf("%s was changed after signing", what)
		}
	}
	for i := range (int64(len(b)) + page - 1) / page {
		if h := sha256.Sum256(b[i*page : min((i+1)*page, int64(len(b)))]); !bytes.Equal(h[:], hash(i)) {
			return fmt.Errorf("the binary was changed after signing, near %#x", i*page)
		}
	}
	return nil
}
