package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// order starts one and gives its id and count.
func (w *world) order(b store.Bulk) (id jobs.ID, count int) {
	w.Helper()
	id = w.ids.Next(w.now.Std())
	count, err := w.StartBulk(w.ctx, id, b, w.by())
	w.check(err)
	return id, count
}

// requeues are what the runtime makes of the failures of an order.
func (w *world) requeues(_ *store.Bulk, runs []*jobs.Run) (list []store.BulkRun) {
	for _, run := range runs {
		list = append(list, store.BulkRun{Requeue: store.Requeue{
			Of: run.ID, ID: w.ids.Next(w.now.Std()), Trigger: jobs.TriggerRequeue, By: w.by(), Creator: "tester",
		}})
	}
	return list
}

// step carries the next few of an order out.
func (w *world) step(id jobs.ID, limit int) (done store.BulkDone, more bool) {
	w.Helper()
	done, more, err := w.BulkStep(w.ctx, id, limit, w.requeues, w.now)
	w.check(err)
	return done, more
}

// carryOut does all steps of an order.
func (w *world) carryOut(id jobs.ID) (made []jobs.ID) {
	w.Helper()
	for more := true; more; {
		var done store.BulkDone
		done, more = w.step(id, 2)
		for _, s := range done.Made {
			made = append(made, s.ID)
		}
	}
	return made
}

// orderStands is how an order stands, in words.
func (w *world) orderStands(id jobs.ID) string {
	w.Helper()
	b, err := w.Bulk(w.ctx, id)
	w.check(err)
	return fmt.Sprintf("%s %d: %d done, %d skipped; %d good, %d bad, %d cancelled; over %v", b.State, b.Count, b.Done,
		b.Skipped, b.Succeeded, b.Failed, b.Cancelled, b.EndedAt != 0)
}

func (w *world) skips(id jobs.ID) (all []string) {
	w.Helper()
	b, err := w.Bulk(w.ctx, id)
	w.check(err)
	for _, s := range b.Skips {
		all = append(all, s.Reason)
	}
	return all
}

func (w *world) failN(n int, job string) (ids []jobs.ID) {
	w.Helper()
	for range n {
		ids = append(ids, w.failOne(job))
	}
	return ids
}

func requeueAll() store.Bulk { return store.Bulk{Action: store.BulkRequeue, Creator: "tester"} }

