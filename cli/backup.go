package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"svc/store"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the running SQLite database to a file",
		Args:  takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if err := store.Backup(cmd.Context(), cfg.Server.Database, args[0]); err != nil {
				return err
			}
			fmt.Fprintln(a.out, args[0])
			return nil
		},
	}
}
