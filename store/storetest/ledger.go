package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"nightshift/jobs"
	"nightshift/store"
)

// diff is "" where two values are equal.
func diff(got, want any) string { return cmp.Diff(got, want) }

// audit reads all of it in small pages.
func audit(w *world) (all []store.AuditEntry) {
	w.Helper()
	page := store.Page{Limit: 2}
	for {
		list, next, err := w.Audit(w.ctx, store.AuditFilter{}, page)
		w.check(err)
		all = append(all, list...)
		if page.Cursor = next; next == "" {
			return all
		}
	}
}

// differences are those of an entry, in a line.
func differences(e store.AuditEntry) string {
	var all []string
	for _, c := range e.Changes {
		all = append(all, strings.Join(strings.Fields(fmt.Sprintf("%s: %s → %s", c.Location, c.Before, c.After)), " "))
	}
	return strings.Join(all, ", ")
}

func actions(list []store.AuditEntry) string {
	var all []string
	for _, e := range list {
		all = append(all, e.Action+" "+e.Name+" "+e.Note)
	}
	return strings.Join(all, ", ")
}

var ledgerClaims = []claim{
	{"EveryChangeIsInTheAudit", func(w *world) {
		w.jobs("a")
		w.tick(time.Second)
		by := w.by()
		by.Note = "because"
		id := w.enqueue("a", dueIn(time.Hour)).ID
		w.check(w.RunNow(w.ctx, id, by))
		_, err := w.Cancel(w.ctx, id, by)
		w.check(err)
		again, err := w.Requeue(
			w.ctx,
			store.Requeue{
				Of:      id,
				ID:      w.ids.Next(w.now.Std()),
				Trigger: jobs.TriggerRequeue,
				By:      by,
			},
		)
		w.check(err)
		w.check(w.Remove(w.ctx, id, by))
		w.put(webhook("a", "2", ""))
		_, err = w.UpgradeRuns(w.ctx, "a", by)
		w.check(err)
		_, err = w.DeleteJob(w.ctx, "a", nil, by)
		w.check(err)
		list := audit(w)
		equal(w, "actions", actions(list), fmt.Sprintf(
			"delete a because, upgrade-runs a because, put a , remove %s because, requeue %s because, cancel %s because, run-now %s because, put a ",
			id,
			id,
			id,
			id,
		))
		equal(w, "entry", words(list[4].At, list[4].Actor, list[4].Kind, differences(list[4])),
			words(w.now, "token tester", "run", `requeued_to: → "`+again.ID.String()+`"`))
	}},
	{"NoteIsInTheAuditAndChangesNothingElse", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a", dueIn(time.Hour)).ID
		run, entries := w.run(id), len(audit(w))
		w.tick(time.Second)
		by := w.by()
		by.Note = "before the upgrade"
		w.check(w.Note(w.ctx, by, "drain", "server", "server"))
		list := audit(w)
		equal(w, "entries", len(list), entries+1)
		list[0].ID = 0
		equal(w, "entry", diff(list[0], store.AuditEntry{
			At: w.now, Actor: "token tester", Action: "drain", Kind: "server", Name: "server",
			Note: "before the upgrade",
		}), "")
		equal(w, "the run", diff(w.run(id), run), "")
		w.reopen()
		equal(w, "entries after a start", len(audit(w)), entries+1)
	}},
	{"CursorThatIsNoneIsInvalid", func(w *world) {
		_, _, err := w.Audit(w.ctx, store.AuditFilter{}, store.Page{Limit: 1, Cursor: "-1"})
		wantInvalid(w, err, "cursor")
	}},
	{"FloorIsTheLargestNumber", func(w *world) {
		floor, err := w.Floor(w.ctx)
		w.check(err)
		equal(w, "floor of nothing", floor, 0)
		w.jobs("a")
		ids := w.enqueueN(3, "a")
		floor, err = w.Floor(w.ctx)
		w.check(err)
		equal(w, "floor", floor, ids[2].Seq())
	}},
	{"ProbeAndTidyWork", func(w *world) {
		w.check(w.Probe(w.ctx, w.now))
		w.check(w.Probe(w.ctx, w.now+1))
		w.check(w.Tidy(w.ctx, false))
		w.check(w.Tidy(w.ctx, true))
	}},
	{"StatsCountWhatHasNotEnded", func(w *world) {
		stats, err := w.Stats(w.ctx)
		w.check(err)
		equal(w, "stats of nothing", stats[jobs.Queued], 0)
		w.jobs("a")
		w.enqueueN(6, "a")
		w.enqueueN(3, "a", dueIn(time.Hour))
		ls := w.take(3)
		w.succeed(ls[0])
		w.apply(w.retrying(ls[1], time.Hour))
		stats, err = w.Stats(w.ctx)
		w.check(err)
		for s, n := range map[jobs.State]int{jobs.Scheduled: 3, jobs.Queued: 3, jobs.Running: 1, jobs.Retrying: 1, jobs.Succeeded: 0} {
			equal(w, "runs that are "+s.String(), stats[s], n)
		}
	}},
	{"ClosedStoreSaysSo", func(w *world) {
		s := w.Store
		w.check(s.Close())
		w.check(s.Close())
		w.wantErr(s.Probe(w.ctx, w.now), store.ErrClosed)
		_, err := s.Stats(w.ctx)
		w.wantErr(err, store.ErrClosed)
		w.Store = w.open(w.TB)
	}},
}

