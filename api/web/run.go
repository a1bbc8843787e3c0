package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

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
	Line       *timeline
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

func showRun(v *view, id jobs.ID) error {
	data, err := v.readRun(id)
	if err != nil {
		return err
	}
	data.Again.Payload = indented(data.Run.Payload)
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
	d.Result = len(run.Result) > 0 && string(run.Result) != "null"
	at := v.In(d.Zone)
	d.Why = at.Why(&run)
	if where := words.InGroup(&run); where != "" {
		d.Why += " It is " + where + "."
	}
	d.Line = timelineOf(&run, at)
	if value, err := v.API.Checkpoint(v.ctx(), id); err == nil {
		d.Checkpoint = value
	} else if p := problem(err); p == nil || p.Status != http.StatusNotFound {
		return nil, err
	}
	d.Log, err = v.readLog(v.ctx(), id)
	return d, err
}

// shownLog is the end of what a run has printed, as far as a page holds it.
type shownLog struct {
	Text string
	Cut  int64 // bytes before it
	At   int64 // where what comes next begins
}

// maxShownLog is how much of a log stands in a page; the rest can be downloaded.
const maxShownLog = 64 << 10

func (v *view) readLog(ctx context.Context, id jobs.ID) (shownLog, error) {
	tail := &tailOf{limit: maxShownLog}
	if err := v.API.Log(ctx, id, tail); err != nil {
		return shownLog{}, err
	}
	var text plainer
	return shownLog{
		Text: text.plain(string(tail.kept())), Cut: tail.all - int64(len(tail.kept())), At: tail.all,
	}, nil
}

// tailOf keeps the end of what is written to it.
type tailOf struct {
	limit int
	all   int64
	buf   []byte
}

func (t *tailOf) Write(p []byte) (int, error) {
	t.all += int64(len(p))
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*t.limit {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.limit:]...)
	}
	return len(p), nil
}

func (t *tailOf) kept() []byte { return t.buf[max(0, len(t.buf)-t.limit):] }

// downloadLog gives the log as the run printed it.
func downloadLog(v *view, id jobs.ID) error {
	if _, err := v.API.Run(v.ctx(), id, 0); err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+id.String()+`.log"`)
	return v.API.Log(v.ctx(), id, v.w)
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
	if form.Payload == indented(run.Payload) {
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

// timeline draws the attempts of a run, and the waits between them, along the time they took.
type timeline struct {
	Width, Height int
	Bars          []bar
	From, To      string
}

// bar is a stretch of a time line: an attempt, or a wait where Class is wait.
type bar struct {
	X, W  string
	Class string
	Label string
}

const lineWidth = 1000

func timelineOf(run *wire.Run, at words.At) *timeline {
	if run.Attempts == nil || len(*run.Attempts) == 0 {
		return nil
	}
	begin, end := run.CreatedAt, run.FinishedAt
	if first := (*run.Attempts)[0].StartedAt; run.RunAt > begin && run.RunAt <= first { // a delay says nothing
		begin = run.RunAt
	}
	if end == 0 {
		end = max(jobs.TimeOf(at.Now), run.NextAttemptAt)
	}
	whole := float64(max(1, end-begin))
	t := &timeline{Width: lineWidth, Height: 34, From: at.Clock(begin), To: at.Clock(end)}
	place := func(from, to jobs.Time, class, label string) {
		x := float64(from-begin) / whole * lineWidth
		w := max(3, float64(to-from)/whole*lineWidth) // what was short is still seen
		x = min(x, lineWidth-w)
		t.Bars = append(t.Bars, bar{fmt.Sprintf("%.1f", x), fmt.Sprintf("%.1f", w), class, label})
	}
	before := begin
	for i := range *run.Attempts {
		a := &(*run.Attempts)[i]
		over, outcome := a.FinishedAt, "running"
		if over == 0 {
			over = jobs.TimeOf(at.Now)
		}
		if a.Outcome != nil {
			outcome = *a.Outcome
		}
		if a.StartedAt > before {
			place(before, a.StartedAt, "wait", "waited "+words.Roundly(a.StartedAt.Sub(before)))
		}
		place(a.StartedAt, over, outcome, "attempt "+strconv.Itoa(a.Number)+" "+outcome+", "+words.Roundly(over.Sub(a.StartedAt)))
		before = over
	}
	if run.FinishedAt == 0 && run.NextAttemptAt > before {
		place(before, run.NextAttemptAt, "wait", "waits until "+at.Clock(run.NextAttemptAt))
	}
	return t
}
