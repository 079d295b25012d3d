package cli

import (
	"runtime"

	"github.com/spf13/cobra"
)

type versionInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *app) versionCommand() *cobra.Command {
	return a.answering(&cobra.Command{Use: "version", Short: "Print the version", Args: takes(), RunE: func(*cobra.Command, []string) error {
		v := versionInfo{Version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
		return printDone(a, view[versionInfo]{name: func(v versionInfo) string { return v.Version }}, v, "svc %s (%s, %s)", v.Version, v.Go, v.Platform)
	}})
}
