package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"svc"
	"svc/atomicfile"
	"svc/wire"
)

// keptBundles is how many bundles of a workspace are kept. Each is based on the base commit alone, so none depends on
// another.
const keptBundles = 3

// keptNewest is how many of the newest patches of a workspace are all kept.
const keptNewest = 8

// KeepsPatch reports whether the patch of checkpoint number is kept when newest is the newest one. The last few are
// all kept. Of older ones fewer are kept with growing age, so that a reader who was away finds one near the last that
// it read. A patch that was removed never becomes one that is kept.
func KeepsPatch(number, newest int) bool {
	age := newest - number
	return age < keptNewest || (number-1)%(1<<bits.Len(uint(age/keptNewest))) == 0
}

// CheckpointKind is the kind of a relayed file of a checkpoint.
type CheckpointKind string

// The kinds.
const (
	CheckpointBundle CheckpointKind = "bundle" // a git bundle on top of the workspace's base commit
	CheckpointPatch  CheckpointKind = "patch"  // for people and git apply
)

// CheckpointsFolder is the folder of checkpoints below the hub's folder, beside those of runs.
const CheckpointsFolder = "workspaces"

// Checkpoints stores the relayed checkpoints of workspaces, in files <workspace>/<number>.bundle and .patch. A file
// that is not complete has the suffix .part. As with logs, bytes are accepted only at the end of the stored copy, so
// nothing is lost or repeated after a restart of either side.
type Checkpoints struct {
	dir   string
	quota *Quota
	files *fileReports // nil: changes are not reported

	mu   sync.Mutex // guards busy
	busy map[string]*inUse
}

// inUse is the lock of one workspace whose files are written or removed. Other workspaces are not locked.
type inUse struct {
	sync.Mutex
	users int // guarded by Checkpoints.mu
}

func newCheckpoints(dir string, quota *Quota) *Checkpoints {
	return &Checkpoints{dir: dir, quota: quota, busy: map[string]*inUse{}}
}

// lock locks the files of one workspace for writing.
func (c *Checkpoints) lock(workspaceID string) (unlock func()) {
	c.mu.Lock()
	u := c.busy[workspaceID]
	if u == nil {
		u = &inUse{}
		c.busy[workspaceID] = u
	}
	u.users++
	c.mu.Unlock()
	u.Lock()
	return func() {
		u.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		if u.users--; u.users == 0 {
			delete(c.busy, workspaceID)
		}
	}
}

// Piece is a part of a file that a worker relays.
type Piece struct {
	HostID      string // the host whose quota it counts for
	WorkspaceID string
	Number      int
	Kind        CheckpointKind
	Offset      int64
	Total       int64  // bytes of the whole file
	Hash        string // SHA-256 of the whole file, hex
	Bytes       []byte // empty: the worker only asks how much is stored
}

func (c *Checkpoints) folder(workspaceID string) string { return filepath.Join(c.dir, workspaceID) }
func (c *Checkpoints) path(workspaceID string, number int, kind CheckpointKind) string {
	return filepath.Join(c.folder(workspaceID), strconv.Itoa(number)+"."+string(kind))
}

// Take appends a piece if it begins where the stored copy ends. It returns the length of the stored copy afterwards,
// and whether the file is complete.
func (c *Checkpoints) Take(p Piece) (offset int64, complete bool, err error) {
	if !svc.IsID(p.WorkspaceID) || p.Number < 1 || p.Kind != CheckpointBundle && p.Kind != CheckpointPatch {
		return 0, false, svc.Errorf(svc.CodeValidation, "this is not a file of a checkpoint")
	}
	if p.Total < 0 || p.Total > wire.MaxCheckpointFile {
		return 0, false, svc.Errorf(svc.CodeTooLarge, "a checkpoint's file has at most %d bytes", wire.MaxCheckpointFile)
	}
	defer c.lock(p.WorkspaceID)()
	whole := c.path(p.WorkspaceID, p.Number, p.Kind)
	if info, err := os.Stat(whole); err == nil {
		return info.Size(), true, nil
	}
	f, err := c.begin(p.WorkspaceID, whole+".part")
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	if offset, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, false, fmt.Errorf("keep checkpoint: %w", err)
	}
	if offset == p.Offset && offset+int64(len(p.Bytes)) <= p.Total {
		if err := c.write(f, p); err != nil {
			return offset, false, errors.Join(fmt.Errorf("keep checkpoint: %w", err), f.Truncate(p.Offset))
		}
		offset += int64(len(p.Bytes))
	}
	if offset < p.Total {
		return offset, false, nil
	}
	return c.complete(f, p, whole)
}

