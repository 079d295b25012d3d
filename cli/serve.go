package cli

import (
	"log/slog"
	"net"

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
			if cfg.Server.ClusterAddress != "" {
				m, err := a.openMember(cmd.Context(), cfg, log)
				if err != nil {
					return err
				}
				m.logAddress(m.addr)
				return m.run(cmd.Context())
			}
			o, err := a.openOrchestrator(cmd.Context(), cfg, log)
			if err != nil {
				return err
			}
			o.logAddress(o.addr)
			ctx, stop := o.untilDrained(cmd.Context())
			defer stop()
			return o.run(ctx)
		},
	}
	a.serverFlags(cmd)
	cmd.AddCommand(a.serveInstall())
	return cmd
}

// logAddress logs at which address an orchestrator listens.
func (o *basics) logAddress(addr net.Addr) {
	o.log.Info("listening", "address", addr.String(), "data_dir", o.cfg.DataDir, "version", Version())
	if where := reachableFrom(o.cfg.Server); where != "" && !o.cfg.Server.TLS() {
		o.log.Warn("tokens, keys and screens pass the network unencrypted" + where + "; see [server] tls_cert and bind")
	}
	if o.user.Made {
		o.log.Info("made the access token; the command line reads it from its file", "file", o.user.From)
	}
}

// serverFlags adds the flags that set settings of an orchestrator.
func (a *app) serverFlags(cmd *cobra.Command) {
	a.setting(cmd, "bind", "server.bind", "`ADDRESS` to listen on (SVC_BIND)")
	a.setting(cmd, "port", "server.port", "`PORT` to listen on; 0 picks a free one (SVC_PORT)")
	a.setting(cmd, "database", "server.database", "`DSN`: sqlite:<file> or postgres://… (SVC_DATABASE)")
	cmd.Flags().BoolVarP(&a.verbose, "verbose", "v", false, "log more")
}
