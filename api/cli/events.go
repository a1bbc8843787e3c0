package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type eventsCmd struct {
	Follow    bool     `short:"f" help:"Go on with what comes, oldest first, until interrupted."`
	Type      []string `placeholder:"TYPE" help:"Of one of these types, such as dependency.opened."`
	After     *int64   `placeholder:"ID" help:"Only what comes after this event; 0: all that is kept."`
	pageFlags `embed:"" set:"limit=50"`
}

// Run lists events, or follows them.
func (cmd eventsCmd) Run(s *session) error {
	filter := client.EventFilter{Types: cmd.Type}
	if cmd.After != nil {
		filter.After = strconv.FormatInt(*cmd.After, 10)
	}
	if cmd.Follow {
		return cmd.follow(s, filter)
	}
	return ask(s, func(c *client.Client) (wire.Events, error) {
		return c.Events(s.ctx, filter, cmd.page())
	}, func(list *wire.Events) {
		rows := make([][]string, len(list.Items))
		for i := range list.Items {
			rows[i] = eventRow(&list.Items[i])
		}
		s.out.table([]string{"ID", "AT", "TYPE", "SUBJECT", "WHAT"}, rows)
		s.more(list.Next)
	})
}

func (cmd eventsCmd) follow(s *session, filter client.EventFilter) error {
	if cmd.Cursor != "" {
		return usage("--cursor goes on with a list: with -f give --after")
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	if filter.After == "" {
		if filter.After, err = cmd.tail(s, c, filter); err != nil {
			return err
		}
	}
	remark := func(text string) { fmt.Fprintln(s.stderr, words.Clean(text)) }
	each := func(e jobs.CloudEvent) error {
		s.printEvent(&e)
		return nil
	}
	return s.persist(func() (came bool, err error) {
		filter.After, err = c.FollowEvents(s.ctx, filter, each, remark, nil)
		return errors.Is(err, client.ErrCut), err
	})
}

// tail prints the newest events, oldest first, and gives behind which the stream goes on.
func (cmd eventsCmd) tail(s *session, c *client.Client, filter client.EventFilter) (string, error) {
	list, err := c.Events(s.ctx, filter, cmd.page())
	if err != nil {
		return "", err
	}
	for i := len(list.Items) - 1; i >= 0; i-- {
		s.printEvent(&list.Items[i])
	}
	switch {
	case len(list.Items) > 0:
		return list.Items[0].ID, nil
	case list.Next == nil:
		return "0", nil // what is kept from here on is new
	}
	return "", nil
}

// printEvent prints an event on a line of its own.
func (s *session) printEvent(e *jobs.CloudEvent) {
	if s.out.json {
		s.out.value(e)
		return
	}
	row := eventRow(e)
	for i := range row {
		row[i] = words.Clean(row[i])
	}
	s.out.line("%6s  %s  %-17s  %-20s  %s", row[0], row[1], row[2], row[3], row[4])
}

func eventRow(e *jobs.CloudEvent) []string {
	return []string{e.ID, clock(e.Time), e.Type, e.Subject, words.Short(eventText(e), 120)}
}

// eventText says what happened.
func eventText(e *jobs.CloudEvent) string {
	switch e.Type {
	case jobs.EventDependencyOpened:
		var d jobs.DependencyOpened
		if jobs.DecodeLenient(e.Data, &d) == nil {
			return fmt.Sprintf("held: %s; the next probe comes at %s", d.Reason, clock(d.Until))
		}
	case jobs.EventDependencyClosed:
		var d jobs.DependencyClosed
		if jobs.DecodeLenient(e.Data, &d) == nil {
			return fmt.Sprintf("flows again: %s; it was held for %s", d.Reason, words.Took(d.OpenedAt, e.Time))
		}
	case jobs.EventScheduleMissed:
		var d jobs.ScheduleMissed
		if jobs.DecodeLenient(e.Data, &d) == nil {
			return missedText(&d)
		}
	case jobs.EventScheduleLate:
		var d jobs.ScheduleLate
		if jobs.DecodeLenient(e.Data, &d) == nil {
			return fmt.Sprintf("late: %s; run %s is %s", d.Reason, d.Run, d.State)
		}
	case jobs.EventRunFailed, jobs.EventRunRecovered, jobs.EventRunSucceeded, jobs.EventAlertUndelivered:
		return runEventText(e)
	case jobs.EventGroupPartial:
		var d jobs.GroupPartial
		if jobs.DecodeLenient(e.Data, &d) == nil {
			return partialText(&d)
		}
	case jobs.EventRunLong, jobs.EventRunInterrupted, jobs.EventQueueStuck, jobs.EventFailuresMany, jobs.EventDiskLow,
		jobs.EventKeepExceeded, jobs.EventBackupFailed, jobs.EventBackupStale:
		var d struct {
			Job    string `json:"job"`
			Reason string `json:"reason"`
		}
		if jobs.DecodeLenient(e.Data, &d) == nil && d.Reason != "" {
			if d.Job != "" && e.Type != jobs.EventQueueStuck { // which names it in its reason
				return "job " + d.Job + ": " + d.Reason
			}
			return d.Reason
		}
	}
	return string(e.Data)
}

// runEventText says how a run has ended.
func runEventText(e *jobs.CloudEvent) string {
	var d struct {
		Job      string           `json:"job"`
		Alert    string           `json:"alert"`
		Error    *jobs.EventError `json:"error"`
		Attempts int              `json:"attempts"`
		InARow   int              `json:"in_a_row"`
		Count    int              `json:"count"`
		Test     bool             `json:"test"`
	}
	if jobs.DecodeLenient(e.Data, &d) != nil {
		return string(e.Data)
	}
	why := ""
	if d.Error != nil {
		why = ": " + words.Error(&jobs.Failure{Kind: d.Error.Kind, Type: d.Error.Type, Message: d.Error.Message})
	}
	switch {
	case d.Test:
		return strings.TrimSpace(d.Job + " TEST, made up" + why)
	case e.Type == jobs.EventRunSucceeded:
		return d.Job + " succeeded"
	case e.Type == jobs.EventRunRecovered && d.InARow > 0:
		return fmt.Sprintf("%s is well again: %s in a row had failed", d.Job, words.CountOf(d.InARow, "run"))
	case e.Type == jobs.EventRunRecovered:
		return d.Job + " is well again"
	case e.Type == jobs.EventAlertUndelivered:
		return fmt.Sprintf("alert %s told nobody, by %s%s", d.Alert, d.Job, why)
	case d.Count > 1:
		return fmt.Sprintf("%s failed %d times%s", d.Job, d.Count, why)
	case d.Attempts == 1 || d.Attempts == 0:
		return d.Job + " failed" + why
	}
	return fmt.Sprintf("%s failed after %d attempts%s", d.Job, d.Attempts, why)
}

// missedText says which ticks were skipped after an outage.
func missedText(d *jobs.ScheduleMissed) string {
	text := "the tick of " + clock(d.FirstAt) + " was missed"
	if d.Count > 1 {
		text = fmt.Sprintf("%d ticks from %s to %s were missed", d.Count, clock(d.FirstAt), clock(d.LastAt))
	}
	switch d.CaughtUp {
	case 0:
		return text + "; none is caught up"
	case 1:
		return text + "; 1 other is caught up"
	}
	return fmt.Sprintf("%s; %d others are caught up", text, d.CaughtUp)
}
