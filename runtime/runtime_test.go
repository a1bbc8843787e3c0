package runtime_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
	"nightshift/store/sqlite"
)

type kindFunc func(context.Context, *jobs.Call) jobs.Report

func (f kindFunc) Run(ctx context.Context, c *jobs.Call) jobs.Report { return f(ctx, c) }

func newRuntime(t testing.TB, k jobs.Kind) *runtime.Runtime {
	t.Helper()
	s, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "n.db"), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runtime.New(context.Background(), runtime.Config{
		Store: s, Kinds: map[string]jobs.Kind{jobs.KindWebhook: k, jobs.KindScript: k},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(nil); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func putJob(t testing.TB, r *runtime.Runtime, doc string) {
	t.Helper()
	j, err := jobs.ParseJob([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.PutJobs(context.Background(), []store.PutJob{{Job: j}}, store.By{Actor: "test"}); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkNoop(b *testing.B) {
	var n atomic.Int64
	done := make(chan struct{})
	r := newRuntime(b, kindFunc(func(context.Context, *jobs.Call) jobs.Report {
		if n.Add(1) == int64(b.N) {
			close(done)
		}
		return jobs.Report{ExitCode: -1}
	}))
	putJob(b, r, `{"name":"a","webhook":{"url":"http://127.0.0.1:9/"}}`)
	payload := jobs.Raw(`{"x":"` + fmt.Sprintf("%0280d", 1) + `"}`)
	for left := b.N; left > 0; left -= 1000 {
		reqs := make([]jobs.Request, min(left, 1000))
		for i := range reqs {
			reqs[i] = jobs.Request{Job: "a", Payload: payload, Trigger: jobs.TriggerAPI}
		}
		if _, err := r.Submit(context.Background(), false, reqs); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	r.Start()
	<-done
}