// mostFiles limits the files of a workspace, because an empty file also uses disk space.
const mostFiles = 1024

// begin opens a .part file. It creates the file unless the workspace has too many files or the disk has no space.
func (c *Checkpoints) begin(workspaceID, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(c.folder(workspaceID), 0o700); err != nil {
		return nil, fmt.Errorf("keep checkpoint: %w", err)
	}
	entries, err := os.ReadDir(c.folder(workspaceID))
	if err != nil {
		return nil, fmt.Errorf("keep checkpoint: %w", err)
	}
	if len(entries) >= mostFiles || c.quota.noSpace() {
		return nil, svc.Errorf(svc.CodeUnavailable, "the orchestrator has no room for more checkpoints of this workspace now; try again later")
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// write appends a piece to its file, if the host's quota allows it. The worker sends a refused piece again later.
func (c *Checkpoints) write(f *os.File, p Piece) error {
	n := int64(len(p.Bytes))
	if n > 0 && c.quota.noSpace() {
		return svc.Errorf(svc.CodeUnavailable, "the orchestrator's disk has no room for checkpoints now; try again later")
	}
	if got := c.quota.take(p.HostID, n); got < n {
		c.quota.add(p.HostID, -got)
		return svc.Errorf(svc.CodeUnavailable, "the orchestrator has reached the limit for this host, [retention] relay_host_max_bytes; try again later")
	}
	if _, err := f.Write(p.Bytes); err != nil {
		c.quota.add(p.HostID, -n)
		return err
	}
	return nil
}

// complete renames a file to its final name when its length and hash are correct. Otherwise it truncates the file,
// and the worker sends it again from the beginning.
func (c *Checkpoints) complete(f *os.File, p Piece, whole string) (int64, bool, error) {
	sum := sha256.New()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, false, fmt.Errorf("keep checkpoint: %w", err)
	}
	n, err := io.Copy(sum, f)
	if err != nil {
		return 0, false, fmt.Errorf("keep checkpoint: %w", err)
	}
	if n != p.Total || hex.EncodeToString(sum.Sum(nil)) != p.Hash {
		c.quota.add(p.HostID, -n)
		return 0, false, f.Truncate(0)
	}
	if err := f.Sync(); err != nil {
		return 0, false, fmt.Errorf("keep checkpoint: %w", err)
	}
	if err := os.Rename(whole+".part", whole); err != nil {
		return 0, false, fmt.Errorf("keep checkpoint: %w", err)
	}
	c.files.wrote(whole)
	return n, true, atomicfile.SyncDir(filepath.Dir(whole))
}

// Has reports whether all files of a checkpoint are stored completely.
func (c *Checkpoints) Has(workspaceID string, number int) bool {
	for _, kind := range []CheckpointKind{CheckpointBundle, CheckpointPatch} {
		if _, err := os.Stat(c.path(workspaceID, number, kind)); err != nil {
			return false
		}
	}
	return true
}

// Open opens a file of a checkpoint. The error is fs.ErrNotExist when it is not stored.
func (c *Checkpoints) Open(workspaceID string, number int, kind CheckpointKind) (*os.File, error) {
	if !svc.IsID(workspaceID) {
		return nil, fs.ErrNotExist
	}
	return os.Open(c.path(workspaceID, number, kind))
}

// CheckpointInfo is stored data about a checkpoint besides its files.
type CheckpointInfo struct {
	Tree string `json:"tree"` // empty: its worker did not report it
	From string `json:"from"` // the base commit of its patch; empty: its worker did not report it
}

func (c *Checkpoints) infoPath(workspaceID string, number int) string {
	return filepath.Join(c.folder(workspaceID), strconv.Itoa(number)+".json")
}

// Describe stores the data about a checkpoint beside its files. It is removed together with them.
func (c *Checkpoints) Describe(hostID, workspaceID string, number int, info CheckpointInfo) error {
	text, err := svc.JSON(info)
	if err != nil {
		return err
	}
	defer c.lock(workspaceID)()
	path := c.infoPath(workspaceID, number)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.WriteFile(path+".part", text, 0o600); err != nil {
		return fmt.Errorf("describe checkpoint: %w", err)
	}
	if err := os.Rename(path+".part", path); err != nil {
		return fmt.Errorf("describe checkpoint: %w", err)
	}
	c.files.wrote(path)
	c.quota.add(hostID, int64(len(text)))
	return nil
}

// Info returns the stored data about a checkpoint; empty when there is none.
func (c *Checkpoints) Info(workspaceID string, number int) (info CheckpointInfo) {
	text, err := os.ReadFile(c.infoPath(workspaceID, number))
	if err != nil || json.Unmarshal(text, &info) != nil {
		return CheckpointInfo{}
	}
	return info
}

// drops reports whether a file of a checkpoint is removed when a newer checkpoint is complete.
func drops(kind string, number, newest int, pinned []int) bool {
	switch {
	case number >= newest:
		return false
	case strings.HasSuffix(kind, ".part"):
		return true
	case kind == string(CheckpointBundle):
		return number <= newest-keptBundles
	default:
		return !KeepsPatch(number, newest) && !slices.Contains(pinned, number)
	}
}

// Trim removes the files that are no longer kept because a newer checkpoint is complete. The patches of pinned
// checkpoints are kept.
func (c *Checkpoints) Trim(hostID, workspaceID string, newest int, pinned []int) error {
	defer c.lock(workspaceID)()
	entries, err := os.ReadDir(c.folder(workspaceID))
	if err != nil {
		return fmt.Errorf("trim checkpoints: %w", err)
	}
	var problems []error
	for _, e := range entries {
		digits, rest, _ := strings.Cut(e.Name(), ".")
		number, err := strconv.Atoi(digits)
		if err == nil && drops(rest, number, newest, pinned) {
			size := sizeOf(e)
			path := filepath.Join(c.folder(workspaceID), e.Name())
			if err := os.Remove(path); err != nil {
				problems = append(problems, err)
				continue
			}
			c.files.dropped(path)
			c.quota.add(hostID, -size)
		}
	}
	return errors.Join(problems...)
}

// Size returns the size of the stored files of a workspace in bytes.
func (c *Checkpoints) Size(workspaceID string) (n int64) {
	entries, _ := os.ReadDir(c.folder(workspaceID)) // a missing folder has no files
	for _, e := range entries {
		n += sizeOf(e)
	}
	return n
}

// sizeOf returns the size of a file in bytes; 0 when it is gone.
func sizeOf(e fs.DirEntry) int64 {
	info, err := e.Info()
	if err != nil {
		return 0
	}
	return info.Size()
}

// Workspaces lists the workspaces that have stored files.
func (c *Checkpoints) Workspaces() ([]string, error) {
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		if svc.IsID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, err
}

// Remove deletes all stored files of a workspace.
func (c *Checkpoints) Remove(workspaceID string) error {
	if !svc.IsID(workspaceID) {
		return fs.ErrNotExist
	}
	defer c.lock(workspaceID)()
	entries, err := os.ReadDir(c.folder(workspaceID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(c.folder(workspaceID)); err != nil {
		return err
	}
	for _, e := range entries {
		c.files.dropped(filepath.Join(c.folder(workspaceID), e.Name()))
	}
	return nil
}
