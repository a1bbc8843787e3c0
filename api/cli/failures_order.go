package cli

import (
	"fmt"
	"time"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

type failuresOrderCmd struct {
	ID   string `arg:"" name:"order" help:"The order's id."`
	Wait bool   `help:"Follow it to its end; exit 1 unless all went well."`
}

// Run shows or follows an order.
func (cmd failuresOrderCmd) Run(s *session) error {
	id, err := orderID(cmd.ID)
	if err != nil {
		return err
	}
	if !cmd.Wait {
		return ask(s, func(c *client.Client) (wire.Order, error) { return c.Order(s.ctx, id) }, s.printOrder)
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	return s.followOrder(c, id)
}

type failuresStopCmd struct {
	ID string `arg:"" name:"order" help:"The order's id."`
}

// Run calls off an order.
func (cmd failuresStopCmd) Run(s *session) error {
	id, err := orderID(cmd.ID)
	if err != nil {
		return err
	}
	return ask(s, func(c *client.Client) (wire.Order, error) { return c.StopOrder(s.ctx, id) }, s.printOrder)
}

func orderID(text string) (jobs.ID, error) {
	id, err := jobs.ParseID(text)
	if err != nil {
		return id, usage("%q is not the id of an order", text)
	}
	return id, nil
}

// ordered says that an order was given, and follows it where that is asked for.
func (s *session) ordered(c *client.Client, o wire.Ordered, wait bool) error {
	me := calledAs()
	if wait {
		if !s.out.json {
			fmt.Fprintf(s.stderr, "Order %s for %s. It goes on without this command; %s failures stop %s calls off the rest.\n",
				o.ID, words.CountOf(o.Count, "failure"), me, o.ID)
		}
		return s.followOrder(c, o.ID)
	}
	if s.out.json {
		s.out.value(&o)
		return nil
	}
	s.out.line("Order %s for %s.", o.ID, words.CountOf(o.Count, "failure"))
	if o.Count > 0 {
		s.out.line("Follow it: %s failures order %s --wait. Call off the rest: %s failures stop %s.", me, o.ID, me, o.ID)
	}
	return nil
}

// How often an order is looked at, and how often a line tells of it where it is not written over.
const (
	lookEvery = 500 * time.Millisecond
	tellEvery = 10 * time.Second
)

// followOrder tells how an order goes on until it is over.
func (s *session) followOrder(c *client.Client, id jobs.ID) error {
	tell := &orderTeller{s: s, over: isTerminal(s.stderr)}
	for {
		var o wire.Order
		err := s.persist(func() (came bool, err error) {
			o, err = c.Order(s.ctx, id)
			return false, err
		})
		if err != nil {
			return err
		}
		if o.EndedAt != 0 {
			tell.end()
			return s.orderEnded(&o)
		}
		tell.tell(&o, time.Now())
		select {
		case <-s.ctx.Done():
			tell.end()
			return s.ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// orderTeller tells on stderr how an order stands: on one line of a terminal, else now and then.
type orderTeller struct {
	s    *session
	over bool // a terminal: lines are written over
	last string
	at   time.Time
}

func (t *orderTeller) tell(o *wire.Order, now time.Time) {
	line := words.Order(o)
	if t.s.out.json || line == t.last || !t.over && now.Sub(t.at) < tellEvery {
		return
	}
	if t.last, t.at = line, now; t.over {
		fmt.Fprintf(t.s.stderr, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(t.s.stderr, line)
}

func (t *orderTeller) end() {
	if t.over && t.last != "" {
		fmt.Fprint(t.s.stderr, "\r\x1b[K")
	}
}

// orderEnded prints what came of an order. All went well where each of its failures was dealt with and each
// of its runs succeeded.
func (s *session) orderEnded(o *wire.Order) error {
	if s.out.json {
		s.out.value(o)
	} else {
		s.printOrder(o)
	}
	well := o.State == "done" && o.Skipped == 0 && o.Failed == 0 && o.Cancelled == 0
	if !well {
		return failedError{}
	}
	return nil
}

// printOrder prints how an order stands, why it was called off, and what it has left.
func (s *session) printOrder(o *wire.Order) {
	s.out.line("%s.", words.Order(o))
	if o.Reason != nil {
		s.out.line("It was stopped: %s.", words.Clean(*o.Reason))
	}
	if len(o.Skips) > 0 {
		s.out.line("")
		rows := make([][]string, len(o.Skips))
		for i, skip := range o.Skips {
			rows[i] = []string{skip.ID.String(), words.Short(skip.Reason, 120)}
		}
		s.out.table([]string{"LEFT AS IT WAS", "WHY"}, rows)
	}
	me := calledAs()
	switch stopped := o.State == "stopped"; {
	case o.EndedAt == 0 && stopped:
		fmt.Fprintf(s.stderr, "What has not begun is being cancelled. Follow it: %s failures order %s --wait.\n", me, o.ID)
	case o.EndedAt == 0:
		fmt.Fprintf(s.stderr, "Follow it: %s failures order %s --wait. Call off the rest: %s failures stop %s.\n", me, o.ID, me, o.ID)
	case o.Failed > 0 || stopped:
		fmt.Fprintf(s.stderr, "See what is open: %s failures.\n", me)
	}
}