var tokenClaims = []claim{
	{"TokenComesBack", func(w *world) {
		t := token("ci", 1)
		t.ExpiresAt, t.Jobs = w.now.Add(time.Hour), []string{"mail-*", "x"}
		created, err := w.PutToken(w.ctx, t, nil, w.by())
		w.check(err)
		equal(w, "created", created, true)
		t.CreatedAt, t.Revision = w.now, 1
		w.check(w.TouchTokens(w.ctx, map[string]jobs.Time{"ci": w.now + 5, "nobody": 1}))
		t.LastUsed = w.now + 5
		w.reopen()
		list, err := w.Tokens(w.ctx)
		w.check(err)
		if d := diff(list, []store.Token{t}); d != "" {
			w.Fatal(d)
		}
	}},
	{"ZeroHashKeepsTheSecret", func(w *world) {
		w.putToken(token("ci", 1))
		t := token("ci", 0)
		t.Scopes = []string{"admin"}
		w.putToken(t)
		list, err := w.Tokens(w.ctx)
		w.check(err)
		equal(w, "token", words(list[0].Hash[0], list[0].Scopes, list[0].Revision), "1 [admin] 2")
	}},
	{"SameTokenAgainChangesNothing", func(w *world) {
		w.putToken(token("ci", 1))
		w.putToken(token("ci", 1))
		equal(w, "audit", actions(audit(w)), "put ci ")
	}},
	{"NoJobsIsNotAllJobs", func(w *world) {
		t := token("ci", 1)
		for _, narrowed := range [][]string{nil, {}, nil, {"a"}} {
			t.Jobs = narrowed
			w.putToken(t)
			list, err := w.Tokens(w.ctx)
			w.check(err)
			equal(w, "jobs", fmt.Sprintf("%#v", list[0].Jobs), fmt.Sprintf("%#v", narrowed))
		}
	}},
	{"IfMatchDemandsTheRevision", func(w *world) {
		_, err := w.PutToken(w.ctx, token("ci", 1), new(int64(1)), w.by())
		w.wantErr(err, store.ErrStale)
		w.putToken(token("ci", 1))
		_, err = w.PutToken(w.ctx, token("ci", 2), new(int64(2)), w.by())
		w.wantErr(err, store.ErrStale)
		_, err = w.PutToken(w.ctx, token("ci", 2), new(int64(1)), w.by())
		w.check(err)
	}},
	{"DeletedTokenIsGone", func(w *world) {
		w.putToken(token("ci", 1))
		w.check(w.DeleteToken(w.ctx, "ci", w.by()))
		w.wantErr(w.DeleteToken(w.ctx, "ci", w.by()), store.ErrNotFound)
		list, err := w.Tokens(w.ctx)
		w.check(err)
		equal(w, "tokens", len(list), 0)
	}},
}

