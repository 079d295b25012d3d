package cli

import (
	"log/slog"

	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the orchestrator",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			log := a.logger(slog.LevelInfo)
			o, err := a.openOrchestrator(cmd.Context(), cfg, log)
			if err != nil {
				return err
			}
			log.Info("listening", "address", o.addr.String(), "data_dir", cfg.DataDir, "version", Version())
			if where := beyond(cfg.Server); where != "" && !cfg.Server.TLS() {
				log.Warn("tokens, keys and screens pass the network unencrypted" + where + "; see [server] tls_cert and bind")
			}
			if o.user.Made {
				log.Info("made the access token; the command line reads it from its file", "file", o.user.From)
			}
			ctx, stop := o.untilDrained(cmd.Context())
			defer stop()
			return o.run(ctx)
		},
	}
	a.serverFlags(cmd)
	cmd.AddCommand(a.serveInstall())
	return cmd
}

// serverFlags are the settings of an orchestrator that are flags too.
func (a *app) serverFlags(cmd *cobra.Command) {
	a.setting(cmd, "bind", "server.bind", "`ADDRESS` to listen on (SVC_BIND)")
	a.setting(cmd, "port", "server.port", "`PORT` to listen on; 0 picks a free one (SVC_PORT)")
	a.setting(cmd, "database", "server.database", "`DSN`: sqlite:<file> or postgres://… (SVC_DATABASE)")
	cmd.Flags().BoolVarP(&a.verbose, "verbose", "v", false, "log more")
}
