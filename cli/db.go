package cli

import (
	"log/slog"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"svc/store"
)

func (a *app) dbCommand() *cobra.Command {
	return group(&cobra.Command{Use: "db", Short: "Copy the database"}, a.dbCopy())
}

func (a *app) dbCopy() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "copy --to DSN",
		Short: "Copy the whole database to another one, SQLite or PostgreSQL",
		Long: `Copy the whole database to another one, SQLite or PostgreSQL. The orchestrator must be stopped. The new database must
not exist (SQLite) or be empty (PostgreSQL). It is written in one transaction and read back; counts and hashes of every
table are compared before the commit. A copy that fails leaves nothing behind; just run it again. The old database
is not changed. Logs, tokens and keys stay in the data dir and need no copy.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return usage("`svc db copy --help` shows how it is used", "`svc db copy` needs --to")
			}
			cfg, err := a.config()
			if err != nil {
				return err
			}
			sums, err := store.Copy(cmd.Context(), cfg.Server.Database, to, a.logger(slog.LevelWarn))
			if err != nil {
				return err
			}
			printTable(a, []column[store.TableSum]{
				{head: "TABLE", cell: func(s store.TableSum) string { return s.Table }},
				{head: "ROWS", cell: func(s store.TableSum) string { return strconv.FormatInt(s.Rows, 10) }},
				{head: "HASH", cell: func(s store.TableSum) string { return s.Hash()[:16] }},
			}, sums)
			a.note("every table was read back and is the same; now set [server] database to %s", withoutPassword(to))
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`DSN` of the new database: sqlite:<file> or postgres://…")
	a.setting(cmd, "from", "server.database", "`DSN` of the database to copy; default: the configured one (SVC_DATABASE)")
	return cmd
}

// withoutPassword returns a DSN without its password, so that it may be shown.
func withoutPassword(dsn string) string {
	if u, err := url.Parse(dsn); err == nil && u.Scheme != "sqlite" {
		return u.Redacted()
	}
	return dsn
}
