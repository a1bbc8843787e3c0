package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var saveClaims = []claim{
	{"ApplyMakesWhatBearsTheSet", func(w *world) {
		out := w.applySet("team", webhook("a", "", ""), script("b", "echo"))
		equal(w, "saved", savedText(out), "created a of team, created b of team")
		equal(w, "before", out.Jobs[0].Before, (*jobs.Job)(nil))
		j, err := w.Job(w.ctx, "a")
		w.check(err)
		equal(w, "set", j.Set, "team")
	}},
	{"UnchangedApplyWritesNothing", unchangedApply},
	{"ApplyTakesInWhatBearsNoSet", func(w *world) {
		w.jobs("a")
		before, err := w.Job(w.ctx, "a")
		w.check(err)
		w.tick(time.Second)
		out := w.applySet("team", webhook("a", "", ""))
		equal(w, "saved", savedText(out), "same a of team")
		equal(w, "before", words(out.Jobs[0].Before.Set, out.Jobs[0].Job.Revision), words("", before.Revision))
		equal(w, "actions", actions(audit(w)), "adopt a , put a ")
		equal(w, "change", differences(audit(w)[0]), `set: → "team"`)
		w.put(webhook("b", "", ""))
		equal(w, "saved", savedText(w.applySet("team", webhook("b", "2", ""))), "changed b of team")
	}},
	{"PutAloneKeepsTheSet", func(w *world) {
		w.applySet("team", webhook("a", "", ""))
		equal(w, "set", w.put(webhook("a", "2", "")).Job.Set, "team")
	}},
	{"NameOfAnotherSetIsRefused", func(w *world) {
		w.applySet("one", webhook("a", "", ""))
		w.applyPolicies("one", policy("p", "1"))
		// Also where nothing else would change, and in a dry run.
		for _, path := range []string{"", "2"} {
			for _, dry := range []bool{true, false} {
				_, err := w.Save(w.ctx, store.Changes{
					Set: "two", DryRun: dry, Jobs: []store.PutJob{
						{Job: webhook("b", "", "")}, {Job: webhook("a", path, "")},
					},
					Documents: []store.PutDocument{policy("p", "1")},
				}, w.by())
				w.wantErr(err, store.ErrSet)
				equal(w, "faults", faultsOf(err), []string{
					"policy 0: policy p belongs to the set one", "job 1: job a belongs to the set one",
				})
			}
		}
		_, err := w.Job(w.ctx, "b")
		w.wantErr(err, store.ErrNotFound)
	}},
	{"DeletedJobBearsNoSet", func(w *world) {
		w.applySet("one", webhook("a", "", ""))
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		equal(w, "set", w.put(webhook("a", "", "")).Job.Set, "")
		equal(w, "saved", savedText(w.applySet("two", webhook("a", "", ""))), "same a of two")
	}},
	{"PruneRemovesWhatTheSetHoldsNoMore", pruneSet},
	{"PruneOfNothingWritesNothing", func(w *world) {
		w.applySet("team", webhook("a", "", ""))
		w.jobs("other")
		before := audit(w)
		c := store.Changes{
			Set: "team", Prune: true, Jobs: []store.PutJob{{Job: webhook("a", "", "")}},
		}
		out, err := w.Save(w.ctx, c, w.by())
		w.check(err)
		equal(w, "removed", out.Removed, []store.Removed{})
		equal(w, "audit", audit(w), before)
	}},
	{"DryRunSaysWhatWouldBecomeOfItAndChangesNothing", dryRun},
	{"RevisionDemandedOfAnApply", func(w *world) {
		w.applyPolicies("", policy("p", "1"))
		p := policy("p", "2")
		p.IfMatch = new(int64(2))
		_, err := w.Save(w.ctx, store.Changes{Documents: []store.PutDocument{p}}, w.by())
		w.wantErr(err, store.ErrStale)
		p.IfMatch = new(int64(1))
		_, err = w.Save(w.ctx, store.Changes{Documents: []store.PutDocument{p}}, w.by())
		w.check(err)
		p.IfMatch, p.Create = nil, true
		_, err = w.Save(w.ctx, store.Changes{Documents: []store.PutDocument{p}}, w.by())
		w.wantErr(err, store.ErrExists)
	}},
}

// applySet applies jobs as a file of a set does.
func (w *world) applySet(set string, list ...*jobs.Job) store.Saved {
	w.Helper()
	c := store.Changes{Set: set}
	for _, j := range list {
		c.Jobs = append(c.Jobs, store.PutJob{Job: j})
	}
	out, err := w.Save(w.ctx, c, w.by())
	w.check(err)
	return out
}

func (w *world) applyPolicies(set string, list ...store.PutDocument) store.Saved {
	w.Helper()
	out, err := w.Save(w.ctx, store.Changes{Set: set, Documents: list}, w.by())
	w.check(err)
	return out
}

// policy is a document that allows n attempts.
func policy(name, n string) store.PutDocument {
	return store.PutDocument{
		Kind: store.KindPolicy, Name: name, Doc: jobs.Raw(`{"max_attempts":` + n + `}`),
	}
}

