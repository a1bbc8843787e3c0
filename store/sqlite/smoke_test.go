package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

func open(t testing.TB) store.Store {
	t.Helper()
	s, err := Open(context.Background(), filepath.Join(t.TempDir(), "n.db"), Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestLifecycle(t *testing.T) {
	s := open(t)
	ctx := context.Background()
	now := jobs.TimeOf(time.Now())
	by := store.By{Actor: "test", Now: now}
	j, err := jobs.ParseJob([]byte(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutJobs(ctx, []store.PutJob{{Job: j}}, by); err != nil {
		t.Fatal(err)
	}
	ids := jobs.NewIDs(0, rand.Uint64)
	var subs []store.Submission
	for i := range 10 {
		id := ids.Next(now.Std())
		subs = append(subs, store.Submission{Run: &jobs.Run{
			ID: id, OperationID: id, Job: "a", State: jobs.Queued, Trigger: jobs.TriggerAPI,
			Payload: jobs.Raw(fmt.Sprintf(`{"i":%d}`, i)), CreatedAt: now, RunAt: now, DueAt: now,
		}})
	}
	out, err := s.Enqueue(ctx, subs)
	if err != nil || len(out) != 10 {
		t.Fatal(out, err)
	}
	c, err := s.Claim(ctx, store.Claim{Now: now, Free: [2]int{4, 4}})
	if err != nil || len(c.Leases) != 4 {
		t.Fatal(c, err)
	}
	l := c.Leases[0]
	c, err = s.Claim(ctx, store.Claim{Now: now, Free: [2]int{1, 0}, Finished: []store.Finish{{
		Run: l.Run.ID, Number: 1, Job: "a", Version: 1, Started: now, Now: now, ExitCode: -1, HTTPStatus: 200,
		Result:     jobs.Raw(`{"ok": true}`),
		Transition: jobs.Transition{State: jobs.Succeeded, Outcome: jobs.OutcomeSucceeded, Decision: jobs.Decision{Action: "succeed", By: "success"}},
	}}})
	if err != nil || c.Results[0].Err != nil || len(c.Leases) != 1 {
		t.Fatal(c, err)
	}
	r, err := s.Run(ctx, l.Run.ID)
	if err != nil || string(r.Result) != `{"ok": true}` || r.State != jobs.Succeeded || string(r.Payload) != `{"i":0}` {
		t.Fatal(r, err)
	}
	list, next, err := s.Runs(ctx, store.RunFilter{Job: "a"}, store.Page{Limit: 3})
	if err != nil || len(list) != 3 || next == "" {
		t.Fatal(list, next, err)
	}
	if n, err := s.DeleteJob(ctx, "a", nil, by); err != nil || n != 5 {
		t.Fatal(n, err)
	}
	for range 2 {
		if _, err := s.Prune(ctx, now.Add(100*24*time.Hour), 1000); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := s.Stats(ctx); err != nil || st[jobs.Running] != 4 {
		t.Fatal(st, err)
	}
}

func BenchmarkEnqueue32(b *testing.B) {
	s := open(b)
	ctx := context.Background()
	now := jobs.TimeOf(time.Now())
	j, _ := jobs.ParseJob([]byte(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"}}`))
	if _, err := s.PutJobs(ctx, []store.PutJob{{Job: j}}, store.By{Now: now}); err != nil {
		b.Fatal(err)
	}
	ids := jobs.NewIDs(0, rand.Uint64)
	payload := jobs.Raw(`{"x":"` + string(make([]byte, 0)) + fmt.Sprintf("%0280d", 1) + `"}`)
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := ids.Next(time.Now())
			_, err := s.Enqueue(ctx, []store.Submission{{Run: &jobs.Run{
				ID: id, OperationID: id, Job: "a", State: jobs.Queued, Trigger: jobs.TriggerAPI,
				Payload: payload, CreatedAt: now, RunAt: now, DueAt: now,
			}}})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDrain(b *testing.B) {
	s := open(b)
	ctx := context.Background()
	now := jobs.TimeOf(time.Now())
	j, _ := jobs.ParseJob([]byte(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"}}`))
	if _, err := s.PutJobs(ctx, []store.PutJob{{Job: j}}, store.By{Now: now}); err != nil {
		b.Fatal(err)
	}
	ids := jobs.NewIDs(0, rand.Uint64)
	payload := jobs.Raw(`{"x":"` + fmt.Sprintf("%0280d", 1) + `"}`)
	for n := b.N; n > 0; n -= 1000 {
		var subs []store.Submission
		for range min(n, 1000) {
			id := ids.Next(time.Now())
			subs = append(subs, store.Submission{Run: &jobs.Run{
				ID: id, OperationID: id, Job: "a", State: jobs.Queued, Trigger: jobs.TriggerAPI,
				Payload: payload, CreatedAt: now, RunAt: now, DueAt: now,
			}})
		}
		if _, err := s.Enqueue(ctx, subs); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	var fin []store.Finish
	for {
		c, err := s.Claim(ctx, store.Claim{Now: now, Free: [2]int{64, 0}, Finished: fin})
		if err != nil {
			b.Fatal(err)
		}
		if len(c.Leases) == 0 {
			break
		}
		fin = fin[:0]
		for _, l := range c.Leases {
			fin = append(fin, store.Finish{
				Run: l.Run.ID, Number: 1, Job: "a", Version: 1, Started: now, Now: now, ExitCode: -1, HTTPStatus: 200,
				Result:     jobs.Raw(`{"ok": true}`),
				Transition: jobs.Transition{State: jobs.Succeeded, Outcome: jobs.OutcomeSucceeded, Decision: jobs.Decision{Action: "succeed", By: "success"}},
			})
		}
	}
}
