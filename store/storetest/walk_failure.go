package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// walkDeal resolves or ignores a run, failed or not.
func (w *walker) walkDeal() {
	id := w.anyRun()
	if failed := w.model.sorted(func(r *modelRun) bool { return r.Dealt != nil }); len(failed) > 0 && w.IntN(8) > 0 {
		id = failed[w.IntN(len(failed))].ID
	}
	d := store.Dealing{Status: jobs.FailureResolved, Note: w.either("", "", "seen", "known")}
	if w.IntN(2) == 0 {
		d.Status = jobs.FailureIgnored
		if w.IntN(2) == 0 {
			d.Until = w.now.Add(time.Duration(w.IntN(48)) * time.Hour)
		}
	}
	changed, wantErr := w.model.deal(id, d, w.by())
	w.sameErr(w.Deal(w.ctx, id, d, w.by()), wantErr)
	if changed {
		w.wantAudit(map[jobs.FailureStatus]string{jobs.FailureResolved: "resolve", jobs.FailureIgnored: "ignore"}[d.Status], id.String())
	}
}

func (w *walker) walkReopenIgnored() {
	want := w.model.reopenIgnored(w.now)
	n, err := w.ReopenIgnored(w.ctx, w.now)
	w.check(err)
	equal(w.world, "reopened", n, want)
}

// compareFailures compares the failures of each status and those that are alike.
func (w *walker) compareFailures() {
	w.Helper()
	for status := jobs.FailureOpen; status <= jobs.FailureWillRetry; status++ {
		want := w.model.failures(status, "")
		got := allFailures(w.world, store.FailureFilter{Status: status}, 1+w.IntN(50))
		equal(w.world, fmt.Sprint("failures that are ", status), failureIDs(got), modelIDs(want))
		for i, f := range got {
			d := want[i].dealing
			if d.at == 0 {
				d.by, d.until = "", 0
			}
			equal(w.world, "what is said of "+f.Run.ID.String(), words(f.Status, f.Note, f.By, f.DealtAt, f.Until),
				words(status, d.note, d.by, d.at, d.until))
		}
	}
	open := w.model.failures(jobs.FailureOpen, "")
	n, err := w.OpenFailures(w.ctx, 5)
	w.check(err)
	equal(w.world, "open ones", n, min(5, len(open)))
	w.compareAlike()
	w.compareOrders()
}

func (w *walker) compareAlike() {
	w.Helper()
	list, next, err := w.FailureGroups(w.ctx, store.FailureGroupFilter{}, store.Page{Limit: 1000})
	w.check(err)
	equal(w.world, "failure groups", words(len(list), next), words(len(w.model.alike), ""))
	for _, g := range list {
		want := w.model.alike[g.Fingerprint]
		status, until := w.model.status(g.Fingerprint), jobs.Time(0)
		if status == jobs.FailureIgnored {
			until = want.until
		}
		equal(w.world, "failure group", words(g.Count, g.Open, g.LastAt, g.Message, g.Status, g.Until), words(want.count,
			len(w.model.failures(jobs.FailureOpen, g.Fingerprint)), want.last, want.message, status, until))
		newest := w.model.sorted(func(r *modelRun) bool {
			return r.Dealt != nil && jobs.Fingerprint(r.Job, r.Error) == g.Fingerprint
		})
		last := jobs.NilID
		if len(newest) > 0 {
			last = newest[len(newest)-1].ID
		}
		equal(w.world, "newest run of a group", g.LastRun, last)
	}
}

func modelIDs(list []*modelRun) (ids []jobs.ID) {
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}
