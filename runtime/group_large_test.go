package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"nightshift/jobs"
)

// Of the members one runs, and the others fail as they are made, which is all that can be had in little time.
func TestTenThousandMembersAreMergedOnce(t *testing.T) {
	g := newGrouped(t)
	defer g.stop()
	g.job("merge", good("1"))
	g.job("a", good("7"))
	n := jobs.MaxMembers
	if raced {
		n = 1000 // whose results are inlined
	}
	list := []string{`{"name":"first","job":"a"}`}
	for i := range n - 1 {
		list = append(list, fmt.Sprintf(`{"name":"m%d","job":"a","payload":{"i":%d,"n":"{{ payload.n + payload.o }}"}}`, i, i))
	}
	g.put(`{"name":"g","group":{"need":1,"merge":{"job":"merge"},"members":[` + strings.Join(list, ",") + `]}}`)
	g.rt.Start()
	id := g.submit(jobs.Request{Job: "g", Payload: jobs.Raw(`{"n":1,"o":{}}`)})
	if run := g.awaitEnd(id); run.State != jobs.Succeeded {
		t.Fatalf("it is %s: %v", run.State, run.Error)
	}
	m := g.onlyMerge()
	if len(m.Succeeded) != 1 || len(m.Failed) != n-1 || (m.Inlined == nil) != raced || len(g.info(id).Merges) != 1 {
		t.Errorf("%d members succeeded, %d failed, %d merges", len(m.Succeeded), len(m.Failed), len(g.info(id).Merges))
	}
}
