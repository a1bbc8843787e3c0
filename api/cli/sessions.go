package cli

import (
	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
)

type sessionsCmd struct {
	List   sessionsListCmd   `cmd:"" default:"withargs" help:"List browsers that have signed in, and links by which one may."`
	Revoke sessionsRevokeCmd `cmd:"" help:"End sessions, or take links back."`
}

type sessionsListCmd struct {
	pageFlags `embed:"" set:"limit=1000"`
}

// Run lists sessions.
func (cmd sessionsListCmd) Run(s *session) error {
	return ask(s, func(c *client.Client) (wire.Sessions, error) {
		return c.Sessions(s.ctx, cmd.page())
	}, func(list *wire.Sessions) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			v := &list.Items[i]
			what := "session"
			if v.Link {
				what = "link"
			}
			rows[i] = []string{v.ID, what, v.Token, v.From, words.Short(v.Agent, 40), clock(v.CreatedAt), clock(v.LastUsed), clock(v.Until)}
		}
		s.out.table([]string{"ID", "WHAT", "TOKEN", "FROM", "BROWSER", "CREATED", "LAST USED", "UNTIL"}, rows)
		s.more(list.Next)
	})
}

type sessionsRevokeCmd struct {
	IDs []string `arg:"" name:"id" help:"Ids of sessions."`
}

// Run ends sessions.
func (cmd sessionsRevokeCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	for _, id := range cmd.IDs {
		if err := c.EndSession(s.ctx, id); err != nil {
			return err
		}
		s.gone("ended", words.Clean(id))
	}
	return nil
}
