package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var versionClaims = []claim{
	{"OnlyWhatIsExecutedMakesAVersion", func(w *world) {
		w.put(webhook("a", "1", ""))
		w.put(webhook("a", "1", `,"retry":{"max_attempts":2}`))
		equal(w, "version",
			w.put(webhook("a", "1", `,"queue":"other","payload":{"x":1}`)).Job.Version, 1)
		equal(w, "version", w.put(webhook("a", "2", "")).Job.Version, 2)
		equal(w, "version", w.put(script("a", "echo")).Job.Version, 3)
		equal(w, "version", w.put(webhook("a", "1", "")).Job.Version, 4)
	}},
	{"VersionsAreListedNewestFirst", listVersions},
	{"RunIsPinnedToItsVersion", func(w *world) {
		w.put(webhook("a", "1", ""))
		old := w.enqueue("a")
		w.put(webhook("a", "2", ""))
		equal(w, "versions", words(old.Version, w.enqueue("a").Version), "1 2")
		w.reopen()
		for _, path := range []string{"1", "2"} {
			l := w.takeOne()
			equal(w, "url", l.Spec.Webhook.URL, "http://127.0.0.1:9/"+path)
			w.succeed(l)
		}
		equal(w, "version of the attempt", w.run(old.ID).Attempts[0].Version, 1)
	}},
	{"SpecComesBackAsItWasSaved", func(w *world) {
		for _, signing := range []string{`"s"`, `["s","t"]`} {
			saved := w.put(document(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/","method":"PUT",
				"headers":{"A":"<&>"},"body":{ "n" : 1.0, "s":"<\u00e9>" },"success":"http.status < 300",
				"signing_secret":` + signing + `,"follow_redirects":true}}`)).Job
			w.enqueue("a")
			w.reopen()
			l := w.takeOne()
			if want := saved.Spec(); !jobs.SameSpec(*l.Spec, want) ||
				string(l.Spec.Webhook.Body) != string(want.Webhook.Body) {
				w.Errorf("got %+v, want %+v", l.Spec.Webhook, want.Webhook)
			}
			w.succeed(l)
		}
	}},
	{"UpgradeMovesUnfinishedRunsThatAreNotRunning", upgrade},
	{"UpgradeAcrossPoolsMovesTheRunsToOtherWorkers", upgradePools},
	{"UpgradeOfNothingChangesNothing", func(w *world) {
		w.put(webhook("a", "1", ""))
		w.enqueue("a")
		before := audit(w)
		n, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		equal(w, "moved", n, 0)
		equal(w, "audit", audit(w), before)
	}},
}

func listVersions(w *world) {
	for i := range 7 {
		w.tick(time.Second)
		w.put(webhook("a", fmt.Sprint(i), ""))
	}
	var seen []string
	page := store.Page{Limit: 3}
	for ok := true; ok; ok = page.Cursor != "" {
		list, next, err := w.Versions(w.ctx, "a", page)
		w.check(err)
		for _, v := range list {
			seen = append(seen,
				fmt.Sprintf("%s %d %s %d", v.Job, v.Version, v.Webhook.URL[19:], v.CreatedAt-start))
		}
		page.Cursor = next
		w.put(webhook("a", "newer"+next, ""))
	}
	equal(w, "versions", seen, []string{
		"a 7 6 7000", "a 6 5 6000", "a 5 4 5000", "a 4 3 4000", "a 3 2 3000", "a 2 1 2000", "a 1 0 1000",
	})
	v, err := w.Version(w.ctx, "a", 3)
	w.check(err)
	equal(w, "version", words(v.Job, v.Version, v.Webhook.URL), "a 3 http://127.0.0.1:9/2")
	_, err = w.Version(w.ctx, "a", 99)
	w.wantErr(err, store.ErrNotFound)
}

func upgrade(w *world) {
	w.put(webhook("a", "1", ""))
	w.enqueueN(3, "a")
	running, ended, retrying := w.takeOne(), w.takeOne(), w.takeOne()
	w.succeed(ended)
	w.apply(w.retrying(retrying, time.Hour))
	queued, scheduled := w.enqueue("a").ID, w.enqueue("a", dueIn(time.Hour)).ID
	w.put(webhook("a", "2", ""))
	newest := w.enqueue("a").ID
	n, err := w.UpgradeRuns(w.ctx, "a", w.by())
	w.check(err)
	equal(w, "moved", n, 3)
	for id, want := range map[jobs.ID]int{
		running.Run.ID: 1, ended.Run.ID: 1, retrying.Run.ID: 2, queued: 2, scheduled: 2, newest: 2,
	} {
		equal(w, "version of a run that is "+w.state(id).String(), w.run(id).Version, want)
	}
	w.apply(w.interrupted(running))
	w.tick(time.Hour)
	for _, l := range w.take(10) {
		equal(w, "executed", l.Spec.Webhook.URL,
			fmt.Sprintf("http://127.0.0.1:9/%d", l.Run.Version))
	}
}

func upgradePools(w *world) {
	w.put(webhook("a", "1", ""))
	w.enqueueN(3, "a")
	w.enqueue("a", dueIn(time.Minute))
	w.put(script("a", "echo"))
	w.enqueue("a")
	webhooks := func(n int) store.Claim { return store.Claim{Free: [store.Pools]int{store.PoolWebhook: n}} }
	scripts := func(n int) store.Claim { return store.Claim{Free: [store.Pools]int{store.PoolScript: n}} }
	equal(w, "webhooks", len(w.claim(webhooks(1)).Leases), 1)
	n, err := w.UpgradeRuns(w.ctx, "a", w.by())
	w.check(err)
	equal(w, "moved", n, 3)
	equal(w, "webhooks after the upgrade", len(w.claim(webhooks(9)).Leases), 0)
	leases := w.claim(scripts(9)).Leases
	equal(w, "scripts", len(leases), 3)
	for _, l := range leases {
		equal(w, "source", l.Spec.Script.Source, "echo")
	}
	w.tick(time.Minute)
	equal(w, "script that fell due", len(w.claim(scripts(9)).Leases), 1)
}

var deleteClaims = []claim{
	{"DeletionCancelsWhatWaits", deleteWaiting},
	{"RunningAttemptEndsWithoutRetry", deleteRunning},
	{"MadeAgainRunningAttemptStillEndsWithoutRetry", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		l := w.takeOne()
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		w.jobs("a")
		equal(w, "result", w.finish(w.interrupted(l))[0],
			store.FinishResult{Err: store.ErrState, Orphaned: true})
		w.fail(l)
	}},
	{"DeletedJobIsGoneFromSightAndTakesNothing", func(w *world) {
		w.jobs("a", "b")
		id := w.enqueue("a").ID
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		_, err = w.Job(w.ctx, "a")
		w.wantErr(err, store.ErrNotFound)
		list, _, err := w.Jobs(w.ctx, store.Page{Limit: 9})
		w.check(err)
		equal(w, "jobs", len(list), 1)
		_, err = w.Enqueue(w.ctx, []store.Submission{w.sub("a")})
		w.wantErr(err, store.ErrNotFound)
		_, err = w.DeleteJob(w.ctx, "a", nil, w.by())
		w.wantErr(err, store.ErrNotFound)
		equal(w, "history", w.run(id).Job, "a")
		runs, _, err := w.Runs(w.ctx, store.RunFilter{Job: "a"}, store.Page{Limit: 9})
		w.check(err)
		equal(w, "runs", len(runs), 1)
		v, err := w.Version(w.ctx, "a", 1)
		w.check(err)
		equal(w, "version", v.Version, 1)
	}},
	{"MadeAgainItGoesOnWithItsVersionsAndHistory", recreate},
}

func deleteWaiting(w *world) {
	w.jobs("a", "b")
	w.enqueueN(2, "a")
	ended, retrying := w.takeOne(), w.takeOne()
	w.succeed(ended)
	w.apply(w.retrying(retrying, time.Hour))
	ids := []jobs.ID{retrying.Run.ID, w.enqueue("a").ID, w.enqueue("a", dueIn(time.Hour)).ID}
	other := w.enqueue("b").ID
	w.tick(time.Second)
	n, err := w.DeleteJob(w.ctx, "a", nil, w.by())
	w.check(err)
	equal(w, "cancelled", n, 3)
	for _, id := range ids {
		r := w.run(id)
		equal(w, "state", r.State, jobs.Cancelled)
		equal(w, "finished at", r.FinishedAt, w.now)
	}
	equal(w, "ended run", w.state(ended.Run.ID), jobs.Succeeded)
	w.tick(2 * time.Hour)
	equal(w, "claimed", idsOf(w.take(10)), []jobs.ID{other})
}

func deleteRunning(w *world) {
	w.jobs("a")
	w.enqueueN(3, "a")
	leases := w.take(3)
	n, err := w.DeleteJob(w.ctx, "a", nil, w.by())
	w.check(err)
	equal(w, "cancelled", n, 0)
	orphaned := store.FinishResult{Err: store.ErrState, Orphaned: true}
	equal(w, "retry", w.finish(w.retrying(leases[0], time.Second))[0], orphaned)
	equal(w, "rerun", w.finish(w.interrupted(leases[1]))[0], orphaned)
	w.reopen()
	orphans, err := w.Orphans(w.ctx)
	w.check(err)
	equal(w, "orphans", len(orphans), 3)
	for _, o := range orphans {
		equal(w, "deleted", o.Deleted, true)
	}
	w.fail(leases[0])
	w.succeed(leases[1])
	w.apply(w.cancelled(leases[2]))
	equal(w, "states",
		words(w.state(leases[0].Run.ID), w.state(leases[1].Run.ID), w.state(leases[2].Run.ID)),
		"failed succeeded cancelled")
}

func recreate(w *world) {
	w.put(webhook("a", "1", ""))
	w.put(webhook("a", "2", ""))
	old := w.enqueue("a").ID
	w.pause("a", true, "x")
	_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
	w.check(err)
	w.tick(time.Hour)
	saved := w.put(webhook("a", "3", ""))
	equal(w, "created", saved.Created, true)
	equal(w, "version", saved.Job.Version, 3)
	equal(w, "paused", saved.Job.Paused, false)
	equal(w, "created at", saved.Job.CreatedAt, w.now)
	if saved.Job.Revision <= 2 {
		w.Fatalf("revision is %d: it must not come back", saved.Job.Revision)
	}
	list, _, err := w.Versions(w.ctx, "a", store.Page{Limit: 9})
	w.check(err)
	equal(w, "versions", len(list), 3)
	id := w.enqueue("a").ID
	equal(w, "claimed", idsOf(w.take(9)), []jobs.ID{id})
	equal(w, "old run", w.state(old), jobs.Cancelled)
}
