package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// tokenWord returns a token's state in one word.
func (a *app) tokenWord(t svc.AccessToken) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked"
	case !t.Works(svc.TimeOf(a.now())):
		return "expired"
	default:
		return "works"
	}
}

func (a *app) tokenView() view[svc.AccessToken] {
	never := func(at *svc.Time) string {
		if at == nil {
			return "never"
		}
		return a.when(at)
	}
	return view[svc.AccessToken]{
		name:  func(t svc.AccessToken) string { return t.Name },
		empty: "no tokens but the owner's; `svc token create NAME --role viewer` makes one",
		columns: []column[svc.AccessToken]{
			{head: "TOKEN", cell: func(t svc.AccessToken) string { return t.Name }},
			{head: "ROLE", cell: func(t svc.AccessToken) string { return string(t.Role) }},
			{head: "STATE", cell: a.tokenWord, tone: func(t svc.AccessToken) tone {
				if a.tokenWord(t) == "works" {
					return good
				}
				return dim
			}},
			{head: "USED", cell: func(t svc.AccessToken) string { return never(t.LastUsedAt) }},
			{head: "EXPIRES", cell: func(t svc.AccessToken) string { return never(t.ExpiresAt) }},
			{head: "BY", cell: func(t svc.AccessToken) string { return t.CreatedBy }},
		},
		fields: func(t svc.AccessToken) []field {
			return []field{
				{"token", t.Name}, {"id", t.ID}, {"role", string(t.Role)}, {"state", a.tokenWord(t)}, {"created", a.whenExactly(&t.CreatedAt)},
				{"created by", t.CreatedBy}, {"last used", a.whenExactly(t.LastUsedAt)}, {"expires", a.whenExactly(t.ExpiresAt)},
			}
		},
	}
}

func (a *app) tokenCommand() *cobra.Command {
	return group(&cobra.Command{Use: "token", Short: "Access tokens and their roles"}, a.tokenCreate(), a.tokenList(), a.tokenRevoke())
}

func (a *app) tokenCreate() *cobra.Command {
	var role, expires string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make an access token, and print it once", Args: takes("NAME"),
		Long: "Make an access token for a person or a program. A viewer reads and watches, an operator also plans, runs and stops,\n" +
			"an admin also manages tokens and hosts. The token is printed once and not stored.",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		body := api.CreateToken{Name: args[0], Role: svc.Role(role)}
		if expires != "" {
			life, err := parseLife(expires)
			if err != nil {
				return err
			}
			at := svc.TimeOf(a.now().Add(life))
			body.ExpiresAt = &at
		}
		t, err := c.CreateToken(ctx, body)
		if err != nil {
			return err
		}
		if a.output == "json" || a.output == "jsonl" {
			return a.printJSON(t)
		}
		a.out.println(t.Token)
		a.note("made token %s, %s; it is shown this once. On another machine: svc login", t.Name, t.Role)
		return nil
	})
	cmd.Flags().Var(newChoice(&role, string(svc.RoleOperator), string(svc.RoleViewer), string(svc.RoleOperator), string(svc.RoleAdmin)), "role", "`ROLE`: viewer, operator or admin")
	cmd.Flags().StringVar(&expires, "expires", "", "stop working after this `TIME`, such as 12h or 90d")
	return a.both(cmd)
}

// parseLife reads a duration. It also accepts days, such as 90d.
func parseLife(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100_000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, usage("", "--expires: %q is not a time such as 12h or 90d", s)
	}
	return d, nil
}

func (a *app) tokenList() *cobra.Command {
	return a.reading(&cobra.Command{Use: "list", Short: "List access tokens, newest first", Args: takes(), RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		tokens, err := collect(c.AllTokens(ctx))
		if err != nil {
			return err
		}
		return printList(a, a.tokenView(), tokens)
	})})
}

func (a *app) tokenRevoke() *cobra.Command {
	return a.both(&cobra.Command{
		Use: "revoke TOKEN", Short: "End an access token for good", Args: takes("TOKEN"),
		Long: "End an access token, by name or id. Requests with it are refused at once; open streams and terminals end within seconds.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			tokens, err := collect(c.AllTokens(ctx))
			if err != nil {
				return err
			}
			for _, t := range tokens {
				if t.ID != args[0] && (t.Name != args[0] || a.tokenWord(t) != "works") {
					continue
				}
				if err := c.RevokeToken(ctx, t.ID); err != nil {
					return err
				}
				return printDone(a, a.tokenView(), t, "revoked token %s", t.Name)
			}
			return svc.NotFound("working token", args[0])
		}),
	})
}

func (a *app) whoamiCommand() *cobra.Command {
	return a.both(&cobra.Command{Use: "whoami", Short: "Show the name and the role of your token", Args: takes(), RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		me, err := c.Me(ctx)
		if err != nil {
			return err
		}
		return printOne(a, view[api.Me]{
			name: func(m api.Me) string { return m.Name },
			fields: func(m api.Me) []field {
				return []field{{"name", m.Name}, {"role", string(m.Role)}, {"expires", a.whenExactly(m.ExpiresAt)}, {"server", c.BaseURL}, {"token from", a.tokenFrom}}
			},
		}, me)
	})})
}
