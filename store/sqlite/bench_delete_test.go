package sqlite

import (
	"context"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// BenchmarkDeleteRequeued deletes a job of which 50,000 requeues are queued.
func BenchmarkDeleteRequeued(b *testing.B) {
	for range b.N {
		b.StopTimer()
		s, ids := failedStore(b, benchFailures)
		order := ids.Next(testTime.Std())
		n, err := s.StartBulk(context.Background(), order, store.Bulk{Action: store.BulkRequeue}, store.By{Actor: "bench", Now: testTime})
		check(b, err)
		for more := true; more; {
			_, more, err = s.BulkStep(context.Background(), order, 1000, func(_ *store.Bulk, runs []*jobs.Run) (list []store.BulkRun) {
				for _, run := range runs {
					list = append(list, store.BulkRun{Requeue: store.Requeue{
						Of: run.ID, ID: ids.Next(testTime.Std()), Trigger: jobs.TriggerRequeue,
						By: store.By{Actor: "bench", Now: testTime},
					}})
				}
				return list
			}, testTime)
			check(b, err)
		}
		list, _, err := s.Jobs(context.Background(), store.Page{})
		check(b, err)
		b.StartTimer()
		begin := time.Now()
		cancelled, _, err := s.DeleteJob(context.Background(), list[0].Name, nil, store.By{Actor: "bench", Now: testTime})
		check(b, err)
		b.Logf("%d of %d cancelled in %s", cancelled, n, time.Since(begin))
	}
}
