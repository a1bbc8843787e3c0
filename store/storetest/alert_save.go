package storetest

import (
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// telling is an alert that runs a job.
func telling(name, run string) store.PutDocument {
	a := jobs.Alert{Name: name, On: []string{jobs.EventRunFailed}, Run: run}
	return store.PutDocument{Kind: store.KindAlert, Name: name, Doc: a.Document()}
}

// groupOf is a job of a group.
func groupOf(name, member string) *jobs.Job {
	return &jobs.Job{Name: name, Group: &jobs.Group{Members: []jobs.Member{{Name: "m", Job: member}}}}
}

var alertSaveClaims = []claim{
	{"AlertNeedsItsJob", func(w *world) {
		err := w.saveAll(store.Changes{Documents: []store.PutDocument{policy("p", "1"), telling("a", "tell")}})
		equal(w, "faults", faultsOf(err), []string{
			"alert 1: there is no job tell: make it first, or in the same apply",
		})
		w.check(w.saveAll(store.Changes{
			Documents: []store.PutDocument{telling("a", "tell")},
			Jobs:      []store.PutJob{{Job: webhook("tell", "", "")}},
		}))
	}},
	{"JobThatAnAlertRunsIsNotDeleted", func(w *world) {
		w.jobs("tell", "other")
		w.check(w.saveAll(store.Changes{Documents: []store.PutDocument{telling("b", "tell"), telling("a", "tell")}}))
		w.put(naming("x", "", "other"))
		_, err := w.DeleteJob(w.ctx, "tell", nil, w.by())
		equal(w, "error", fmt.Sprint(err), "job tell is named by alert a, b: change or delete that first")
		w.check(w.DeleteDocument(w.ctx, store.KindAlert, "a", nil, w.by()))
		w.check(w.saveAll(store.Changes{Documents: []store.PutDocument{telling("b", "other")}}))
		_, err = w.DeleteJob(w.ctx, "tell", nil, w.by())
		w.check(err)
		_, err = w.DeleteJob(w.ctx, "other", nil, w.by())
		equal(w, "error", fmt.Sprint(err), "job other is named by job x and by alert b: change or delete that first")
	}},
	{"JobThatAnAlertRunsIsNotPruned", func(w *world) {
		tell := []store.PutJob{{Job: webhook("tell", "", "")}}
		w.check(w.saveAll(store.Changes{Set: "team", Jobs: tell, Documents: []store.PutDocument{telling("a", "tell")}}))
		w.check(w.saveAll(store.Changes{Documents: []store.PutDocument{telling("outside", "tell")}}))
		err := w.saveAll(store.Changes{Set: "team", Prune: true})
		equal(w, "faults", faultsOf(err), []string{
			"job tell is named by alert outside: change or delete that first",
		})
		err = w.saveAll(store.Changes{Set: "team", Prune: true, Documents: []store.PutDocument{telling("a", "tell")}})
		equal(w, "faults", faultsOf(err), []string{
			"alert 0: there is no job tell: make it first, or in the same apply",
			"job tell is named by alert outside: change or delete that first",
		})
		w.check(w.DeleteDocument(w.ctx, store.KindAlert, "outside", nil, w.by()))
		out, err := w.Save(w.ctx, store.Changes{Set: "team", Prune: true}, w.by())
		w.check(err)
		equal(w, "removed", savedText(out), "removed job tell with 0 runs, removed alert a with 0 runs")
	}},
	{"JobThatAnAlertRunsMakesNoOthers", func(w *world) {
		w.jobs("b", "tell")
		w.put(naming("chain", "", "b"))
		err := w.saveAll(store.Changes{Documents: []store.PutDocument{telling("a", "chain")}})
		const atAlert = "tells people and starts nothing else"
		equal(w, "faults", faultsOf(err), []string{"alert 0: job chain has on_success: what an alert runs " + atAlert})
		err = w.saveAll(store.Changes{
			Documents: []store.PutDocument{telling("a", "all")}, Jobs: []store.PutJob{{Job: groupOf("all", "b")}},
		})
		equal(w, "faults", faultsOf(err), []string{"alert 0: job all has group: what an alert runs " + atAlert})
		w.check(w.saveAll(store.Changes{Documents: []store.PutDocument{telling("a", "tell")}}))
		_, err = w.save(store.PutJob{Job: naming("tell", "", "b")})
		equal(w, "faults", faultsOf(err), []string{
			"job 0: alert a runs this job, and what an alert runs " + atAlert + ": give the alert another job first",
		})
		_, err = w.save(store.PutJob{Job: webhook("b", "", "")}, store.PutJob{Job: groupOf("tell", "b")})
		equal(w, "faults", faultsOf(err), []string{
			"job 1: alert a runs this job, and what an alert runs " + atAlert + ": give the alert another job first",
		})
		// With another job for the alert in the same change it may.
		w.check(w.saveAll(store.Changes{
			Jobs:      []store.PutJob{{Job: naming("tell", "", "b")}},
			Documents: []store.PutDocument{telling("a", "b")},
		}))
	}},
}
