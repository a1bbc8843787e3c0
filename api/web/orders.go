package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// orderForm is a form that has many failures dealt with: which, and what is to become of them.
type orderForm struct {
	Do     string // requeue, resolve, ignore
	Which  string // ids: those that were ticked; filter: all that fit
	IDs    []string
	Filter url.Values // with the status
	Note   string
	For    string // ignore: how long
	Rate   string // requeue
	Stop   string // requeue: after so many have failed again
	Patch  string // requeue
}

// triedOrder is the data of the page that shows what an order would do.
type triedOrder struct {
	orderForm
	Count   int
	Samples []triedSample
	Refused *client.Problem
	Pairs   [][2]string // of the filter, for the form
	In      []string    // the filter in words
}

// Form is what the part of a form takes that an order takes besides.
func (t *triedOrder) Form() *orderForm { return &t.orderForm }

type triedSample struct {
	wire.OrderSample
	Changed bool
}

// actOnFailures gives an order to deal with many failures. What it would do is shown first.
func actOnFailures(v *view) error {
	v.Nav = "/failures"
	f := v.orderForm()
	if f.Which == "ids" && len(f.IDs) == 0 {
		return v.done("/failures", "Nothing was selected: select failures, or choose all that fit.")
	}
	if v.form("sure") == "" {
		return v.tryOrder(f, nil)
	}
	chosen, refused := f.chosen()
	if refused == nil {
		made, err := v.order(f, chosen)
		if err == nil {
			return v.done("/failures/orders/"+made.ID.String(), "The order is given: "+words.CountOf(made.Count, "failure")+".")
		}
		if refused = problem(err); refused == nil {
			return err
		}
	}
	return v.tryOrder(f, refused)
}

func (v *view) orderForm() orderForm {
	f := orderForm{
		Do: v.form("do"), Which: v.form("which"), IDs: v.forms("ids"), Filter: url.Values{}, Note: v.form("note"),
		For: v.form("for"), Rate: v.form("rate"), Stop: v.form("stop"), Patch: strings.TrimSpace(v.form("patch")),
	}
	for _, name := range append([]string{"status"}, failureFilters...) {
		if value := v.form("filter." + name); value != "" {
			f.Filter.Set(name, value)
		}
	}
	return f
}

// chosen says which failures it is for.
func (f *orderForm) chosen() (c wire.Chosen, refused *client.Problem) {
	c.Note = f.Note
	if f.Which == "ids" {
		for _, text := range f.IDs {
			id, err := jobs.ParseID(text)
			if err != nil {
				return c, unfit("An id is none", "The page has sent "+strconv.Quote(words.Short(text, 60))+".")
			}
			c.IDs = append(c.IDs, id)
		}
		return c, nil
	}
	given := func(name string) *string {
		if value := f.Filter.Get(name); value != "" {
			return &value
		}
		return nil
	}
	c.Filter = &wire.FailureFilter{
		Job: given("job"), ErrorType: given("error_type"), ErrorKind: given("error_kind"), Fingerprint: given("fingerprint"),
		Status: given("status"), Q: given("q"),
	}
	for name, at := range map[string]*jobs.Time{"since": &c.Filter.Since, "until": &c.Filter.Until} {
		if text := f.Filter.Get(name); text != "" {
			t, err := jobs.ParseTime(text)
			if err != nil {
				return c, unfit("A time is none", "Want "+name+" as 2026-11-29T02:00:00Z.")
			}
			*at = t
		}
	}
	return c, nil
}

func unfit(title, detail string) *client.Problem {
	return &client.Problem{Problem: wire.Problem{Title: title, Status: http.StatusUnprocessableEntity, Detail: detail}}
}

