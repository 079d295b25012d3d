package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"svc/backup"
	"svc/config"
	"svc/store"
)

// The names of files in a backup. Secrets and the two files of settings have the same names as in the data dir.
const (
	backupDatabase = "svc.db"
	backupRelay    = "relay"
	settingsFile   = "config.toml"
	catalogFile    = "providers.toml"
)

func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all data of the orchestrator to a file",
		Long: `Write all data of the orchestrator to a file, also while it is running: the database (SQLite or
PostgreSQL, as one consistent state), the relayed logs and last screens, the tokens and the signing key, config.toml
and providers.toml. The file is a gzipped tar; it is read back before it gets its name, and never overwrites another.
Run it on the orchestrator's machine, and protect the file like a key. svc restore restores an orchestrator from it.`,
		Args: takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			return a.backup(cmd.Context(), cfg, args[0])
		},
	}
	a.setting(cmd, "database", "server.database", "`DSN` of the database to copy (SVC_DATABASE)")
	return cmd
}

// backup copies the database before the logs. The logs may then be longer than the database says, as after a crash,
// but never shorter.
func (a *app) backup(ctx context.Context, cfg *config.Config, file string) error {
	temp, err := os.MkdirTemp(filepath.Dir(file), ".svc-backup-")
	if err != nil {
		return fmt.Errorf("make a folder beside the backup: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	database := filepath.Join(temp, backupDatabase)
	if err := store.Backup(ctx, cfg.Server.Database, database); err != nil {
		return err
	}
	sources := []backup.Source{{Name: backupDatabase, Path: database}}
	for _, name := range append(config.OrchestratorSecrets(), settingsFile) {
		sources = append(sources, backup.Source{Name: name, Path: filepath.Join(cfg.DataDir, name)})
	}
	sources = append(sources, backup.Source{Name: catalogFile, Path: cfg.CatalogPath}, backup.Source{Name: backupRelay, Path: cfg.RelayDir()})
	m, err := backup.Write(ctx, file, Version(), sources)
	if err != nil {
		return err
	}
	a.note("%s", contents(m))
	a.out.println(file)
	return nil
}

// contents lists what a backup has in it.
func contents(m backup.Manifest) string {
	logs, bytes := m.Bytes(backupRelay + "/")
	_, database := m.Bytes(backupDatabase)
	text := fmt.Sprintf("the database (%s)", sizeText(database))
	if logs > 0 {
		text += fmt.Sprintf(", relayed logs (files: %d, %s)", logs, sizeText(bytes))
	}
	for _, name := range append(config.OrchestratorSecrets(), settingsFile, catalogFile) {
		if n, _ := m.Bytes(name); n > 0 {
			text += ", " + name
		}
	}
	return text
}

// sizeText returns a number of bytes in a unit for people.
func sizeText(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/(1<<10), 0
	for size >= 1024 && unit < 3 {
		size, unit = size/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGT"[unit])
}
