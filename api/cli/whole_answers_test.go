package cli_test

import (
	"fmt"
	"net/http"
	"testing"
)

func TestAnEndpointThatIsGoneOrSickIsLeftAlone(t *testing.T) { // case 95
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			w.WriteHeader(410)
			return
		}
		w.WriteHeader(500)
	})
	retry := doc{"max_attempts": 3, "backoff": quick}
	p.put("gone", doc{"webhook": doc{"url": s.URL + "/gone"}, "retry": retry})
	p.put("sick", doc{"webhook": doc{"url": s.URL + "/sick"}, "retry": retry})
	if run := p.end(p.enqueue("gone", nil)); run.outcomes() != "failed:http" || run.Attempts[0].HTTPStatus != 410 {
		t.Errorf("gone: %s", run.outcomes())
	}
	for range 4 { // a host counts 503 alone: each ends by its budget
		run := p.end(p.enqueue("sick", nil))
		if run.State != "failed" || run.outcomes() != "failed:http failed:http failed:http" {
			t.Errorf("sick: %s, %s", run.State, run.outcomes())
		}
	}
	requests := len(s.deliveries())
	if status := p.call("PUT", "/v1/dependencies/partner", doc{"breaker": doc{"failures": 4, "open_for": "1h", "max_open": "1h"}}, nil); status != 201 {
		t.Fatalf("PUT the dependency: %d", status)
	}
	p.put("shared", doc{
		"webhook": doc{"url": s.URL + "/sick"}, "dependencies": []string{"partner"}, "concurrency": doc{"limit": 1},
		"retry": doc{"max_attempts": 10, "backoff": quick}, // whichever of them it is that fails
	})
	for range 6 {
		p.enqueue("shared", nil)
	}
	p.until("its breaker opens", func() bool { return p.dependency("partner").State == "open" })
	p.until("all are held", func() bool { return p.dependency("partner").Waiting == 6 })
	if n := len(s.deliveries()) - requests; n != 4 {
		t.Errorf("%d requests, want the 4 that open it", n)
	}
}

// What a receiver saves with its error is what the next attempt starts from (cases 97, 98).
func TestCheckpointInAnErrorReachesTheNextAttempt(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 5 {
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(500)
		fmt.Fprintf(w, `{"detail":"stopped at %d","checkpoint":{ "page" : %d.0 },"progress":{"done":%d,"total":5}}`, n, n, n)
	})
	p.put("sync", doc{"webhook": doc{"url": s.URL}, "retry": doc{"backoff": quick}})
	run := p.end(p.enqueue("sync", nil))
	if run.State != "succeeded" || len(run.Attempts) != 5 {
		t.Fatalf("%s: %s", run.State, run.outcomes())
	}
	for i, d := range s.deliveries() {
		want := ""
		if i > 0 {
			want = fmt.Sprintf(`{"page":%d.0}`, i)
		}
		if got := d.header.Get("Nightshift-Checkpoint"); got != want {
			t.Errorf("attempt %d starts from %q, want %q", i+1, got, want)
		}
		if key := d.header.Get("Idempotency-Key"); key != run.OperationID {
			t.Errorf("attempt %d has the key %s", i+1, key)
		}
	}
}