var bulkClaims = []claim{
	{"OrderOfHundredsGoesOnWhereItStoodAfterARestart", func(w *world) {
		w.jobs("a")
		ids := w.failN(250, "a")
		id, _ := w.order(requeueAll())
		from := map[jobs.ID]bool{}
		for more := true; more; {
			var done store.BulkDone
			done, more = w.step(id, 130) // which ends within what one row of the file holds, and with it
			for _, made := range done.Made {
				from[w.run(made.ID).RequeuedFrom] = true
			}
			w.reopen()
		}
		for _, of := range ids {
			if !from[of] {
				w.Errorf("failure %s was not requeued", of)
			}
		}
		equal(w, "stands", w.orderStands(id), "made 250: 250 done, 0 skipped; 0 good, 0 bad, 0 cancelled; over false")
	}},
	{"OrderRequeuesWhatItsFilterFound", func(w *world) {
		w.jobs("a", "b")
		ids := w.failN(5, "a")
		other := w.failOne("b")
		b := requeueAll()
		b.Filter.Job, b.Note = "a", "the disk has room again"
		id, count := w.order(b)
		equal(w, "count", count, 5)
		late := w.failOne("a")
		entry := audit(w)[0]
		equal(w, "audit", actions([]store.AuditEntry{entry}), "requeue "+id.String()+" the disk has room again")
		if want := `filter: → {"status":"open","job":"a"}`; !strings.Contains(differences(entry), want) {
			w.Errorf("audit %s, want %s in it", differences(entry), want)
		}
		left, err := w.BulksLeft(w.ctx)
		w.check(err)
		equal(w, "left", left, []jobs.ID{id})
		equal(w, "stands", w.orderStands(id), "running 5: 0 done, 0 skipped; 0 good, 0 bad, 0 cancelled; over false")
		made := w.carryOut(id)
		equal(w, "made", len(made), 5)
		equal(w, "stands", w.orderStands(id), "made 5: 5 done, 0 skipped; 0 good, 0 bad, 0 cancelled; over false")
		for i, of := range ids {
			run := w.run(made[i])
			equal(w, "run", words(run.RequeuedFrom, run.Bulk, run.Trigger, run.CreatedBy, run.State), words(of, id,
				jobs.TriggerRequeue, "tester", jobs.Queued))
			equal(w, "status", w.statuses(of), "requeued")
		}
		equal(w, "others", w.statuses(other, late), "open open")
		left, err = w.BulksLeft(w.ctx)
		w.check(err)
		equal(w, "left", len(left), 0)
		w.drain()
		equal(w, "stands", w.orderStands(id), "done 5: 5 done, 0 skipped; 5 good, 0 bad, 0 cancelled; over true")
		equal(w, "status", w.statuses(ids...), "resolved resolved resolved resolved resolved")
	}},
	{"OrderMayResolveAndIgnore", func(w *world) {
		w.jobs("a")
		ids := w.failN(3, "a")
		b := store.Bulk{Action: store.BulkResolve, Note: "Monday", IDs: ids[:2]}
		id, count := w.order(b)
		equal(w, "count", count, 2)
		w.carryOut(id)
		equal(w, "stands", w.orderStands(id), "done 2: 2 done, 0 skipped; 0 good, 0 bad, 0 cancelled; over true")
		f := w.failure(ids[0])
		equal(w, "failure", words(f.Status, f.By, f.Note), words("resolved", "token tester", "Monday"))
		until := w.now.Add(time.Hour)
		id, _ = w.order(store.Bulk{Action: store.BulkIgnore, Until: until})
		w.carryOut(id)
		f = w.failure(ids[2])
		equal(w, "failure", words(f.Status, f.By, f.Until), words("ignored", "token tester", until))
		equal(w, "what came", w.statuses(w.failOne("a")), "ignored")
	}},
	{"OrderOfNothingIsDone", func(w *world) {
		w.jobs("a")
		id, count := w.order(requeueAll())
		equal(w, "order", words(count, w.orderStands(id)), words(0, "done 0: 0 done, 0 skipped; 0 good, 0 bad, 0 cancelled; over true"))
		_, more := w.step(id, 9)
		equal(w, "more", more, false)
	}},
	{"NamedOnesThatAreNoFailuresAreSkipped", func(w *world) {
		w.jobs("a", "b")
		open, resolved, requeued, hidden := w.failOne("a"), w.failOne("a"), w.failOne("a"), w.failOne("b")
		w.resolve(resolved, "")
		next := w.requeue(requeued).ID
		ok := w.enqueue("a").ID
		b := requeueAll()
		b.IDs = []jobs.ID{ok, open, resolved, requeued, hidden, w.ids.Next(w.now.Std()), open}
		b.Filter.Allowed = []string{"a"}
		id, count := w.order(b)
		equal(w, "count", count, 6)
		w.carryOut(id)
		equal(w, "stands", w.orderStands(id), "made 6: 2 done, 4 skipped; 0 good, 0 bad, 0 cancelled; over false")
		equal(w, "skips", w.skips(id), []string{
			"it has been requeued as run " + next.String(), "there is no such run", "it is queued, and no failure",
			"there is no such run",
		})
		equal(w, "statuses", w.statuses(open, resolved, requeued, hidden), "requeued requeued requeued open")
	}},
	{"WhatChangedMeanwhileIsSkipped", bulkSkips},
	{"RunsAreDueAtARate", func(w *world) {
		w.jobs("a")
		w.failN(4, "a")
		b := requeueAll()
		b.Every = jobs.Duration(10 * time.Second)
		id, _ := w.order(b)
		first := w.now
		w.step(id, 2)
		w.reopen()
		w.tick(time.Second)
		w.step(id, 2)
		var due []string
		for _, r := range allRuns(w, store.RunFilter{Trigger: string(jobs.TriggerRequeue)}, 9) {
			due = append(due, words(r.RunAt.Sub(first), r.State))
		}
		equal(w, "due", due, []string{"30s scheduled", "20s scheduled", "10s scheduled", "0s queued"})
	}},
	{"ManyRunsOfAMillisecondAreDueThen", func(w *world) {
		w.jobs("a")
		w.failN(5, "a")
		b := requeueAll()
		b.Every = jobs.Duration(500 * time.Microsecond)
		id, _ := w.order(b)
		w.carryOut(id)
		var due []string
		for _, r := range allRuns(w, store.RunFilter{Trigger: string(jobs.TriggerRequeue)}, 9) {
			due = append(due, r.RunAt.Sub(w.now).String())
		}
		equal(w, "due", due, []string{"2ms", "1ms", "1ms", "0s", "0s"})
	}},
	{"OrderThatIsLateDoesNotHurry", func(w *world) {
		w.jobs("a")
		w.failN(4, "a")
		b := requeueAll()
		b.Every = jobs.Duration(10 * time.Second)
		id, _ := w.order(b)
		w.step(id, 2)
		w.tick(time.Hour) // nothing ran
		done, _ := w.step(id, 2)
		equal(w, "due", words(done.Made[0].DueAt, done.Made[1].DueAt), words(w.now, w.now.Add(10*time.Second)))
	}},
	{"SampleChangesNothing", func(w *world) {
		w.jobs("a")
		ids := w.failN(5, "a")
		count, list, err := w.SampleBulk(w.ctx, store.FailureFilter{Job: "a"}, nil, 2)
		w.check(err)
		equal(w, "sample", words(count, failureIDs(list), list[0].Run.Payload != nil), words(5, ids[:2], true))
		count, list, err = w.SampleBulk(w.ctx, store.FailureFilter{}, ids[3:], 9)
		w.check(err)
		equal(w, "sample", words(count, failureIDs(list)), words(2, ids[3:]))
		equal(w, "open", len(allFailures(w, store.FailureFilter{}, 9)), 5)
		_, _, err = w.SampleBulk(w.ctx, store.FailureFilter{Status: jobs.FailureWillRetry}, nil, 1)
		if err == nil || !strings.Contains(err.Error(), "retry") {
			w.Fatalf("a sample of what retries gave %v", err)
		}
	}},
	{"UnknownOrderIsNotFound", func(w *world) {
		id := w.ids.Next(w.now.Std())
		_, err := w.Bulk(w.ctx, id)
		w.wantErr(err, store.ErrNotFound)
		w.wantErr(w.StopBulk(w.ctx, id, w.by()), store.ErrNotFound)
		_, _, err = w.BulkStep(w.ctx, id, 1, w.requeues, w.now)
		w.wantErr(err, store.ErrNotFound)
	}},
	{"OldOrdersArePruned", func(w *world) {
		w.jobs("a")
		id, _ := w.order(requeueAll())
		w.failOne("a")
		running, _ := w.order(requeueAll())
		w.tick(90 * day)
		prune(w)
		_, err := w.Bulk(w.ctx, id)
		w.wantErr(err, store.ErrNotFound)
		_, err = w.Bulk(w.ctx, running)
		w.check(err)
	}},
	{"DeletionOfAJobOpensWhatItsRequeuesStoodFor", deletedRequeues},
	{"NeighboursPrunedAtOnceLeaveTheirChainWhole", prunedNeighbours},
}