func token(name string, hash byte) store.Token {
	return store.Token{Name: name, Hash: [32]byte{hash}, Scopes: []string{"read", "enqueue"}}
}

func (w *world) putToken(t store.Token) {
	w.Helper()
	_, err := w.PutToken(w.ctx, t, nil, w.by())
	w.check(err)
}

var logClaims = []claim{
	{"PiecesComeBackOldestFirst", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.takeOne()
		w.check(w.AppendLog(w.ctx, []store.LogPiece{
			{Run: id, Attempt: 2, Piece: 0, Offset: 0, Data: []byte("second")},
			{Run: id, Attempt: 1, Piece: 1, Offset: 900, Data: []byte("tail ")},
			{Run: id, Attempt: 1, Piece: 0, Offset: 0, Data: []byte("head ")},
			{Run: id, Attempt: 1, Piece: 2, Offset: 300, Data: []byte("\x00\xff ")},
		}))
		equal(w, "output", logText(w, id), "head \x00\xff tail second")
		w.check(w.AppendLog(w.ctx, []store.LogPiece{
			{Run: id, Attempt: 1, Piece: 1, Offset: 950, Data: []byte("newer ")},
			{Run: id, Attempt: 1, Piece: 2, Drop: true},
		}))
		equal(w, "output", logText(w, id), "head newer second")
	}},
	{"LongOutputComesWholeAndOnce", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.takeOne()
		var want strings.Builder
		for i := range 100 {
			data := strings.Repeat(fmt.Sprint(i%10), 64<<10)
			piece := store.LogPiece{Run: id, Attempt: 1, Piece: i, Offset: int64(want.Len()), Data: []byte(data)}
			w.check(w.AppendLog(w.ctx, []store.LogPiece{piece}))
			want.WriteString(data)
		}
		if got := logText(w, id); got != want.String() {
			w.Fatalf("%d bytes came back, want %d", len(got), want.Len())
		}
	}},
	{"LastOfItComesWithTheFinish", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		f := w.succeeded(w.takeOne())
		f.Log = []store.LogPiece{{Run: id, Attempt: 1, Data: []byte("bye")}}
		w.apply(f)
		equal(w, "output", logText(w, id), "bye")
	}},
	{"OutputOfARunThatIsGoneIsDropped", func(w *world) {
		w.jobs("a")
		id := w.failOne("a")
		w.check(w.Remove(w.ctx, id, w.by()))
		w.check(w.AppendLog(w.ctx, []store.LogPiece{{Run: id, Attempt: 1, Data: []byte("late")}}))
		w.wantErr(w.Store.Log(w.ctx, id, func(store.LogPiece) error { return nil }),
			store.ErrNotFound)
	}},
	{"ErrorOfTheReaderEndsIt", func(w *world) {
		w.jobs("a")
		id := w.enqueue("a").ID
		w.takeOne()
		w.check(w.AppendLog(w.ctx, []store.LogPiece{{Run: id, Attempt: 1, Data: []byte("x")}}))
		stop := fmt.Errorf("enough")
		w.wantErr(w.Store.Log(w.ctx, id, func(store.LogPiece) error { return stop }), stop)
	}},
}

func logText(w *world, id jobs.ID) string {
	w.Helper()
	var b strings.Builder
	w.check(w.Store.Log(w.ctx, id, func(p store.LogPiece) error {
		b.Write(p.Data)
		return nil
	}))
	return b.String()
}
