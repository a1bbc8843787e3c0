package web

import (
	"net/http"
	"strings"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// onRun is what a page does with the run in its path.
func onRun(do func(v *view, id jobs.ID) error) func(*view) error {
	return func(v *view) error {
		id, err := v.id()
		if err != nil {
			return err
		}
		return do(v, id)
	}
}

// shownRun is the data of the page of a run.
type shownRun struct {
	Run        wire.Run
	Why        string
	Ended      bool
	Zone       string // of its schedule; "": it has none
	Kind       string // of its job; "": the job is gone
	About      string // what its job says of itself
	Line       *timeline
	Earlier    []wire.Attempt // those before the latest, of which there are more than a page shows at once
	Latest     []wire.Attempt
	Checkpoint jobs.Raw // what it has saved; nil: nothing
	Log        shownLog
	Result     bool // it gave one
	Failure    bool // it failed, and so is a failure that somebody deals with
	Again      again
	Refused    *client.Problem // of a requeue
}

// again is a form in which somebody asks for a run with a payload of their own.
type again struct {
	Payload string
	Reset   bool
	Note    string
}

// attemptsShown is how many attempts are in sight at once: the last ones say most.
const attemptsShown = 5

// inSentence is how much of an error the sentence on top says: what was decided about it stands behind it.
const inSentence = 240

func showRun(v *view, id jobs.ID) error {
	data, err := v.readRun(id)
	if err != nil {
		return err
	}
	data.Again.Payload = editable(data.Run.Payload)
	if data.Ended { // else its page follows its log, and with it all of it
		v.Watch = "?run=" + id.String()
	}
	return v.show("run", "Run of "+data.Run.Job, data)
}

func (v *view) readRun(id jobs.ID) (*shownRun, error) {
	run, err := v.API.Run(v.ctx(), id, 0)
	if err != nil {
		return nil, err
	}
	v.Nav = "/runs"
	d := &shownRun{Run: run, Ended: words.Ended(&run), Failure: run.State == jobs.Failed.String()}
	if run.Schedule != nil {
		if s, _, err := v.API.Schedule(v.ctx(), *run.Schedule); err == nil {
			d.Zone = s.Timezone
		}
	}
	job, _, err := v.API.Job(v.ctx(), run.Job)
	if err == nil {
		d.Kind, d.About = job.Kind(), job.Description
	} else if p := problem(err); p == nil || p.Status != http.StatusNotFound && p.Status != http.StatusForbidden {
		return nil, err
	}
	if run.Attempts != nil {
		first := max(0, len(*run.Attempts)-attemptsShown)
		d.Earlier, d.Latest = (*run.Attempts)[:first], (*run.Attempts)[first:]
	}
	d.Result = len(run.Result) > 0 && string(run.Result) != "null"
	at := v.In(d.Zone)
	said := run
	if e := run.Error; e != nil { // which stands below, as long as it is
		short := *e
		short.Message = words.Short(e.Message, inSentence)
		said.Error = &short
	}
	d.Why = at.Why(&said)
	if where := words.InGroup(&run); where != "" {
		d.Why += " It is " + where + "."
	}
	d.Line = timelineOf(&run, at)
	if value, err := v.API.Checkpoint(v.ctx(), id); err == nil {
		d.Checkpoint = value
	} else if p := problem(err); p == nil || p.Status != http.StatusNotFound {
		return nil, err
	}
	if v.refresh() { // the log stands outside of the part that is read anew
		return d, nil
	}
	d.Log, err = v.readLog(v.ctx(), id)
	return d, err
}

func cancelRun(v *view, id jobs.ID) error {
	run, err := v.API.Cancel(v.ctx(), id)
	if err != nil {
		return err
	}
	said := "The run is cancelled."
	if !words.Ended(&run) {
		said = "The attempt is being stopped; then the run is cancelled."
	}
	return v.done("/runs/"+id.String(), said)
}

func runNow(v *view, id jobs.ID) error {
	if _, err := v.API.RunNow(v.ctx(), id); err != nil {
		return err
	}
	return v.done("/runs/"+id.String(), "The run is due now.")
}

func deleteRun(v *view, id jobs.ID) error {
	if err := v.API.DeleteRun(v.ctx(), id); err != nil {
		return err
	}
	return v.done("/runs", "The run "+id.String()+" is deleted.")
}

func dropCheckpoint(v *view, id jobs.ID) error {
	if err := v.API.DropCheckpoint(v.ctx(), id); err != nil {
		return err
	}
	return v.done("/runs/"+id.String(), "The checkpoint is deleted: the next attempt starts from nothing.")
}

// requeueRun runs a run again, with another payload where that was changed.
func requeueRun(v *view, id jobs.ID) error {
	form := again{Payload: v.form("payload"), Reset: v.form("reset") != "", Note: v.form("note")}
	request, refused, err := v.requeueOf(id, form)
	if err != nil {
		return err
	}
	if refused == nil {
		made, err := v.API.Requeue(v.ctx(), id, request)
		if err == nil {
			return v.done("/runs/"+made.ID.String(), requeuedAs(&made))
		}
		if refused = problem(err); refused == nil {
			return err
		}
	}
	data, err := v.readRun(id)
	if err != nil {
		return err
	}
	data.Again, data.Refused = form, refused
	return v.showAs(refused.Status, "run", "Run of "+data.Run.Job, data)
}

func requeuedAs(made *wire.Run) string {
	if made.Duplicate != nil && *made.Duplicate {
		return "A requeue of it is under way already: this run."
	}
	return "It runs again, as this run."
}

// editable is a payload as a form shows it, and gives it back where nobody has changed it.
func editable(payload jobs.Raw) string { return strings.ReplaceAll(indented(payload), "\r\n", "\n") }

// requeueOf is what to ask for. A payload that says the same as the run's own is left out, so that it stays as it is
// byte for byte, and the operation with it. refused: it is no JSON.
func (v *view) requeueOf(id jobs.ID, form again) (r wire.Requeue, refused *client.Problem, err error) {
	r = wire.Requeue{Reset: form.Reset, Note: form.Note}
	if form.Payload == "" {
		return r, nil, nil
	}
	run, err := v.API.Run(v.ctx(), id, 0)
	if err != nil {
		return r, nil, err
	}
	if form.Payload == editable(run.Payload) {
		return r, nil, nil
	}
	if refused = notJSON("payload", form.Payload); refused == nil {
		r.Payload = jobs.Raw(form.Payload)
	}
	return r, refused, nil
}

// notJSON refuses a text that is no JSON, with the place in it; nil: it is JSON.
func notJSON(what, text string) *client.Problem {
	err := jobs.ValidJSON([]byte(text))
	if err == nil {
		return nil
	}
	return &client.Problem{Problem: wire.Problem{
		Title: "The " + what + " is not JSON", Status: http.StatusUnprocessableEntity, Detail: err.Error() + ".",
	}}
}