func bulkSkips(w *world) {
	w.jobs("a", "b", "c")
	x, y, z, gone, kept := w.failOne("a"), w.failOne("a"), w.failOne("b"), w.failOne("a"), w.failOne("c")
	unique := &jobs.UniqueRun{Key: "k", While: jobs.WhileActive}
	id, count := w.order(requeueAll())
	equal(w, "count", count, 5)
	w.resolve(x, "")
	stands := w.enqueue("a", func(s *store.Submission) { s.Unique = unique }).ID
	w.deleteJob("b")
	w.check(w.Remove(w.ctx, gone, w.by()))
	for more := true; more; {
		var err error
		_, more, err = w.BulkStep(w.ctx, id, 3, func(_ *store.Bulk, runs []*jobs.Run) []store.BulkRun {
			list := w.requeues(nil, runs)
			for i := range list {
				switch list[i].Of {
				case y:
					list[i].Unique = unique
				case kept:
					list[i].Skip = "its payload would be too large"
				}
			}
			return list
		}, w.now)
		w.check(err)
	}
	equal(w, "stands", w.orderStands(id), "done 5: 0 done, 5 skipped; 0 good, 0 bad, 0 cancelled; over true")
	equal(w, "statuses", w.statuses(x, y, z, kept), "resolved open open open")
	want := []string{
		"it is resolved now", "run " + stands.String() + " of job a stands for it until it ends", `job "b": not found`,
		"there is no such run any more", "its payload would be too large",
	}
	equal(w, "skips", w.skips(id), want)
}

