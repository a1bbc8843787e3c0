package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// world is a store with a clock that stands still and ids that repeat.
type world struct {
	testing.TB
	store.Store
	open func(testing.TB) store.Store
	ctx  context.Context
	now  jobs.Time
	ids  *jobs.IDs
	// workers are those that claims tell of.
	workers [store.Pools]int
	// given are the groups that claims have given back, and leases what they have given out.
	given  []store.EndedGroup
	leases map[jobs.ID]store.Lease
	// kept counts commits that kept events.
	kept atomic.Int64
}

const start jobs.Time = 1_770_000_000_000 // 2026-02-02

func newWorld(t testing.TB, open func(testing.TB) store.Store) *world {
	random := rand.New(rand.NewPCG(1, 2))
	w := &world{
		TB: t, open: open, ctx: t.Context(), now: start,
		ids: jobs.NewIDs(0, random.Uint64), leases: map[jobs.ID]store.Lease{},
	}
	w.serve()
	t.Cleanup(func() {
		if err := w.Store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

// unbound makes the host that all webhooks of these tests call one that holds nothing.
func (w *world) unbound() {
	w.Helper()
	_, err := w.Save(w.ctx, store.Changes{Documents: []store.PutDocument{{
		Kind: store.KindDependency, Name: "127.0.0.1:9", Doc: jobs.Raw(`{"concurrency":null,"breaker":null}`),
	}}}, store.By{Actor: "server", Now: w.now})
	w.check(err)
}

// reopen closes the store and opens it again, as a new process would.
func (w *world) reopen() {
	w.Helper()
	w.check(w.Store.Close())
	w.serve()
}

// serve opens the store and tells it what a process tells it first.
func (w *world) serve() {
	w.Store = w.open(w.TB)
	w.UseIDs(w.ids)
	w.OnEvents(func() { w.kept.Add(1) })
}

// tells reports whether a change says that it kept events, as it is committed.
func (w *world) tells(change func()) bool {
	before := w.kept.Load()
	change()
	return w.kept.Load() > before
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) wantErr(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error is %v, want %v", err, want)
	}
}

// equal compares two values that print what matters.
func equal[T any](w *world, what string, got, want T) {
	w.Helper()
	if g, e := fmt.Sprint(got), fmt.Sprint(want); g != e {
		w.Fatalf("%s is %s, want %s", what, g, e)
	}
}

// words puts values side by side.
func words(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

func (w *world) by() store.By { return store.By{Actor: "token tester", Now: w.now} }

func (w *world) tick(d time.Duration) { w.now = w.now.Add(d) }

// webhook is the document of a job that calls a path; more is the rest of it.
func webhook(name, path, more string) *jobs.Job {
	return document(
		`{"name":"` + name + `","webhook":{"url":"http://127.0.0.1:9/` + path + `"}` + more + `}`)
}

func script(name, source string) *jobs.Job {
	return document(`{"name":"` + name + `","script":{"source":"` + source + `"}}`)
}

func document(text string) *jobs.Job {
	j, err := jobs.ParseJob([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return j
}

// put saves one job.
func (w *world) put(j *jobs.Job) store.SavedJob {
	w.Helper()
	saved, err := w.save(store.PutJob{Job: j})
	w.check(err)
	return saved[0]
}

// save saves jobs at once, as the API does.
func (w *world) save(puts ...store.PutJob) ([]store.SavedJob, error) {
	saved, err := w.Save(w.ctx, store.Changes{Jobs: puts}, w.by())
	return saved.Jobs, err
}

// jobs puts plain webhooks of these names.
func (w *world) jobs(names ...string) {
	w.Helper()
	for _, name := range names {
		w.put(webhook(name, "", ""))
	}
}

// sub is a submission for a job, due now.
func (w *world) sub(job string, change ...func(*store.Submission)) store.Submission {
	id := w.ids.Next(w.now.Std())
	sub := store.Submission{KeyTTL: 24 * time.Hour, Run: &jobs.Run{
		ID: id, OperationID: id, Job: job, State: jobs.Queued, Trigger: jobs.TriggerAPI,
		CorrelationID: id.String(), Payload: jobs.Raw("{}"), CreatedAt: w.now, RunAt: w.now, DueAt: w.now,
	}}
	for _, f := range change {
		f(&sub)
	}
	return sub
}

func dueIn(d time.Duration) func(*store.Submission) {
	return func(s *store.Submission) {
		s.Run.DueAt = s.Run.CreatedAt.Add(d)
		s.Run.RunAt = s.Run.DueAt
		if d > 0 {
			s.Run.State = jobs.Scheduled
		}
	}
}

func priority(n int) func(*store.Submission) {
	return func(s *store.Submission) { s.Run.Priority = n }
}

// keyed gives a submission an idempotency key and the payload that it is for.
func keyed(key, payload string) func(*store.Submission) {
	return func(s *store.Submission) {
		s.Run.IdempotencyKey, s.Run.Payload = key, jobs.Raw(payload)
		copy(s.KeyHash[:], payload)
	}
}

// enqueue makes one run.
func (w *world) enqueue(job string, change ...func(*store.Submission)) store.Submitted {
	w.Helper()
	out, err := w.Enqueue(w.ctx, []store.Submission{w.sub(job, change...)})
	w.check(err)
	return out[0]
}

// enqueueN makes n runs and gives their ids.
func (w *world) enqueueN(n int, job string, change ...func(*store.Submission)) []jobs.ID {
	w.Helper()
	subs := make([]store.Submission, n)
	ids := make([]jobs.ID, n)
	for i := range subs {
		subs[i] = w.sub(job, change...)
		ids[i] = subs[i].Run.ID
	}
	_, err := w.Enqueue(w.ctx, subs)
	w.check(err)
	return ids
}

// take claims up to n runs with free workers of both sorts.
func (w *world) take(n int) []store.Lease {
	w.Helper()
	return w.claim(store.Claim{Free: [store.Pools]int{n, n}}).Leases
}

func (w *world) takeOne() store.Lease {
	w.Helper()
	leases := w.take(1)
	if len(leases) != 1 {
		w.Fatalf("claimed %d runs, want 1", len(leases))
	}
	return leases[0]
}

// DeleteJob leaves out what is to stop.
func (w *world) DeleteJob(ctx context.Context, name string, ifMatch *int64, by store.By) (int, error) {
	n, _, err := w.Store.DeleteJob(ctx, name, ifMatch, by)
	return n, err
}

// Claim tells of the workers of the world.
func (w *world) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	c.Workers = w.workers
	return w.Store.Claim(ctx, c)
}

func (w *world) claim(c store.Claim) store.Claimed {
	w.Helper()
	c.Now = w.now
	out, err := w.Claim(w.ctx, c)
	w.check(err)
	w.given = append(w.given, out.Groups...)
	for _, l := range out.Leases {
		w.leases[l.Run.ID] = l
	}
	return out
}

func (w *world) run(id jobs.ID) *jobs.Run {
	w.Helper()
	r, err := w.Run(w.ctx, id)
	w.check(err)
	return r
}

func (w *world) state(id jobs.ID) jobs.State {
	w.Helper()
	return w.run(id).State
}

// drain ends runs with success until none is left that is due.
func (w *world) drain() {
	w.Helper()
	for leases := w.take(100); len(leases) > 0; leases = w.take(100) {
		for _, l := range leases {
			w.succeed(l)
		}
	}
}

func idsOf(leases []store.Lease) (ids []jobs.ID) {
	for _, l := range leases {
		ids = append(ids, l.Run.ID)
	}
	return ids
}

func jobsOf(leases []store.Lease) (names []string) {
	for _, l := range leases {
		names = append(names, l.Run.Job)
	}
	return names
}
