package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/atomicfile"
	"svc/backup"
	"svc/config"
	"svc/store"
)

func (a *app) restoreCommand() *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore an orchestrator's data from a backup",
		Long: `Restore an orchestrator's data from a backup. The orchestrator must be stopped. The whole file is read and compared with
its own list first. Nothing is overwritten: existing files that differ are an error, or with --replace are moved to a folder
replaced-<time> in the data dir. config.toml and providers.toml are restored where they do not exist. The database is
restored to the one in the settings; PostgreSQL must be empty. If a restore is interrupted, run it again.`,
		Args: takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.restore(cmd.Context(), args[0], replace)
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "move existing files aside that would be overwritten")
	a.setting(cmd, "database", "server.database", "`DSN` of the database to restore to (SVC_DATABASE)")
	return cmd
}

// restore unpacks and checks everything in a folder of the data dir, and then only moves the files to their places.
// The database is restored last, so where there is a database, everything else is there too.
func (a *app) restore(ctx context.Context, file string, replace bool) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	if _, err := config.EnsureDataDir(cfg.DataDir); err != nil {
		return err
	}
	unpacked, err := os.MkdirTemp(cfg.DataDir, ".restore-")
	if err != nil {
		return fmt.Errorf("make a folder in the data dir: %w", err)
	}
	defer func() { _ = os.RemoveAll(unpacked) }()
	m, err := unpack(ctx, file, unpacked)
	if err != nil {
		return err
	}
	if n, _ := m.Bytes(backupDatabase); n != 1 {
		return svc.Errorf(svc.CodeConflict, "%s is no backup of svc: it has no database", file)
	}
	if cfg, err = a.restoreSettings(cfg, m, unpacked); err != nil {
		return err
	}
	release, err := store.Hold(cfg.Server.Database)
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	if err := a.makeRoom(ctx, cfg, m, replace); err != nil {
		return err
	}
	folders := map[string]bool{cfg.DataDir: true}
	for _, f := range m.Files {
		if to := restoredPath(cfg, f.Name); to != "" {
			if err := moveTo(filepath.Join(unpacked, filepath.FromSlash(f.Name)), to); err != nil {
				return err
			}
			for dir := filepath.Dir(to); !folders[dir] && len(dir) > len(cfg.DataDir); dir = filepath.Dir(dir) {
				folders[dir] = true
			}
		}
	}
	for dir := range folders { // the files must not be lost in a power cut that the database survives
		if err := atomicfile.SyncDir(dir); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
	if err := store.Restore(ctx, filepath.Join(unpacked, backupDatabase), cfg.Server.Database); err != nil {
		return err
	}
	a.note("restored %s", contents(m))
	a.out.println(cfg.DataDir)
	return nil
}

// unpack extracts a backup. Old versions of `svc backup` wrote only the database: such a file is an SQLite database,
// not an archive.
func unpack(ctx context.Context, file, into string) (backup.Manifest, error) {
	f, err := os.Open(file)
	if err != nil {
		return backup.Manifest{}, svc.Errorf(svc.CodeNotFound, "%s cannot be read", file).Because(err)
	}
	defer func() { _ = f.Close() }()
	magic := []byte("SQLite format 3\x00")
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(f, start); err != nil || !bytes.Equal(start, magic) {
		return backup.Extract(ctx, file, into)
	}
	to, err := os.OpenFile(filepath.Join(into, backupDatabase), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return backup.Manifest{}, fmt.Errorf("unpack the backup: %w", err)
	}
	n, err := io.Copy(to, io.MultiReader(bytes.NewReader(start), f))
	if err = errors.Join(err, to.Close()); err != nil {
		return backup.Manifest{}, fmt.Errorf("unpack the backup: %w", err)
	}
	return backup.Manifest{Files: []backup.File{{Name: backupDatabase, Size: n}}}, nil
}

// restoreSettings restores the files of settings that do not exist yet, and then reads the settings.
func (a *app) restoreSettings(cfg *config.Config, m backup.Manifest, unpacked string) (*config.Config, error) {
	for _, name := range []string{settingsFile, catalogFile} {
		if n, _ := m.Bytes(name); n == 0 {
			continue
		}
		to := filepath.Join(cfg.DataDir, name)
		if _, err := os.Lstat(to); err == nil {
			a.note("kept %s as it is", to)
			continue
		}
		if err := moveTo(filepath.Join(unpacked, name), to); err != nil {
			return nil, err
		}
	}
	return a.config()
}

// restoredPath returns where a file of a backup belongs; empty: the file is not restored by moving it.
func restoredPath(cfg *config.Config, name string) string {
	if below, ok := strings.CutPrefix(name, backupRelay+"/"); ok {
		return filepath.Join(cfg.RelayDir(), filepath.FromSlash(below))
	}
	for _, secret := range config.OrchestratorSecrets() {
		if name == secret {
			return filepath.Join(cfg.DataDir, name)
		}
	}
	return ""
}

// makeRoom finds existing files that would be overwritten, and moves them aside if replace is set.
func (a *app) makeRoom(ctx context.Context, cfg *config.Config, m backup.Manifest, replace bool) error {
	var inTheWay []string
	for _, f := range m.Files {
		if to := restoredPath(cfg, f.Name); to != "" && differs(to, f.SHA256) {
			inTheWay = append(inTheWay, to)
		}
	}
	for _, file := range store.Files(cfg.Server.Database) {
		if _, err := os.Lstat(file); err == nil {
			inTheWay = append(inTheWay, file)
		}
	}
	if len(inTheWay) > 0 && !replace {
		what := inTheWay[len(inTheWay)-1]
		if n := len(inTheWay) - 1; n > 0 {
			what += fmt.Sprintf(" and %d more", n)
		}
		return &problem{what: "existing files would be overwritten", why: what, exit: exitConflict,
			next: "restore to another --data-dir, or use --replace to move them aside"}
	}
	if len(inTheWay) > 0 {
		if err := a.moveAside(cfg, inTheWay); err != nil {
			return err
		}
	}
	return store.Vacant(ctx, cfg.Server.Database)
}

// moveAside moves files to a folder of their own. Of the relayed logs it moves all, because logs of another database
// belong to no run.
func (a *app) moveAside(cfg *config.Config, files []string) error {
	aside := filepath.Join(cfg.DataDir, "replaced-"+a.now().UTC().Format("20060102T150405Z"))
	if err := os.Mkdir(aside, 0o700); err != nil {
		return fmt.Errorf("make a folder for what is replaced: %w", err)
	}
	moved := false
	for _, file := range files {
		if strings.HasPrefix(file, cfg.RelayDir()+string(filepath.Separator)) {
			if moved {
				continue
			}
			file, moved = cfg.RelayDir(), true
		}
		if err := os.Rename(file, filepath.Join(aside, filepath.Base(file))); err != nil {
			return fmt.Errorf("move aside: %w", err)
		}
	}
	a.note("what was there is in %s", aside)
	return nil
}

// differs reports whether there is anything at path other than a file with this hash.
func differs(path, hash string) bool {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return err != nil || hex.EncodeToString(sum.Sum(nil)) != hash
}

func moveTo(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}
