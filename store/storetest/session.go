package storetest

import (
	"nightshift/jobs"
	"nightshift/store"
)

// session is one of a token that lasts for a second.
func (w *world) session(id, token string, hash byte) store.Session {
	return store.Session{
		ID: id, Hash: [32]byte{hash}, Token: token, From: "10.0.0.1", Agent: "a browser",
		CreatedAt: w.now, LastUsed: w.now, Until: w.now + 1000,
	}
}

// link is a session that nobody has begun.
func (w *world) link(id, token string, hash byte) store.Session {
	v := w.session(id, token, hash)
	v.Link, v.From, v.Agent, v.LastUsed = true, "", "", 0
	return v
}

func (w *world) wantSessions(want ...store.Session) {
	w.Helper()
	list, err := w.Sessions(w.ctx, w.now)
	w.check(err)
	if d := diff(list, want); d != "" {
		w.Fatal(d)
	}
}

var sessionClaims = []claim{
	{"SessionComesBackUntilItsTimeIsOver", func(w *world) {
		w.putToken(token("ci", 1))
		short, long := w.session("a", "ci", 10), w.session("b", "ci", 11)
		long.Until += 1000
		w.check(w.PutSession(w.ctx, short, w.by()))
		w.check(w.PutSession(w.ctx, long, w.by()))
		w.wantErr(w.PutSession(w.ctx, w.session("c", "nobody", 12), w.by()), store.ErrNotFound)
		w.check(w.TouchSessions(w.ctx, map[string]jobs.Time{"b": w.now + 7, "nobody": 1}))
		long.LastUsed = w.now + 7
		w.reopen()
		w.wantSessions(long, short)
		w.now += 1000
		w.wantSessions(long)
	}},
	{"SessionEndsWithItsTokenOrByItself", func(w *world) {
		w.putToken(token("ci", 1))
		w.putToken(token("ops", 2))
		w.check(w.PutSession(w.ctx, w.session("a", "ci", 10), w.by()))
		w.check(w.PutSession(w.ctx, w.session("b", "ops", 11), w.by()))
		w.check(w.DeleteToken(w.ctx, "ci", w.by()))
		w.wantSessions(w.session("b", "ops", 11))
		w.check(w.DeleteSession(w.ctx, "b", w.by()))
		w.wantErr(w.DeleteSession(w.ctx, "b", w.by()), store.ErrNotFound)
		w.wantSessions()
	}},
	{"LinkBeginsOneSession", func(w *world) {
		w.putToken(token("ci", 1))
		w.check(w.PutSession(w.ctx, w.link("l", "ci", 20), w.by()))
		_, err := w.UseLink(w.ctx, [32]byte{21}, w.session("x", "", 30), w.by())
		w.wantErr(err, store.ErrNotFound)
		got, err := w.UseLink(w.ctx, [32]byte{20}, w.session("s", "", 31), w.by())
		w.check(err)
		if d := diff(got, w.session("s", "ci", 31)); d != "" {
			w.Fatal(d)
		}
		w.wantSessions(got)
		for _, hash := range []byte{20, 31} { // used; a session is no link
			_, err = w.UseLink(w.ctx, [32]byte{hash}, w.session("t", "", 32), w.by())
			w.wantErr(err, store.ErrNotFound)
		}
		last := audit(w)[0]
		equal(w, "audit", words(last.Actor, last.Action, last.Kind, last.Name), "sign-in ci sign-in session s")
	}},
	{"LinkWhoseTimeIsOverOpensNothing", func(w *world) {
		w.putToken(token("ci", 1))
		w.check(w.PutSession(w.ctx, w.link("l", "ci", 20), w.by()))
		w.now += 1000
		_, err := w.UseLink(w.ctx, [32]byte{20}, w.session("s", "", 31), w.by())
		w.wantErr(err, store.ErrNotFound)
		w.wantSessions()
	}},
}
