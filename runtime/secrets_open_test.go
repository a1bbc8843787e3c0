package runtime_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"nightshift/jobs"
	"nightshift/store"
)

// secret saves a secret as an administrator does.
func (s *server) secret(name, value string) {
	s.t.Helper()
	_, _, err := s.rt.Secrets().Put(context.Background(), name, value, store.By{Actor: "test", Now: s.rt.Now()}, anySecret)
	if err != nil {
		s.t.Fatal(err)
	}
}

func naming(job, secret string) string {
	return `{"name":"` + job + `","webhook":{"url":"http://x.test","headers":{"X":"{{ secrets.` + secret + ` }}"}}}`
}

func TestJobsThatNeedTheSameSecretsShareOneMask(t *testing.T) {
	var mu sync.Mutex
	masks := map[string]*jobs.Mask{}
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		mu.Lock()
		defer mu.Unlock()
		masks[c.Job] = c.Mask
		return jobs.Report{ExitCode: -1}
	})
	for job, secret := range map[string]string{"a": "ONE", "b": "ONE", "c": "TWO"} {
		s.put(naming(job, secret))
	}
	s.secret("ONE", "value-of-one")
	s.secret("TWO", "value-of-two")
	s.rt.Start()
	defer s.stop()
	runAll := func() map[string]*jobs.Mask {
		for _, job := range []string{"a", "b", "c"} {
			s.awaitEnd(s.submit(jobs.Request{Job: job}))
		}
		mu.Lock()
		defer mu.Unlock()
		return map[string]*jobs.Mask{"a": masks["a"], "b": masks["b"], "c": masks["c"]}
	}
	first := runAll()
	if first["a"] != first["b"] || first["a"] == first["c"] {
		t.Error("a and b need the same secret and have two masks, or c has theirs")
	}
	s.secret("ONE", "changed-value")
	then := runAll()
	if got := then["b"].Text("changed-value of value-of-one"); got != "*** of value-of-one" {
		t.Errorf("after a change the mask gives %q", got)
	}
}

// counting counts the runs that are given out.
type counting struct {
	store.Store
	leases atomic.Int64
}

func (c *counting) Claim(ctx context.Context, claim store.Claim) (store.Claimed, error) {
	got, err := c.Store.Claim(ctx, claim)
	c.leases.Add(int64(len(got.Leases)))
	return got, err
}

func TestPutOfASecretTriesOnlyRunsThatWaitForIt(t *testing.T) {
	s := newServer(t, succeed)
	st := &counting{Store: s.st}
	s.revive(st)
	s.put(naming("a", "ONE"))
	s.put(naming("b", "TWO"))
	s.rt.Start()
	defer s.stop()
	var waiting []jobs.ID
	for range 3 {
		waiting = append(waiting, s.submit(jobs.Request{Job: "a"}))
	}
	other := s.submit(jobs.Request{Job: "b"})
	for _, id := range append(slices.Clone(waiting), other) {
		s.awaitHeld(id)
	}
	before := st.leases.Load()
	s.secret("TWO", "value-of-two")
	s.awaitEnd(other)
	if got := st.leases.Load() - before; got != 1 {
		t.Errorf("%d runs were given out, want the one that waited for the secret", got)
	}
	s.secret("ONE", "value-of-one")
	for _, id := range waiting {
		s.awaitEnd(id)
	}
}

// awaitHeld waits until a run waits for a secret.
func (s *server) awaitHeld(id jobs.ID) {
	s.t.Helper()
	changed, stop := s.rt.Changes(id)
	defer stop()
	for {
		if held := s.run(id).HeldBy; held != nil && held.Kind == jobs.HeldSecret {
			return
		}
		<-changed
	}
}
