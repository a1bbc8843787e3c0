package storetest

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var documentClaims = []claim{
	{"SavedDocumentComesBack", func(w *world) {
		out := w.applyPolicies("team", policy("p", "1"))
		want := &store.Document{
			Kind: store.KindPolicy, Name: "p", Set: "team", Doc: jobs.Raw(`{"max_attempts":1}`), Revision: 1,
			CreatedAt: start, UpdatedAt: start,
		}
		got, err := w.Document(w.ctx, store.KindPolicy, "p")
		w.check(err)
		equal(w, "document", diff(got, want)+diff(out.Documents[0].Document, want), "")
		w.tick(time.Second)
		out = w.applyPolicies("", policy("p", "2"))
		equal(w, "saved", savedText(out), "changed p of team")
		d := out.Documents[0]
		equal(w, "before, now", words(d.Before.Revision, string(d.Before.Doc), d.Document.Revision,
			string(d.Document.Doc), d.Document.CreatedAt, d.Document.UpdatedAt),
			words(1, `{"max_attempts":1}`, 2, `{"max_attempts":2}`, start, w.now))
		equal(w, "actions", actions(audit(w)), "put p , put p ")
		equal(w, "kind, change", words(audit(w)[0].Kind, differences(audit(w)[0])),
			`policy max_attempts: 1 → 2`)
	}},
	{"ApplyTakesInADocumentOfNoSet", func(w *world) {
		w.applyPolicies("", policy("p", "1"))
		equal(w, "saved", savedText(w.applyPolicies("team", policy("p", "1"))), "same p of team")
		d, err := w.Document(w.ctx, store.KindPolicy, "p")
		w.check(err)
		equal(w, "document", words(d.Set, d.Revision), "team 1")
		equal(w, "actions", actions(audit(w)), "adopt p , put p ")
	}},
	{"KindsAreApart", func(w *world) {
		other := policy("p", "2")
		other.Kind = "other"
		w.applyPolicies("", policy("p", "1"), other)
		list, _, err := w.Documents(w.ctx, store.KindPolicy, store.Page{Limit: 9})
		w.check(err)
		equal(w, "documents", len(list), 1)
		equal(w, "document", string(list[0].Doc), `{"max_attempts":1}`)
		w.check(w.DeleteDocument(w.ctx, "other", "p", nil, w.by()))
		_, err = w.Document(w.ctx, store.KindPolicy, "p")
		w.check(err)
	}},
	{"ListShowsEachDocumentOnce", func(w *world) {
		for i := range 7 {
			w.applyPolicies("", policy(fmt.Sprint("p", i), "1"))
		}
		var names []string
		page := store.Page{Limit: 3}
		for {
			list, next, err := w.Documents(w.ctx, store.KindPolicy, page)
			w.check(err)
			for _, d := range list {
				names = append(names, d.Name)
			}
			if len(names) == 3 {
				w.applyPolicies("", policy("newer", "1"))
				w.check(w.DeleteDocument(w.ctx, store.KindPolicy, "p2", nil, w.by()))
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
		equal(w, "documents", names, []string{"p6", "p5", "p4", "p3", "p1", "p0"})
		_, _, err := w.Documents(w.ctx, store.KindPolicy, store.Page{Limit: 1, Cursor: "x"})
		wantInvalid(w, err, "cursor")
	}},
	{"DeletedDocumentIsNotFound", func(w *world) {
		w.applyPolicies("", policy("p", "1"))
		w.wantErr(w.DeleteDocument(w.ctx, store.KindPolicy, "q", nil, w.by()), store.ErrNotFound)
		w.wantErr(w.DeleteDocument(w.ctx, store.KindPolicy, "p", new(int64(2)), w.by()), store.ErrStale)
		w.check(w.DeleteDocument(w.ctx, store.KindPolicy, "p", new(int64(1)), w.by()))
		_, err := w.Document(w.ctx, store.KindPolicy, "p")
		w.wantErr(err, store.ErrNotFound)
		equal(w, "actions", actions(audit(w)), "delete p , put p ")
		equal(w, "created", w.applyPolicies("", policy("p", "1")).Documents[0].Created, true)
	}},
	{"PolicyDefaultAlwaysStands", func(w *world) {
		w.put(naming("a", jobs.PolicyDefault))
		_, err := w.Document(w.ctx, store.KindPolicy, jobs.PolicyDefault)
		w.wantErr(err, store.ErrNotFound)
		w.applyPolicies("team", policy(jobs.PolicyDefault, "3"))
		// Named or not, the built-in one is put back.
		w.check(w.DeleteDocument(w.ctx, store.KindPolicy, jobs.PolicyDefault, nil, w.by()))
		w.applyPolicies("team", policy(jobs.PolicyDefault, "3"))
		out, err := w.Save(w.ctx, store.Changes{Set: "team", Prune: true}, w.by())
		w.check(err)
		equal(w, "saved", savedText(out), "removed policy default with 0 runs")
		w.put(naming("b", jobs.PolicyDefault))
	}},
}
