package cli

import (
	"net/url"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type auditCmd struct {
	Actor     string `placeholder:"WHO" help:"Of one actor: \"token NAME\", \"sign-in NAME\", \"schedule NAME\" or server."`
	Action    string `placeholder:"ACTION" help:"Of one action, such as put, delete, pause or cancel."`
	Kind      string `placeholder:"KIND" help:"On things of one kind, such as job, run or token."`
	Name      string `placeholder:"NAME" help:"On one thing: its name, the id of a run or an order."`
	Since     string `placeholder:"TIME" help:"From a time on (RFC 3339), or how long ago, such as 24h."`
	Until     string `placeholder:"TIME" help:"Up to a time (RFC 3339), or how long ago, such as 1h."`
	Changes   bool   `short:"c" help:"Print what changed below each entry."`
	pageFlags `embed:"" set:"limit=50"`
}

// Run lists who changed what.
func (cmd auditCmd) Run(s *session) error {
	filter := url.Values{}
	for name, value := range map[string]string{"actor": cmd.Actor, "action": cmd.Action, "kind": cmd.Kind, "name": cmd.Name} {
		if value != "" {
			filter.Set(name, value)
		}
	}
	for name, value := range map[string]string{"since": cmd.Since, "until": cmd.Until} {
		if value == "" {
			continue
		}
		at, err := instant(value, time.Now())
		if err != nil {
			return usage("--%s: %w", name, err)
		}
		filter.Set(name, at.String())
	}
	return ask(s, func(c *client.Client) (wire.Audit, error) {
		return c.Audit(s.ctx, filter, cmd.page())
	}, func(list *wire.Audit) {
		if cmd.Changes {
			for i := range list.Items {
				s.printEntry(&list.Items[i])
			}
			s.more(list.Next)
			return
		}
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			e := &list.Items[i]
			rows[i] = []string{clock(e.At), e.Actor, e.Action, e.Kind, e.Name, words.Short(words.Changed(e), 60)}
		}
		s.out.table([]string{"AT", "WHO", "DID", "KIND", "NAME", "WHAT"}, rows)
		s.more(list.Next)
	})
}

// printEntry prints an entry, with the difference below it.
func (s *session) printEntry(e *wire.AuditEntry) {
	note := ""
	if e.Note != "" {
		note = ": " + e.Note
	}
	s.out.line("%s", words.Clean(clock(e.At)+"  "+e.Actor+"  "+e.Action+" "+e.Kind+" "+e.Name+note))
	s.out.changes(e.Changes)
}

// instant reads a time, or how long ago it was.
func instant(text string, now time.Time) (jobs.Time, error) {
	if d, err := jobs.ParseDuration(text); err == nil {
		return jobs.TimeOf(now.Add(-d.Std())), nil
	}
	return jobs.ParseTime(text)
}
