package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var failedClaims = []claim{
	{"FailedAttemptsAreGivenByRunOldestFirst", failedByRun},
	{"FailedAttemptsOfRunsThatEndedBeforeAreLeftOut", func(w *world) {
		w.jobs("a")
		old := w.failOne("a")
		waits := w.enqueue("a").ID
		w.apply(w.retrying(w.takeOne(), 10*time.Hour))
		w.tick(time.Hour)
		since := w.now
		recent := w.failOne("a")
		equal(w, "runs", failedIDs(w, "a", since), []jobs.ID{waits, recent})
		equal(w, "runs", failedIDs(w, "a", since.Add(-time.Hour)), []jobs.ID{old, waits, recent})
		equal(w, "runs", failedIDs(w, "a", since+1), []jobs.ID{waits})
	}},
	{"FailedAttemptsKnowTheCountsOfTheirRun", func(w *world) {
		w.jobs("a")
		w.enqueue("a")
		f := w.retrying(w.takeOne(), 0)
		f.Transition.Counts = jobs.Counts{Number: 1, Budgets: map[string]int{"k": 1}}
		w.apply(f)
		equal(w, "counts", failedRuns(w, "a", 0)[0].Counts, f.Transition.Counts)
	}},
	{"FailedAttemptsOutliveTheirJob", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		_, err := w.DeleteJob(w.ctx, "a", nil, w.by())
		w.check(err)
		equal(w, "runs", failedIDs(w, "a", 0), []jobs.ID{id})
		equal(w, "runs of no job", len(failedIDs(w, "b", 0)), 0)
	}},
	{"FailedAttemptsAreReadInPagesWhileOthersWrite", failedInPages},
	{"LargeFailedAttemptsAreReadFewAtATime", failedLarge},
	{"FailedAttemptsEndWhenTheyShould", func(w *world) {
		w.jobs("a")
		w.failOne("a")
		w.failOne("a")
		enough, n := errors.New("enough"), 0
		err := w.FailedAttempts(w.ctx, "a", 0, func(*jobs.Run) error { n++; return enough })
		w.wantErr(err, enough)
		equal(w, "runs", n, 1)
	}},
}

func failedRuns(w *world, job string, since jobs.Time) (list []*jobs.Run) {
	w.Helper()
	w.check(w.FailedAttempts(w.ctx, job, since, func(run *jobs.Run) error {
		list = append(list, run)
		return nil
	}))
	return list
}

func failedIDs(w *world, job string, since jobs.Time) (ids []jobs.ID) {
	w.Helper()
	for _, run := range failedRuns(w, job, since) {
		ids = append(ids, run.ID)
	}
	return ids
}

func failedByRun(w *world) {
	w.jobs("a", "b")
	first := w.enqueue("a", keyed("k", `{"n": 1}`), func(s *store.Submission) {
		s.Run.MaxAttempts, s.Run.Timeout = 9, jobs.Duration(time.Minute)
	}).ID
	f := w.retrying(w.takeOne(), 0)
	f.HTTPStatus, f.OutputTail = 503, "tail\n"
	f.Transition.Error.Reported = &jobs.Reported{
		Retryable: new(true), RetryAfter: new(jobs.Duration(90e9)),
	}
	w.apply(f)
	w.apply(w.interrupted(w.takeOne()))
	w.tick(time.Second)
	w.apply(w.retrying(w.takeOne(), 0))
	w.succeed(w.takeOne())
	w.enqueue("a")
	w.succeed(w.takeOne()) // without a failure
	w.failOne("b")
	last := w.failOne("a")
	runs := failedRuns(w, "a", 0)
	equal(w, "runs", []jobs.ID{runs[0].ID, runs[1].ID}, []jobs.ID{first, last})
	whole, run := w.run(first), runs[0]
	whole.Attempts = slices.DeleteFunc(whole.Attempts, func(a jobs.Attempt) bool {
		return a.Outcome != jobs.OutcomeFailed
	})
	if d := diff(run.Attempts, whole.Attempts); d != "" {
		w.Fatal(d)
	}
	equal(w, "attempts", words(run.Attempts[0].Number, run.Attempts[1].Number), "1 3")
	equal(w, "run",
		words(run.Job, run.State, run.RunAt, run.MaxAttempts, run.Timeout, string(run.Payload), run.Counts.Number),
		words("a", jobs.Succeeded, start, 9, "1m", `{"n": 1}`, 4))
	equal(w, "payload", string(runs[1].Payload), "{}")
}

// Runs come, go and fail while the list is read: those that stand all the time are given once.
func failedInPages(w *world) {
	w.unbound()
	w.jobs("a")
	want := map[jobs.ID]bool{}
	for range 45 {
		w.enqueueN(20, "a")
		for i, l := range w.take(20) {
			if i == 0 {
				w.succeed(l)
				continue
			}
			want[l.Run.ID] = true
			w.fail(l)
		}
	}
	got, removed := map[jobs.ID]int{}, 0
	w.check(w.FailedAttempts(w.ctx, "a", 0, func(run *jobs.Run) error {
		if got[run.ID]++; len(run.Attempts) != 1 {
			w.Errorf("run %s has %d failed attempts", run.ID, len(run.Attempts))
		}
		if len(got)%100 != 0 || removed == 3 {
			return nil
		}
		removed++
		late := w.failOne("a")
		want[late] = true
		return w.Remove(w.ctx, run.ID, w.by())
	}))
	for id := range want {
		if got[id] != 1 {
			w.Errorf("run %s was given %d times", id, got[id])
		}
	}
	equal(w, "runs", len(got), len(want))
}

func failedLarge(w *world) {
	w.jobs("a")
	long := strings.Repeat("x", 12<<10)
	for i := range 150 {
		w.enqueue("a", keyed(fmt.Sprint(i), `"`+strings.Repeat("y", 20<<10)+`"`))
		f := w.failed(w.takeOne())
		f.Transition.Error.Stack = long
		w.apply(f)
	}
	n := 0
	w.check(w.FailedAttempts(w.ctx, "a", 0, func(run *jobs.Run) error {
		n++
		if len(run.Payload) < 20<<10 || run.Attempts[0].Error.Stack != long {
			w.Errorf("run %s is not whole", run.ID)
		}
		return nil
	}))
	equal(w, "runs", n, 150)
}
