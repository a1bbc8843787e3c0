package cli

import (
	"fmt"
	"strings"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type tokensCmd struct {
	List   tokensListCmd   `cmd:"" default:"withargs" help:"List tokens."`
	Create tokensCreateCmd `cmd:"" help:"Make a token; its secret is shown this once."`
	Link   tokensLinkCmd   `cmd:"" help:"Make a link by which somebody may sign in once, as a token does."`
	Revoke tokensRevokeCmd `cmd:"" help:"Revoke tokens."`
}

type tokensListCmd struct {
	pageFlags `embed:"" set:"limit=1000"`
}

// Run lists tokens.
func (cmd tokensListCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Tokens, error) {
		return c.Tokens(s.ctx, cmd.page())
	}, func(list *wire.Tokens) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			t := &list.Items[i]
			reach := "all"
			if t.Jobs != nil {
				reach = strings.Join(*t.Jobs, ",")
			}
			rows[i] = []string{
				t.Name, strings.Join(t.Scopes, ","), reach, clock(t.CreatedAt), clock(t.ExpiresAt),
				clock(t.LastUsed),
			}
		}
		s.out.table([]string{"TOKEN", "SCOPES", "JOBS", "CREATED", "EXPIRES", "LAST USED"}, rows)
		s.more(list.Next)
	})
}

type tokensCreateCmd struct {
	Name    string   `arg:"" help:"The token's name."`
	Scope   []string `required:"" placeholder:"SCOPE" help:"read, enqueue, operate or admin."`
	Jobs    []string `aliases:"job" placeholder:"PATTERN" help:"Narrow it to jobs, such as mail-*."`
	Expires string   `placeholder:"TIME" help:"A time (RFC 3339), or a duration from now such as 90d."`
	Link    bool     `help:"Make a link too, by which somebody may sign in once within 30 minutes."`
}

// newToken is a token as --json shows the one that was made.
type newToken struct {
	wire.Token
	Link string `json:"link,omitempty"`
}

// Run makes a token.
func (cmd tokensCreateCmd) Run(s *session) error {
	want := wire.PutToken{Name: cmd.Name, Scopes: cmd.Scope}
	if len(cmd.Jobs) > 0 {
		want.Jobs = &cmd.Jobs
	}
	if cmd.Expires != "" {
		at, err := expiry(cmd.Expires, time.Now())
		if err != nil {
			return usage("--expires: %w", err)
		}
		want.ExpiresAt = at
	}
	return ask(s, func(c *client.Client) (made newToken, err error) {
		if made.Token, err = c.CreateToken(s.ctx, want); err != nil || !cmd.Link {
			return made, err
		}
		link, err := c.Link(s.ctx, want.Name)
		if err != nil {
			return made, fmt.Errorf("the token %s is made, its secret is %s, but there is no link: %w", want.Name, made.Secret, err)
		}
		made.Link = link.Link
		return made, nil
	}, func(t *newToken) {
		s.out.line("%s", words.Clean(t.Secret))
		if t.Link != "" {
			s.out.line("%s", words.Clean(t.Link))
		}
		fmt.Fprintln(s.stderr, "Keep it now: it is not shown again.")
	})
}

type tokensLinkCmd struct {
	Name string `arg:"" help:"The token's name."`
}

// Run makes a link.
func (cmd tokensLinkCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Link, error) { return c.Link(s.ctx, cmd.Name) }, func(l *wire.Link) {
		s.out.line("%s", words.Clean(l.Link))
		fmt.Fprintf(s.stderr, "It signs in once, until %s.\n", clock(l.Until))
	})
}

func expiry(text string, now time.Time) (jobs.Time, error) {
	if d, err := jobs.ParseDuration(text); err == nil {
		return jobs.TimeOf(now.Add(d.Std())), nil
	}
	return jobs.ParseTime(text)
}

type tokensRevokeCmd struct {
	Names []string `arg:"" name:"name" help:"Names of tokens."`
}

// Run revokes tokens.
func (cmd tokensRevokeCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	for _, name := range cmd.Names {
		if err := c.RevokeToken(s.ctx, name); err != nil {
			return err
		}
		s.gone("revoked", words.Clean(name))
	}
	return nil
}
