package sim

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// archive is an MTLBinaryArchive: the pipelines that were added, for one GPU and system.
type archive struct {
	Magic     string          `json:"magic"`
	GPU       string          `json:"gpu"`
	Build     string          `json:"build"`
	Pipelines map[string]bool `json:"pipelines"` // by source and function
}

const archiveMagic = "simulated MTLBinaryArchive 1"

// Codes of MTLBinaryArchiveError.
const (
	archiveInvalid = 1
	archiveFailed  = 2
)

func archiveBehaviours() behaviours {
	return behaviours{
		"MTLBinaryArchiveDescriptor": {
			"-setUrl:": func(r *Runtime, o *object, a *args) uintptr { return r.keep(&o.descr.url, a[0]) },
		},
		"MTLBinaryArchive": labelled(map[string]behaviour{
			"-addComputePipelineFunctionsWithDescriptor:error:": addToArchive,
			"-serializeToURL:error:":                            writeArchive,
		}),
	}
}

// newArchive makes an empty archive, or reads the file that the descriptor names. Pipelines in it that are of another
// GPU or system are not found later, as on a Mac.
func newArchive(r *Runtime, _ *object, a *args) uintptr {
	d := r.object(a[0], "the descriptor")
	if d == nil {
		return 0
	}
	if r.removed {
		return r.fail(a[1], gone())
	}
	n := &archive{archiveMagic, r.gpu.Name, r.os.Build, map[string]bool{}}
	if url := d.descr.url; url != nil {
		if f := r.strikes(ArchiveFails, "read"); f != nil {
			return r.fail(a[1], failure{archiveDomain, archiveInvalid, f.reason("the archive is damaged")})
		}
		read, err := readArchive(url.path)
		if err != nil {
			return r.fail(a[1], failure{archiveDomain, archiveInvalid, err.Error()})
		}
		if read.GPU == n.GPU && read.Build == n.Build {
			n = read
		}
	}
	o := r.make("MTLBinaryArchive")
	o.archive = n
	return uintptr(o.id)
}

func readArchive(path string) (*archive, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n := &archive{}
	if err := json.Unmarshal(data, n); err != nil || n.Magic != archiveMagic || n.Pipelines == nil {
		return nil, errors.New("Invalid binary archive file") //nolint:staticcheck // as Metal says it
	}
	return n, nil
}

// archiveKey is a pipeline as archives know it.
func archiveKey(f *function) string { return f.library.library.hash + " " + f.name }

func addToArchive(r *Runtime, o *object, a *args) uintptr {
	d := r.object(a[0], "the descriptor")
	switch {
	case d == nil:
		return 0
	case d.descr.function == nil:
		r.violate("computeFunction must not be nil")
		return 0
	}
	if f := r.strikes(ArchiveFails, "add"); f != nil {
		return r.fail(a[1], failure{archiveDomain, archiveFailed, f.reason("the pipeline cannot be added")})
	}
	o.archive.Pipelines[archiveKey(d.descr.function.function)] = true
	return 1
}

func writeArchive(r *Runtime, o *object, a *args) uintptr {
	url := r.object(a[0], "the URL")
	if url == nil {
		return 0
	}
	if f := r.strikes(ArchiveFails, "write"); f != nil {
		return r.fail(a[1], failure{archiveDomain, archiveFailed, f.reason("the archive cannot be written")})
	}
	data, err := json.Marshal(o.archive)
	if err == nil && len(o.archive.Pipelines) == 0 {
		err = errors.New("nothing to serialize")
	}
	if err == nil {
		err = os.WriteFile(filepath.Clean(url.path), data, 0o600)
	}
	if err != nil {
		return r.fail(a[1], failure{archiveDomain, archiveFailed, err.Error()})
	}
	return 1
}

// archived reports whether one of a descriptor's archives holds its pipeline.
func (r *Runtime) archived(d *descriptor) bool {
	if d.archives == nil {
		return false
	}
	for _, o := range d.archives.array {
		if o.archive != nil && o.archive.Pipelines[archiveKey(d.function.function)] {
			return true
		}
	}
	return false
}
