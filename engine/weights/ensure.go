package weights

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// Ensure returns the mapped pack of a checkpoint, building it in dir when it is not there or not to be trusted.
//
// The layout of the pack is that of the recipe, but for items that are stored more compactly without losing a bit, see
// [Compact].
//
// dir belongs to this one checkpoint: it is created, and packs of other content in it (earlier shards, another
// recipe) are deleted before a new one is built. A pack is trusted when its manifest fits source and layout and
// the file has not been written since its checksums were verified; so an ordinary start reads a few blocks of the
// shards, one manifest and no weights. Otherwise it is verified, and built anew if that fails. Processes that
// want the same pack at once wait for the first. progress may be nil. The checkpoint can be closed afterwards.
func Ensure(
	ctx context.Context, c *Checkpoint, r Recipe, dir string, manifests Manifests, progress func(Progress),
) (*Pack, error) {
	l, err := Plan(r)
	if err != nil {
		return nil, err
	}
	if err := c.Check(l); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(c.Source() + l.Hash()))
	e := ensurer{ckpt: c, recipe: r, key: hex.EncodeToString(hash[:16]), manifests: manifests, progress: progress}
	e.path = filepath.Join(dir, e.key+packSuffix)

	p, err := e.open()
	if err != nil || p != nil && p.checked() {
		return p, err
	}
	if p != nil {
		if err := p.Close(); err != nil {
			return nil, err
		}
	}
	release, err := lockDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer release()
	return e.locked(ctx)
}

// Remove deletes the packs in a folder that [Ensure] was given, and their manifests; files of others stay. It waits
// while a pack is being built there. Who has a pack mapped keeps it.
func Remove(ctx context.Context, dir string, manifests Manifests) error {
	release, err := lockDir(ctx, dir)
	if err != nil {
		return err
	}
	defer release()
	return sweep(dir, manifests)
}

const packSuffix = ".pack"

// ownFiles are the names that [sweep] may delete: packs, and temporary files of builds that were killed.
var ownFiles = regexp.MustCompile(`^([0-9a-f]{32})\.pack$|^\.[0-9a-f]{32}\.pack\.[0-9]+\.tmp$`)

// ensurer is one call of [Ensure].
type ensurer struct {
	ckpt      *Checkpoint
	recipe    Recipe
	key       string // of the manifest; from source and recipe
	path      string
	manifests Manifests
	progress  func(Progress)
}

// open maps the pack if there is one that fits its manifest; nil without an error: it must be built.
func (e *ensurer) open() (*Pack, error) {
	stored, err := e.manifests.Load(e.key)
	if err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", e.path, err)
	}
	if stored == nil {
		return nil, nil
	}
	m, err := DecodeManifest(stored)
	if err != nil {
		return nil, nil //nolint:nilerr // a manifest that cannot be read vouches for nothing
	}
	l, err := Plan(m.compact(e.recipe))
	if err != nil {
		return nil, err
	}
	p, err := Open(e.path, l, m, e.ckpt.Source())
	var stale *StaleError
	if errors.As(err, &stale) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return p, err
}

// locked looks again, since another process may have been quicker, and verifies or builds.
func (e *ensurer) locked(ctx context.Context) (*Pack, error) {
	p, err := e.open()
	if err != nil || p != nil && p.checked() {
		return p, err
	}
	if p != nil {
		err := p.Verify(ctx, e.progress)
		if err == nil {
			return e.trust(p)
		}
		if err = errors.Join(err, p.Close()); ctx.Err() != nil {
			return nil, err
		}
	}
	if err := e.build(ctx); err != nil {
		return nil, err
	}
	if p, err = e.open(); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, &StaleError{e.path, "it changed while it was built"}
	}
	if err := p.Verify(ctx, e.progress); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return e.trust(p)
}

// build writes the pack and its manifest. A pack without a manifest is worthless and not left behind.
func (e *ensurer) build(ctx context.Context) error {
	dir := filepath.Dir(e.path)
	if err := sweep(dir, e.manifests); err != nil {
		return err
	}
	least, err := leastSize(e.recipe)
	if err == nil {
		err = checkSpace(dir, least) // told before the survey, which reads a lot
	}
	if err != nil {
		return err
	}
	r, err := Compact(ctx, e.ckpt, e.recipe, e.progress)
	if err != nil {
		return err
	}
	l, err := Plan(r)
	if err != nil {
		return err
	}
	m, err := Build(ctx, e.ckpt, l, e.path, e.progress)
	if err != nil {
		return err
	}
	if err := e.save(m); err != nil {
		return errors.Join(err, os.Remove(e.path))
	}
	return nil
}

// trust notes in the manifest that the pack was verified.
func (e *ensurer) trust(p *Pack) (*Pack, error) {
	p.manifest.Checked = p.changed
	if err := e.save(p.manifest); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (e *ensurer) save(m Manifest) error {
	data, err := m.Encode()
	if err == nil {
		err = e.manifests.Save(e.key, data)
	}
	if err != nil {
		return fmt.Errorf("manifest of %s: %w", e.path, err)
	}
	return nil
}

// sweep makes room: it deletes the packs and temporary files in the folder and the manifests of the packs. No
// build is under way there, because the lock is held; who has such a pack mapped keeps it.
func sweep(dir string, manifests Manifests) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		match := ownFiles.FindStringSubmatch(f.Name())
		if match == nil {
			continue
		}
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
			return err
		}
		if key := match[1]; key != "" {
			if err := manifests.Save(key, nil); err != nil {
				return fmt.Errorf("manifest of %s: %w", f.Name(), err)
			}
		}
	}
	return nil
}
