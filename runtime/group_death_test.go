package runtime_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// mortal is a store whose process dies around one of its writes: before it, or when it is on disk and nobody
// has been told.
type mortal struct {
	store.Store
	at, calls int // the call that it dies at, from 1; the calls so far
	after     bool
	mu        sync.Mutex
	dead      chan struct{}
}

func (m *mortal) write(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.dead:
		return store.ErrClosed
	default:
	}
	m.calls++
	if m.calls != m.at {
		return do()
	}
	defer close(m.dead)
	if m.after {
		_ = do()
	}
	return store.ErrClosed
}

func (m *mortal) Claim(ctx context.Context, c store.Claim) (got store.Claimed, err error) {
	err = m.write(func() (err error) {
		got, err = m.Store.Claim(ctx, c)
		return err
	})
	return got, err
}

func (m *mortal) KeepPayload(ctx context.Context, f store.Fence, payload jobs.Raw) error {
	return m.write(func() error { return m.Store.KeepPayload(ctx, f, payload) })
}

// A death of the server at any moment changes nothing: there is one merge, with all results, and the group
// has one attempt.
func TestAGroupOutlivesADeathOfTheServerInEachOfItsPhases(t *testing.T) {
	died := true
	for at := 1; died; at++ {
		for _, after := range []bool{false, true} {
			if raced && at%3 != 1 {
				continue // a sample
			}
			t.Run(fmt.Sprint(at, after), func(t *testing.T) {
				died = dieAt(t, at, after)
			})
		}
		if at > 60 {
			t.Fatal("it takes too many claims")
		}
	}
}

func dieAt(t *testing.T, at int, after bool) (died bool) {
	g := newGrouped(t)
	m := &mortal{Store: g.st, at: at, after: after, dead: make(chan struct{})}
	g.job("merge", slow(2*time.Millisecond, `"merged"`))
	g.job("a", slow(2*time.Millisecond, `"a"`))
	g.job("b", slow(4*time.Millisecond, `"b"`))
	g.job("next", good("1"))
	g.group("inner", `"merge":{"job":"merge"}`, "b")
	g.put(`{"name":"g","on_success":[{"job":"next"}],"group":{"merge":{"job":"merge"},` +
		`"members":[{"name":"a","job":"a"},{"name":"inner","job":"inner"}]}}`)
	g.revive(m)
	id := g.submit(jobs.Request{Job: "g"})
	g.rt.Start()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = g.rt.AwaitEnd(context.Background(), id)
	}()
	select {
	case <-m.dead:
		died = true
	case <-over:
	}
	kill := make(chan struct{})
	close(kill)
	_ = g.rt.Stop(kill) // of a dead one: what it had under way has no end
	g.rt.Bury()
	<-over
	g.close()
	g.open()
	g.rt.Start()
	run := g.awaitEnd(id)
	if run.State != jobs.Succeeded || string(run.Result) != `"merged"` || len(run.Attempts) != 1 || run.Counts.Number != 1 {
		t.Errorf("the group is %s (%v) with %+v", run.State, run.Error, run.Attempts)
	}
	inner := g.members(id)["inner"].ID
	for of, want := range map[jobs.ID]string{id: "[a inner] [] []", inner: "[b] [] []"} {
		info := g.info(of)
		if info.Phase != store.GroupOver || len(info.Merges) != 1 {
			t.Errorf("a group is in phase %d, with %d merges", info.Phase, len(info.Merges))
			continue
		}
		merge := readMerged(t, g.run(info.Merges[0].ID).Payload)
		if merge.counts() != want {
			t.Errorf("a merge got %s, want %s", merge.counts(), want)
		}
	}
	next, _, err := g.st.Runs(context.Background(), store.RunFilter{Job: "next"}, store.Page{Limit: 10})
	if err != nil || len(next) != 1 {
		t.Errorf("%d runs follow (%v)", len(next), err)
	}
	g.stop()
	return died
}

func TestAGroupCancelledAsItStartsIsCancelledThoughTheServerDies(t *testing.T) {
	g := newGrouped(t)
	defer g.close()
	g.job("a", good("1"))
	g.group("g", "", "a")
	id := g.submit(jobs.Request{Job: "g"})
	claim := store.Claim{Now: g.rt.Now()}
	claim.Free[store.PoolGroup], claim.Workers[store.PoolGroup] = 1, 1
	got, err := g.st.Claim(context.Background(), claim)
	if err != nil || len(got.Leases) != 1 || got.Leases[0].Group == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if out, err := g.st.Cancel(context.Background(), id, store.By{Now: g.rt.Now()}); err != nil || out.State == jobs.Cancelled {
		t.Fatal(out, err)
	}
	g.close()
	g.open()
	if run := g.run(id); run.State != jobs.Cancelled || len(run.Attempts) != 1 || len(g.members(id)) != 0 {
		t.Errorf("it is %s with %+v", run.State, run.Attempts)
	}
}
