package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// allRuns follows the cursors of a list to its end.
func allRuns(w *world, f store.RunFilter, limit int) (all []*jobs.Run) {
	w.Helper()
	page := store.Page{Limit: limit}
	for range 10_000 {
		list, next, err := w.Runs(w.ctx, f, page)
		w.check(err)
		if len(list) > limit {
			w.Fatalf("a page of %d holds %d", limit, len(list))
		}
		all = append(all, list...)
		if page.Cursor = next; next == "" {
			return all
		}
	}
	w.Fatal("the list does not end")
	return nil
}

func runIDs(runs []*jobs.Run) (ids []jobs.ID) {
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

var listClaims = []claim{
	{"EachFilterAloneAndCombined", everyFilter},
	{"NewestFirstAndWithoutWhatIsLarge", func(w *world) {
		w.jobs("a")
		ids := w.enqueueN(5, "a", func(s *store.Submission) { s.Run.Payload = jobs.Raw("[1]") })
		w.succeed(w.takeOne())
		w.fail(w.takeOne())
		list := allRuns(w, store.RunFilter{}, 2)
		slices.Reverse(ids)
		equal(w, "runs", runIDs(list), ids)
		for _, r := range list {
			if r.Payload != nil || r.Result != nil || r.Attempts != nil ||
				r.Error != nil && r.Error.Stack != "" {
				w.Fatalf("run %s holds what lists leave out", r.ID)
			}
			equal(w, "held by", r.HeldBy != nil, r.State == jobs.Queued)
		}
	}},
	{"CursorsShowEachRunOnceWhileRunsComeAndGo", stableCursors},
	{"LastPageHasNoNext", func(w *world) {
		w.jobs("a")
		w.enqueueN(4, "a")
		list, next, err := w.Runs(w.ctx, store.RunFilter{}, store.Page{Limit: 4})
		w.check(err)
		equal(w, "page", words(len(list), next), "4 ")
	}},
	{"CursorThatIsNoneIsInvalid", func(w *world) {
		for _, cursor := range []string{"x", "-1", "1.5", "99999999999999999999", "t5", "tt"} {
			_, _, err := w.Runs(w.ctx, store.RunFilter{}, store.Page{Limit: 1, Cursor: cursor})
			wantInvalid(w, err, "cursor")
		}
	}},
	{"RequestLooksAtFiftyThousandRuns", longList},
}

func stableCursors(w *world) {
	w.jobs("a")
	ids := w.enqueueN(30, "a")
	w.drain()
	seen := map[jobs.ID]int{}
	page := store.Page{Limit: 4}
	for i := 0; ; i++ {
		list, next, err := w.Runs(w.ctx, store.RunFilter{Job: "a"}, page)
		w.check(err)
		for _, r := range list {
			seen[r.ID]++
		}
		if page.Cursor = next; next == "" {
			break
		}
		w.enqueueN(3, "a")
		if i == 2 { // also the run that the cursor names goes
			for _, id := range []jobs.ID{list[3].ID, ids[5], ids[29]} {
				w.check(w.Remove(w.ctx, id, w.by()))
			}
		}
	}
	for i, id := range ids {
		equal(w, fmt.Sprint("times run ", i, " was shown"), seen[id],
			map[bool]int{true: 0, false: 1}[i == 5])
	}
	equal(w, "runs shown", len(seen), 29)
}

func longList(w *world) {
	w.jobs("old", "new")
	old := w.enqueueN(3, "old",
		func(s *store.Submission) { s.Run.Labels = map[string]string{"rare": "1"} })
	for range 6 {
		w.enqueueN(10_000, "new")
	}
	for name, f := range map[string]store.RunFilter{
		"label": {LabelKey: "rare"}, "queue": {Queue: "default", LabelKey: "rare"}, "allowed": {Allowed: []string{"ol*"}},
	} {
		var pages []int
		var found []jobs.ID
		page := store.Page{Limit: 2}
		for ok := true; ok; ok = page.Cursor != "" {
			list, next, err := w.Runs(w.ctx, f, page)
			w.check(err)
			pages = append(pages, len(list))
			found = append(runIDs(list), found...)
			page.Cursor = next
		}
		equal(w, "rows in pages by "+name, pages, []int{0, 2, 1})
		equal(w, "runs by "+name, len(found), len(old))
	}
	list, next, err := w.Runs(w.ctx, store.RunFilter{Job: "old"}, store.Page{Limit: 5})
	w.check(err)
	equal(w, "runs of the job, at once", words(len(list), next), "3 ")
}

// everyFilter compares lists with what the same words mean in Go, over runs of every sort.
func everyFilter(w *world) {
	random := rand.New(rand.NewPCG(3, 4))
	w.put(webhook("mail-a", "", ""))
	w.put(webhook("mail-b", "", `,"queue":"slow"`))
	w.put(script("script.c", "echo"))
	made := manySorts(w, random)
	all := map[jobs.ID]*jobs.Run{}
	for _, id := range made {
		all[id] = w.run(id)
	}
	filters := singleFilters(w, made, all)
	for i := range filters {
		agree(w, filters[i:i+1], made, all)
	}
	for range 300 {
		some := []filter{filters[random.IntN(len(filters))], filters[random.IntN(len(filters))]}
		if random.IntN(2) == 0 {
			some = append(some, filters[random.IntN(len(filters))])
		}
		agree(w, some, made, all)
	}
}

// filter is a filter in both languages.
type filter struct {
	name string
	set  func(*store.RunFilter)
	ok   func(*jobs.Run) bool
}

func agree(w *world, fs []filter, made []jobs.ID, all map[jobs.ID]*jobs.Run) {
	w.Helper()
	var f store.RunFilter
	names := map[string]bool{}
	for _, part := range fs {
		kind, _, _ := cutName(part.name)
		if names[kind] {
			return // the same word twice: the later one would win
		}
		names[kind] = true
		part.set(&f)
	}
	var want []jobs.ID
	for _, id := range slices.Backward(made) {
		if !slices.ContainsFunc(fs, func(part filter) bool { return !part.ok(all[id]) }) {
			want = append(want, id)
		}
	}
	got := runIDs(allRuns(w, f, 7))
	if !slices.Equal(got, want) {
		w.Fatalf("filter %+v gives %d runs %v, want %d %v", f, len(got), got, len(want), want)
	}
}

func cutName(name string) (kind, value string, ok bool) {
	for i := range name {
		if name[i] == ' ' {
			return name[:i], name[i+1:], true
		}
	}
	return name, "", false
}
