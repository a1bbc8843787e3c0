package api

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
)

func TestRequeueOfAFailedRunHasAFreshBudget(t *testing.T) { // case 52
	ts := newTestServer(t)
	var calls atomic.Int32
	fail := func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}
	ts.hook("a", fail, `"retry":{"max_attempts":3,"backoff":{"base":"10ms","factor":3,"max":"1h","jitter":0}}`)
	old := ts.enqueue("a", `{"payload":{"kept":1}}`)
	ts.until(old, "failed")
	again := ts.call("POST", "/v1/runs/"+old+"/requeue", "").want(202).field("id")
	for _, id := range []string{old, again} {
		run := ts.until(id, "failed")
		for i := range 3 {
			at := fmt.Sprintf("attempts.%d.", i)
			by := map[bool]string{false: "policy default rule 2", true: "max_attempts"}[i == 2]
			if run.field(at+"number") != fmt.Sprint(i+1) || run.field(at+"decision.by") != by {
				t.Errorf("run %s, attempt %d: %s", id, i+1, run.body)
			}
		}
		if run.field("attempts.3.number") != "" || run.field("payload.kept") != "1" {
			t.Errorf("run %s: %s", id, run.body)
		}
	}
	if got := calls.Load(); got != 6 {
		t.Errorf("%d calls, want 3 of each run", got)
	}
}
