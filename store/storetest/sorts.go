package storetest

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// manySorts makes 200 runs of all states, jobs, labels and errors.
func manySorts(w *world, random *rand.Rand) (made []jobs.ID) {
	names := []string{"mail-a", "mail-b", "script.c"}
	labels := []map[string]string{
		nil, {"team": "data"}, {"team": "Data"}, {"team": "", "b": "x"}, {`"quo\te`: `%_'"\`}, {"b": "team"}, {"ü<>&": "\u2028"},
	}
	for i := range 200 {
		w.tick(time.Duration(random.IntN(3)) * time.Millisecond)
		sub := w.sub(names[random.IntN(3)])
		r := sub.Run
		r.Labels, r.CreatedBy = labels[random.IntN(len(labels))], []string{"", "shop", "ops"}[random.IntN(3)]
		r.Trigger = []jobs.Trigger{jobs.TriggerAPI, jobs.TriggerCLI}[random.IntN(2)]
		if random.IntN(3) == 0 {
			r.CorrelationID = "order-" + strconv.Itoa(i%5)
		} else if i > 0 && random.IntN(3) == 0 {
			r.CorrelationID = made[random.IntN(i)].String()
		}
		if random.IntN(6) == 0 {
			dueIn(time.Hour)(&sub)
		}
		_, err := w.Enqueue(w.ctx, []store.Submission{sub})
		w.check(err)
		made = append(made, r.ID)
		for _, l := range w.take(random.IntN(2)) {
			w.endSomehow(l, random)
		}
		if random.IntN(10) == 0 {
			_, _ = w.Cancel(w.ctx, made[random.IntN(len(made))], w.by())
		}
	}
	return made
}

func (w *world) endSomehow(l store.Lease, random *rand.Rand) {
	w.Helper()
	failure := &jobs.Failure{
		Kind:    []jobs.FailureKind{jobs.FailHTTP, jobs.FailExit, jobs.FailTimeout}[random.IntN(3)],
		Type:    []string{"Unavailable", "ValueError", "exit"}[random.IntN(3)],
		Message: []string{"503 from upstream", "100% of disk_1 'full'", `a\b "c"`}[random.IntN(3)],
	}
	f := w.succeeded(l)
	switch random.IntN(5) {
	case 0, 1:
		f = w.failed(l)
		f.Transition.Error = failure
	case 2:
		f = w.retrying(l, time.Hour)
		f.Transition.Error = failure
	case 3:
		return
	}
	f.Queue = []string{"default", "slow", "moved"}[random.IntN(3)]
	w.apply(f)
}

func singleFilters(w *world, made []jobs.ID, all map[jobs.ID]*jobs.Run) []filter {
	fs := []filter{{"none", func(*store.RunFilter) {}, func(*jobs.Run) bool { return true }}}
	add := func(name string, set func(*store.RunFilter), ok func(*jobs.Run) bool) {
		fs = append(fs, filter{name, set, ok})
	}
	texts := func(kind string, field func(*store.RunFilter) *string, of func(*jobs.Run) string, values ...string) {
		for _, v := range values {
			add(kind+" "+v, func(f *store.RunFilter) { *field(f) = v },
				func(r *jobs.Run) bool { return of(r) == v })
		}
	}
	texts("job", func(f *store.RunFilter) *string { return &f.Job },
		func(r *jobs.Run) string { return r.Job }, "mail-a", "mail-b", "nobody")
	texts("queue", func(f *store.RunFilter) *string { return &f.Queue },
		func(r *jobs.Run) string { return r.Queue }, "default", "slow", "moved", "none")
	texts("correlation", func(f *store.RunFilter) *string { return &f.CorrelationID },
		func(r *jobs.Run) string { return r.CorrelationID }, "order-1", "ORDER-1", "order",
		made[3].String(), all[made[9]].CorrelationID)
	texts("kind", func(f *store.RunFilter) *string { return &f.ErrorKind }, errorKind, "http",
		"timeout", "HTTP")
	texts("type", func(f *store.RunFilter) *string { return &f.ErrorType }, errorType, "ValueError",
		"valueerror")
	texts("trigger", func(f *store.RunFilter) *string { return &f.Trigger },
		func(r *jobs.Run) string { return string(r.Trigger) }, "api", "cli", "requeue")
	texts("creator", func(f *store.RunFilter) *string { return &f.Creator },
		func(r *jobs.Run) string { return r.CreatedBy }, "shop", "nobody")
	add("schedule x", func(f *store.RunFilter) { f.Schedule = "x" },
		func(*jobs.Run) bool { return false })
	for _, states := range [][]jobs.State{{jobs.Failed}, {jobs.Running}, {jobs.Queued}, {jobs.Scheduled, jobs.Retrying}, {jobs.Succeeded, jobs.Cancelled, jobs.Failed}} {
		add("state "+fmt.Sprint(states), func(f *store.RunFilter) { f.States = states },
			func(r *jobs.Run) bool { return slices.Contains(states, r.State) })
	}
	for _, label := range [][2]string{{"team"}, {"team", "data"}, {"b", "x"}, {`"quo\te`, `%_'"\`}, {"%", ""}, {"t_am", ""}, {"ü<>&", "\u2028"}, {"nobody", ""}} {
		add("label "+label[0], func(f *store.RunFilter) { f.LabelKey = label[0] },
			func(r *jobs.Run) bool { _, ok := r.Labels[label[0]]; return ok })
		add("label "+label[0]+"="+label[1],
			func(f *store.RunFilter) { f.LabelKey, f.LabelValue = label[0], &label[1] },
			func(r *jobs.Run) bool { v, ok := r.Labels[label[0]]; return ok && v == label[1] })
	}
	for _, patterns := range [][]string{{}, {"mail-*"}, {"*"}, {"nobody", "script.c"}, {"mail"}, {"["}} {
		add(
			"allowed "+fmt.Sprint(patterns),
			func(f *store.RunFilter) { f.Allowed = patterns },
			func(r *jobs.Run) bool {
				return slices.ContainsFunc(patterns,
					func(p string) bool { ok, _ := path.Match(p, r.Job); return ok })
			},
		)
	}
	for _, at := range []jobs.Time{1, start, idTime(made[50]), idTime(made[150]), w.now.Add(time.Hour)} {
		add("since "+at.String(), func(f *store.RunFilter) { f.Since = at },
			func(r *jobs.Run) bool { return idTime(r.ID) >= at })
		add("until "+at.String(), func(f *store.RunFilter) { f.Until = at },
			func(r *jobs.Run) bool { return idTime(r.ID) <= at })
	}
	return fs
}

func idTime(id jobs.ID) jobs.Time { return jobs.Time(id.Seq() >> 12) }

func errorKind(r *jobs.Run) string {
	if r.Error == nil {
		return ""
	}
	return string(r.Error.Kind)
}

func errorType(r *jobs.Run) string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Type
}
