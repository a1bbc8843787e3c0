package cli_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestManyCallersAtOnceAreAllAnswered(t *testing.T) { // case 184
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) {})
	p.put("job", doc{"webhook": doc{"url": s.URL}})
	var (
		mu    sync.Mutex
		took  []time.Duration
		until = time.Now().Add(2 * time.Second)
		wg    sync.WaitGroup
	)
	for range 64 {
		wg.Go(func() {
			for time.Now().Before(until) {
				began := time.Now()
				status, text, err := p.try("POST", "/v1/jobs/job/runs", doc{"delay": "1h"})
				enqueued := time.Since(began)
				if err != nil || status != 202 {
					t.Errorf("enqueue: %d %s %v", status, text, err)
					return
				}
				id, _, _ := strings.Cut(string(text[strings.Index(string(text), `"id":"`)+6:]), `"`)
				for _, call := range [][2]string{{"GET", "/v1/runs?limit=20"}, {"POST", "/v1/runs/" + id + "/cancel"}} {
					if status, text, err := p.try(call[0], call[1], nil); err != nil ||
						status != 200 {
						t.Errorf("%s %s: %d %s %v", call[0], call[1], status, text, err)
						return
					}
				}
				mu.Lock()
				took = append(took, enqueued)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	if len(took) < 64 {
		t.Fatalf("only %d rounds", len(took))
	}
	t.Logf(
		"%d rounds, enqueue p50 %v, p99 %v",
		len(took),
		took[len(took)/2],
		took[len(took)*99/100],
	)
}