func savedText(out store.Saved) string {
	var all []string
	add := func(created, changed bool, name, set string) {
		word := "same"
		if changed {
			word = "changed"
		}
		if created {
			word = "created"
		}
		all = append(all, word+" "+name+" of "+set)
	}
	for _, d := range out.Documents {
		add(d.Created, d.Changed, d.Document.Name, d.Document.Set)
	}
	for _, j := range out.Jobs {
		add(j.Created, j.Changed, j.Job.Name, j.Job.Set)
	}
	for _, r := range out.Removed {
		all = append(all, fmt.Sprintf("removed %s %s with %d runs", r.Kind, r.Name, r.Runs))
	}
	return strings.Join(all, ", ")
}

// faultsOf are the joined faults of entries, with their places.
func faultsOf(err error) (all []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{fmt.Sprint(err)}
	}
	for _, e := range joined.Unwrap() {
		entry := (*store.EntryError)(nil)
		if errors.As(e, &entry) {
			all = append(all, fmt.Sprintf("%s %d: %v", entry.Kind, entry.Index, entry.Err))
		} else {
			all = append(all, e.Error())
		}
	}
	return all
}

func unchangedApply(w *world) {
	c := store.Changes{
		Set: "team", Documents: []store.PutDocument{policy("p", "1")},
		Jobs: []store.PutJob{{Job: webhook("a", "", "")}, {Job: script("b", "echo")}},
	}
	first, err := w.Save(w.ctx, c, w.by())
	w.check(err)
	w.pause("a", true, "why")
	before := audit(w)
	w.tick(time.Hour)
	for _, dry := range []bool{false, true} {
		c.DryRun = dry
		out, err := w.Save(w.ctx, c, w.by())
		w.check(err)
		equal(w, "saved", savedText(out), "same p of team, same a of team, same b of team")
		equal(w, "documents", diff(out.Documents[0].Document, first.Documents[0].Document), "")
		equal(w, "jobs", diff(out.Jobs[1].Job, first.Jobs[1].Job)+diff(out.Jobs[1].Before, first.Jobs[1].Job), "")
		equal(w, "pause is left alone", out.Jobs[0].Job.Paused, true)
	}
	equal(w, "audit", audit(w), before)
}

func pruneSet(w *world) {
	w.applySet("team", webhook("a", "", ""), webhook("b", "", ""))
	w.applyPolicies("team", policy("p", "1"), policy("q", "1"))
	w.applySet("other", webhook("c", "", ""))
	w.jobs("alone")
	ids := w.enqueueN(2, "b")
	w.tick(time.Second)
	out, err := w.Save(w.ctx, store.Changes{
		Set: "team", Prune: true, Jobs: []store.PutJob{{Job: webhook("a", "", "")}},
		Documents: []store.PutDocument{policy("p", "1")},
	}, w.by())
	w.check(err)
	equal(w, "saved", savedText(out),
		"same p of team, same a of team, removed job b with 2 runs, removed policy q with 0 runs")
	for _, id := range ids {
		equal(w, "state", w.state(id), jobs.Cancelled)
	}
	_, err = w.Job(w.ctx, "b")
	w.wantErr(err, store.ErrNotFound)
	_, err = w.Document(w.ctx, store.KindPolicy, "q")
	w.wantErr(err, store.ErrNotFound)
	for _, name := range []string{"a", "c", "alone"} {
		_, err := w.Job(w.ctx, name)
		w.check(err)
	}
	list := audit(w)
	note := "pruned: the set team does not hold it any more"
	equal(w, "actions", actions(list[:2]), "delete q "+note+", delete b "+note)
	equal(w, "what was deleted", words(list[0].Kind, differences(list[0])), `policy max_attempts: 1 →`)
}

func dryRun(w *world) {
	w.applySet("team", webhook("a", "", ""), webhook("b", "", ""))
	id := w.enqueue("b").ID
	before := audit(w)
	c := store.Changes{
		Set: "team", Prune: true, DryRun: true, Documents: []store.PutDocument{policy("p", "1")},
		Jobs: []store.PutJob{{Job: webhook("a", "2", "")}, {Job: webhook("new", "", "")}},
	}
	out, err := w.Save(w.ctx, c, w.by())
	w.check(err)
	would := savedText(out)
	equal(w, "would", would,
		"created p of team, changed a of team, created new of team, removed job b with 1 runs")
	equal(w, "before, after", words(out.Jobs[0].Before.Webhook.URL, out.Jobs[0].Job.Webhook.URL,
		out.Jobs[0].Job.Version), "http://127.0.0.1:9/ http://127.0.0.1:9/2 2")
	equal(w, "audit", audit(w), before)
	equal(w, "state", w.state(id), jobs.Queued)
	j, err := w.Job(w.ctx, "a")
	w.check(err)
	equal(w, "job", words(j.Version, j.Revision), "1 1")
	_, err = w.Job(w.ctx, "new")
	w.wantErr(err, store.ErrNotFound)
	_, err = w.Enqueue(w.ctx, []store.Submission{w.sub("new")})
	w.wantErr(err, store.ErrNotFound)
	equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{id})
	c.DryRun = false
	out, err = w.Save(w.ctx, c, w.by())
	w.check(err)
	equal(w, "did", savedText(out), strings.Replace(would, "1 runs", "0 runs", 1))
}
