package storetest

import (
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

var auditClaims = []claim{
	{"AuditTellsTheDifference", func(w *world) {
		w.applyPolicies("", policy("p", "1"))
		equal(w, "made", differences(audit(w)[0]), "max_attempts: → 1")
		w.applyPolicies("team", policy("p", "2"))
		equal(w, "changed", differences(audit(w)[0]), `max_attempts: 1 → 2, set: → "team"`)
		w.put(webhook("a", "", ""))
		w.put(webhook("a", "2", ""))
		equal(w, "job", differences(audit(w)[0]), `webhook.url: "http://127.0.0.1:9/" → "http://127.0.0.1:9/2", version: 1 → 2`)
		w.pause("a", true, "they move")
		equal(w, "paused", differences(audit(w)[0]), `paused: false → true, pause_note: "" → "they move"`)
		w.pause("a", true, "still")
		equal(w, "told why", differences(audit(w)[0]), `pause_note: "they move" → "still"`)
		id := w.enqueue("a", dueIn(time.Hour)).ID
		_, err := w.Cancel(w.ctx, id, w.by())
		w.check(err)
		equal(w, "cancelled", differences(audit(w)[0]), `state: "scheduled" → "cancelled"`)
		w.putToken(token("ci", 1))
		equal(w, "token", differences(audit(w)[0]), `scopes: → ["read","enqueue"]`)
		t := token("ci", 2)
		t.Jobs = []string{"a"}
		w.putToken(t)
		equal(w, "token", differences(audit(w)[0]), `jobs: → ["a"], secret: "***" → "***"`)
		w.check(w.DeleteToken(w.ctx, "ci", w.by()))
		equal(w, "token", differences(audit(w)[0]), `scopes: ["read","enqueue"] →, jobs: ["a"] →`)
	}},
	{"AuditTellsHowAPayloadWasEdited", func(w *world) {
		w.jobs("a")
		id := w.enqueueFor("a", `{"to":"x","n":[1,2]}`)
		_, err := w.Cancel(w.ctx, id, w.by())
		w.check(err)
		again, err := w.Requeue(w.ctx, store.Requeue{
			Of: id, ID: w.ids.Next(w.now.Std()), Trigger: jobs.TriggerRequeue, By: w.by(), Payload: jobs.Raw(`{"to":"y","n":[1,3]}`),
		})
		w.check(err)
		equal(w, "difference", differences(audit(w)[0]),
			`requeued_to: → "`+again.ID.String()+`", payload.to: "x" → "y", payload.n[1]: 2 → 3`)
	}},
	{"AuditIsFiltered", func(w *world) {
		for i := range 3 {
			for _, actor := range []string{"token x", "server"} {
				w.tick(time.Second)
				by := store.By{Actor: actor, Now: w.now}
				w.check(w.Note(w.ctx, by, "drain", "server", fmt.Sprint(i)))
				w.check(w.Note(w.ctx, by, "pause", "job", fmt.Sprint(i)))
			}
		}
		count := func(f store.AuditFilter) (n int) {
			page := store.Page{Limit: 2}
			for {
				list, next, err := w.Audit(w.ctx, f, page)
				w.check(err)
				n += len(list)
				if page.Cursor = next; next == "" {
					return n
				}
			}
		}
		since := w.now.Add(-2 * time.Second)
		for _, c := range []struct {
			f    store.AuditFilter
			want int
		}{
			{store.AuditFilter{}, 12},
			{store.AuditFilter{Actor: "server"}, 6},
			{store.AuditFilter{Action: "drain"}, 6},
			{store.AuditFilter{Kind: "job", Name: "1"}, 2},
			{store.AuditFilter{Name: "1", Actor: "server"}, 2},
			{store.AuditFilter{Name: "no such"}, 0},
			{store.AuditFilter{Since: since}, 6},
			{store.AuditFilter{Until: since}, 8},
			{store.AuditFilter{Since: since, Until: since, Kind: "job"}, 1},
			{store.AuditFilter{Since: w.now + 1}, 0},
			{store.AuditFilter{Until: 1}, 0},
		} {
			equal(w, fmt.Sprintf("entries of %+v", c.f), count(c.f), c.want)
		}
	}},
	{"AuditIsFoundByTimeThoughTheClockWentBack", func(w *world) {
		for _, at := range []jobs.Time{100, 200, 300, 150, 400} {
			w.check(w.Note(w.ctx, store.By{Actor: "server", Now: at}, "drain", "server", fmt.Sprint(int64(at))))
		}
		list, _, err := w.Audit(w.ctx, store.AuditFilter{Since: 120, Until: 250}, store.Page{Limit: 9})
		w.check(err)
		equal(w, "entries", actions(list), "drain 150 , drain 200 ")
	}},
	{"LongDifferenceIsBounded", func(w *world) {
		long := strings.Repeat("é", 50_000)
		text := func(s string) jobs.Raw { return jobs.AppendJSONString(nil, s) }
		var many []jobs.Change
		for i := range 5000 {
			many = append(many, jobs.Change{Location: fmt.Sprint("m", i), After: jobs.Raw("1")})
		}
		w.check(w.Note(w.ctx, w.by(), "x", "server", "middle", jobs.Change{
			Location: "source", Before: text(long + "\nold\n" + long), After: text(long + "\nnew\n" + long),
		}))
		w.check(w.Note(w.ctx, w.by(), "x", "server", "whole", jobs.Change{Location: "source", After: text(long)}))
		w.check(w.Note(w.ctx, w.by(), "x", "server", "many", many...))
		list := audit(w)
		equal(w, "fields", len(list[0].Changes), 101)
		equal(w, "the last", string(list[0].Changes[100].After), `"4900 more fields differ"`)
		whole := string(list[1].Changes[0].After)
		if len(whole) > 20<<10 || !strings.HasSuffix(whole, `… (100002 bytes in all)"`) {
			w.Errorf("%d bytes are kept of a long text: …%s", len(whole), whole[max(0, len(whole)-60):])
		}
		old, now := string(list[2].Changes[0].Before), string(list[2].Changes[0].After)
		if len(old) > 2000 || !strings.Contains(old, `\nold\n`) || !strings.Contains(now, `\nnew\n`) {
			w.Errorf("of what changed in the middle is kept:\n%s\n%s", old, now)
		}
	}},
}