// stopClaims tell of orders that are called off.
var bulkStopClaims = []claim{
	{"OrderIsCalledOffOnceSoManyHaveFailed", bulkStopAfter},
	{"OrderIsCalledOffByHand", func(w *world) {
		w.jobs("a")
		ids := w.failN(6, "a")
		id, _ := w.order(requeueAll())
		w.step(id, 4)
		w.take(1) // which has begun
		w.check(w.StopBulk(w.ctx, id, store.By{Actor: "token tester", Now: w.now, Note: "not now"}))
		equal(w, "audit", actions(audit(w)[:1]), "stop "+id.String()+" not now")
		w.check(w.StopBulk(w.ctx, id, w.by()))
		equal(w, "nothing starts", len(w.take(9)), 0)
		w.reopen()
		equal(w, "nothing starts after a restart", len(w.take(9)), 0)
		left, err := w.BulksLeft(w.ctx)
		w.check(err)
		equal(w, "left", left, []jobs.ID{id})
		done, more := w.step(id, 2)
		equal(w, "cancelled", words(len(done.Cancelled), more), words(2, true))
		done, more = w.step(id, 2)
		equal(w, "cancelled", words(len(done.Cancelled), more), words(1, false))
		equal(w, "stands", w.orderStands(id), "stopped 6: 4 done, 0 skipped; 0 good, 0 bad, 3 cancelled; over false")
		equal(w, "statuses", w.statuses(ids...), "requeued open open open open open")
		b, err := w.Bulk(w.ctx, id)
		w.check(err)
		equal(w, "reason", b.Reason, "called off by token tester: not now")
		orphans, err := w.Orphans(w.ctx)
		w.check(err)
		w.succeed(orphans[0])
		equal(w, "stands", w.orderStands(id), "stopped 6: 4 done, 0 skipped; 1 good, 0 bad, 3 cancelled; over true")
		r := w.run(w.run(ids[1]).RequeuedTo)
		equal(w, "cancelled run", words(r.State, r.Bulk), words(jobs.Cancelled, id))
	}},
	{"OrderThatIsDoneCannotBeCalledOff", func(w *world) {
		w.jobs("a")
		w.failOne("a")
		id, _ := w.order(requeueAll())
		w.carryOut(id)
		w.drain()
		w.wantErr(w.StopBulk(w.ctx, id, w.by()), store.ErrState)
	}},
	{"OrderThatHasMadeNothingIsOverAtOnce", func(w *world) {
		w.jobs("a")
		ids := w.failN(3, "a")
		id, _ := w.order(requeueAll())
		w.check(w.StopBulk(w.ctx, id, w.by()))
		equal(w, "stands", w.orderStands(id), "stopped 3: 0 done, 0 skipped; 0 good, 0 bad, 0 cancelled; over true")
		equal(w, "statuses", w.statuses(ids...), "open open open")
	}},
	{"OthersOfTheLaneStartWhenThoseBeforeThemAreCancelled", func(w *world) {
		w.jobs("a")
		w.failN(12, "a")
		id, _ := w.order(requeueAll())
		w.carryOut(id)
		other := w.enqueue("a").ID
		w.check(w.StopBulk(w.ctx, id, w.by()))
		for _, l := range w.take(1) {
			equal(w, "started", l.Run.ID, other)
			w.succeed(l)
		}
		w.carryOut(id)
		if w.state(other) != jobs.Succeeded {
			equal(w, "started", idsOf(w.take(9)), []jobs.ID{other})
		}
	}},
}

func bulkStopAfter(w *world) {
	w.jobs("a")
	ids := w.failN(8, "a")
	b := requeueAll()
	b.StopAfter = 2
	id, _ := w.order(b)
	made := w.carryOut(id)
	w.fail(w.takeThisOf(made[0], 1))
	equal(w, "stands", w.orderStands(id), "made 8: 8 done, 0 skipped; 0 good, 1 bad, 0 cancelled; over false")
	under := w.takeThisOf(made[1], 1)
	// The claim that hears of the second starts none of the rest.
	out := w.claim(store.Claim{Finished: []store.Finish{w.failed(w.takeThisOf(made[2], 1))}, Free: [store.Pools]int{9, 9}})
	equal(w, "started", idsOf(out.Leases), []jobs.ID(nil))
	w.check(out.Results[0].Err)
	for more := true; more; {
		_, more = w.step(id, 2)
	}
	equal(w, "stands", w.orderStands(id), "stopped 8: 8 done, 0 skipped; 0 good, 2 bad, 5 cancelled; over false")
	equal(w, "statuses", w.statuses(ids...), "requeued requeued requeued open open open open open")
	equal(w, "open", failureIDs(allFailures(w, store.FailureFilter{}, 99))[:2], []jobs.ID{made[2], made[0]})
	w.succeed(under)
	equal(w, "stands", w.orderStands(id), "stopped 8: 8 done, 0 skipped; 1 good, 2 bad, 5 cancelled; over true")
	bulk, err := w.Bulk(w.ctx, id)
	w.check(err)
	equal(w, "reason", bulk.Reason, "2 of its runs have failed")
	if slices.Contains(w.skips(id), "") {
		w.Fatal("a skip has no reason")
	}
}