// requeue is the order that the form gives.
func (f *orderForm) requeue(c wire.Chosen) (in wire.RequeueFailures, refused *client.Problem) {
	in.Chosen = c
	if f.Patch != "" {
		if refused = notJSON("patch", f.Patch); refused != nil {
			return in, refused
		}
		in.Patch = jobs.Raw(f.Patch)
	}
	if f.Rate != "" {
		in.Rate = &f.Rate
	}
	if f.Stop != "" {
		n, err := strconv.Atoi(f.Stop)
		if err != nil {
			return in, unfit("The count is none", "Want after how many failures the rest is called off, such as 5.")
		}
		in.StopAfter = &n
	}
	return in, nil
}

// order gives the order.
func (v *view) order(f orderForm, c wire.Chosen) (wire.Ordered, error) {
	switch f.Do {
	case "requeue":
		in, refused := f.requeue(c)
		if refused != nil {
			return wire.Ordered{}, refused
		}
		return v.API.RequeueFailures(v.ctx(), in)
	case "ignore":
		until, refused := v.untilOf(f.For)
		if refused != nil {
			return wire.Ordered{}, refused
		}
		return v.API.IgnoreFailures(v.ctx(), wire.IgnoreFailures{Chosen: c, Until: until})
	case "resolve":
		return v.API.ResolveFailures(v.ctx(), wire.ResolveFailures{Chosen: c})
	}
	return wire.Ordered{}, unfit("There is nothing to do", "Want requeue, resolve or ignore.")
}

// tryOrder shows what an order would do, and what was wrong with it.
func (v *view) tryOrder(f orderForm, refused *client.Problem) error {
	data := &triedOrder{orderForm: f, Refused: refused}
	asked, wrong := v.timesOf(f.Filter) // times as people write them are fixed now
	if wrong != nil {
		data.Refused = unfit("A time is none", wrong[0].Location+": "+wrong[0].Message)
	}
	data.Filter = asked
	for _, name := range append([]string{"status"}, failureFilters...) {
		if value := asked.Get(name); value != "" {
			data.Pairs = append(data.Pairs, [2]string{"filter." + name, value})
			data.In = append(data.In, strings.ReplaceAll(name, "_", " ")+" "+value)
		}
	}
	chosen, bad := data.chosen()
	if data.Refused == nil {
		data.Refused = bad
	}
	if bad == nil {
		tried, err := v.try(data.orderForm, chosen)
		if p := problem(err); p != nil {
			if data.Refused == nil {
				data.Refused = p
			}
		} else if err != nil {
			return err
		}
		data.Count = tried.Count
		for _, s := range tried.Samples {
			data.Samples = append(data.Samples, triedSample{s, s.After != nil && !jobs.EqualJSON(s.Before, s.After)})
		}
	}
	status := http.StatusOK
	if data.Refused != nil {
		status = data.Refused.Status
	}
	return v.showAs(status, "order-try", "Many failures at once", data)
}

func (v *view) try(f orderForm, c wire.Chosen) (wire.OrderTried, error) {
	switch f.Do {
	case "ignore":
		return v.API.TryIgnore(v.ctx(), wire.IgnoreFailures{Chosen: c})
	case "resolve":
		return v.API.TryResolve(v.ctx(), wire.ResolveFailures{Chosen: c})
	}
	in, refused := f.requeue(c)
	if refused != nil {
		return wire.OrderTried{}, refused
	}
	return v.API.TryRequeue(v.ctx(), in)
}

// shownOrder is the data of the page of an order.
type shownOrder struct {
	wire.Order
	Says string
}

func showOrder(v *view, id jobs.ID) error {
	o, err := v.API.Order(v.ctx(), id)
	if err != nil {
		return err
	}
	v.Nav = "/failures"
	if o.EndedAt == 0 {
		v.Watch = "?"
	}
	return v.show("order", "Order to "+o.Action+" failures", shownOrder{Order: o, Says: words.Order(&o)})
}

func stopOrder(v *view, id jobs.ID) error {
	if _, err := v.API.StopOrder(v.ctx(), id); err != nil {
		return err
	}
	return v.done("/failures/orders/"+id.String(), "What had not begun is called off.")
}
