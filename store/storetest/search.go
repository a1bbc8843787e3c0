package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var searchClaims = []claim{
	{"QFindsTheStartOfAnID", searchIDs},
	{"QFindsTheStartOfACorrelationID", func(w *world) {
		w.jobs("a")
		root := w.failOne("a")
		next := w.requeue(root).ID // carries the id of root
		named := w.enqueue("a", func(s *store.Submission) { s.Run.CorrelationID = "Order_1" }).ID
		w.enqueue("a", func(s *store.Submission) { s.Run.CorrelationID = "OrderX1" })
		equal(w, "by id", runIDs(allRuns(w, store.RunFilter{Q: root.String()}, 1)),
			[]jobs.ID{root, next})
		equal(w, "by name", runIDs(allRuns(w, store.RunFilter{Q: "order_"}, 1)), []jobs.ID{named})
		equal(w, "not by its middle", len(allRuns(w, store.RunFilter{Q: "rder_1"}, 1)), 0)
	}},
	{"QFindsPartOfTheErrorLiterally", searchErrors},
	{"QThatCouldBeAnIDFindsErrorsToo", searchBoth},
	{"QAndOtherFiltersTogether", func(w *world) {
		w.jobs("a", "b")
		id := w.failOne("a", func(s *store.Submission) { s.Run.CorrelationID = "order-1" })
		w.failOne("b", func(s *store.Submission) { s.Run.CorrelationID = "order-1" })
		for name, f := range map[string]store.RunFilter{
			"job":         {Q: "upstream", Job: "a"},
			"correlation": {Q: "upstream", Job: "a", CorrelationID: "order-1"},
			"id":          {Q: id.String()[:13], Job: "a"},
			"state":       {Q: "order", States: []jobs.State{jobs.Failed}, Allowed: []string{"a"}},
		} {
			equal(w, "runs by "+name, runIDs(allRuns(w, f, 1)), []jobs.ID{id})
		}
		equal(w, "no match",
			len(allRuns(w, store.RunFilter{Q: "nothing", CorrelationID: "order-1"}, 1)), 0)
	}},
	{"QThatIsTooLongIsInvalid", func(w *world) {
		_, _, err := w.Runs(w.ctx, store.RunFilter{Q: strings.Repeat("x", 1025)},
			store.Page{Limit: 1})
		wantInvalid(w, err, "q")
		equal(w, "runs", len(allRuns(w, store.RunFilter{Q: strings.Repeat("%", 1024)}, 1)), 0)
	}},
}

func searchIDs(w *world) {
	w.jobs("a")
	var ids []jobs.ID
	for range 40 {
		w.tick(7 * time.Second)
		ids = append(ids, w.enqueueN(2, "a")...)
	}
	for _, id := range []jobs.ID{ids[0], ids[33], ids[79]} {
		text := id.String()
		for n := 1; n <= len(text); n++ {
			for _, q := range []string{text[:n], strings.ToUpper(text[:n]), strings.ReplaceAll(text[:n], "-", "")} {
				var want []jobs.ID
				for _, other := range slices.Backward(ids) {
					plain := strings.ReplaceAll(other.String(), "-", "")
					if strings.HasPrefix(plain, strings.ToLower(strings.ReplaceAll(q, "-", ""))) {
						want = append(want, other)
					}
				}
				equal(w, "runs by q "+q, runIDs(allRuns(w, store.RunFilter{Q: q}, 50)), want)
			}
		}
	}
	none := jobs.IDOf(ids[5].Seq(), ids[5].Tail()+1).String()
	equal(w, "runs by an id that is none", len(allRuns(w, store.RunFilter{Q: none}, 50)), 0)
}

func searchErrors(w *world) {
	w.jobs("a")
	messages := []string{
		`100% of "disk_1" is 'full'`,
		`100 of disk-1 is full`,
		`C:\temp; DROP TABLE runs;--`,
		"été",
		"ÉTÉ",
		"plain",
	}
	ids := map[string]jobs.ID{}
	for _, m := range messages {
		w.enqueue("a")
		f := w.failed(w.takeOne())
		f.Transition.Error = &jobs.Failure{Kind: jobs.FailExit, Type: "Type_" + m[:2], Message: m}
		w.apply(f)
		ids[m] = f.Run
	}
	for q, want := range map[string][]string{
		"100%":          {messages[0]},
		"disk_1":        {messages[0]},
		`"disk_1" is '`: {messages[0]},
		"DISK":          {messages[1], messages[0]},
		`c:\TEMP`:       {messages[2]},
		`\`:             {messages[2]},
		"'":             {messages[0]},
		"; drop table":  {messages[2]},
		"%":             {messages[0]},
		"_":             {messages[5], messages[4], messages[3], messages[2], messages[1], messages[0]},
		"type_pl":       {messages[5]},
		"t\u00e9":       {messages[3]},
		"lain":          {messages[5]},
		"$1":            nil,
		"?":             nil,
	} {
		var want2 []jobs.ID
		for _, m := range want {
			want2 = append(want2, ids[m])
		}
		equal(w, fmt.Sprintf("runs by q %q", q), runIDs(allRuns(w, store.RunFilter{Q: q}, 2)),
			want2)
	}
}

// searchBoth looks for text that reads as an id: first what begins so, then the others, each once.
func searchBoth(w *world) {
	w.jobs("a")
	first := w.enqueue("a").ID
	w.succeed(w.takeOne())
	q := first.String()[:13]
	var others []jobs.ID
	for range 9 {
		w.tick(time.Hour)
		w.enqueue("a")
		f := w.failed(w.takeOne())
		f.Transition.Error = &jobs.Failure{Kind: jobs.FailExit, Message: "run " + q + " is gone"}
		w.apply(f)
		others = append(others, f.Run)
	}
	slices.Reverse(others)
	want := append([]jobs.ID{first}, others...)
	for limit := 1; limit < 12; limit++ {
		equal(w, fmt.Sprint("runs in pages of ", limit),
			runIDs(allRuns(w, store.RunFilter{Q: q}, limit)), want)
	}
	equal(w, "not there", runIDs(allRuns(w, store.RunFilter{Q: "deadbeef"}, 3)), []jobs.ID(nil))
}
