package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the orchestrator",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			log := a.logger()
			o, err := a.openOrchestrator(cmd.Context(), cfg, log)
			if err != nil {
				return err
			}
			log.Info("listening", "address", o.addr.String(), "data_dir", cfg.DataDir, "version", Version())
			if o.user.Made {
				log.Info("made the access token; the command line reads it from its file", "file", o.user.From)
			}
			return o.run(cmd.Context())
		},
	}
	a.setting(cmd, "bind", "server.bind", "address to listen on")
	a.setting(cmd, "port", "server.port", "port to listen on; 0 picks a free one")
	a.setting(cmd, "database", "server.database", "sqlite:<file> or postgres://…")
	return cmd
}
