package app

import (
	"path/filepath"
	"time"

	"github.com/adrg/xdg"

	"sotto/app/store"
)

// Folders is where Sotto keeps its files, by the XDG rules (on macOS: Application Support and Caches).
type Folders struct {
	Data  string // what must not be lost
	Cache string // what can be made again
}

// UserFolders returns the folders of the user who runs Sotto.
func UserFolders() Folders {
	return Folders{Data: filepath.Join(xdg.DataHome, "sotto"), Cache: filepath.Join(xdg.CacheHome, "sotto")}
}

// storeWait is how long to wait for another Sotto that is writing to the store.
const storeWait = 5 * time.Second

// Store is the database of these folders.
func (f Folders) Store() *store.Store { return store.New(filepath.Join(f.Data, "sotto.db"), storeWait) }

// Lock is the file that says that the app is running.
func (f Folders) Lock() string { return filepath.Join(f.Data, "app.lock") }
