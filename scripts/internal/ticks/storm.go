package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// lone is a job one run of which may be active.
const lone = "lone"

// alike are schedules of all sorts, whose texts stay as they are.
func alike(now int64) []*schedule {
	return []*schedule{
		{name: "secondly", job: "quick", text: secondly(), overlap: "queue", mode: "latest"},
		{name: "few", job: "quick", text: secondly(), overlap: "allow", mode: "all", limit: 5},
		{name: "window", job: "quick", text: every(1), overlap: "allow", mode: "all", window: 4 * time.Second},
		{name: "none", job: "quick", text: stepping("*/2 * * * * *", 0, 2), overlap: "skip", mode: "none"},
		{name: "skip", job: "slow", text: every(1), overlap: "skip", mode: "latest"},
		{name: "queue", job: "slow", text: stepping("0/2 * * * * *", 0, 2), overlap: "queue", mode: "latest"},
		{name: "replace", job: "slow", text: every(2), overlap: "replace", mode: "latest"},
		{name: "allow", job: "slow", text: stepping("1/3 * * * * *", 1, 3), overlap: "allow", mode: "all", limit: 3},
		{name: "spread", job: "quick", text: every(5), overlap: "queue", mode: "all", spread: 3 * time.Second},
		{name: "minutely", job: "quick", text: stepping("* * * * *", 0, 60), overlap: "queue", mode: "all"},
		{
			name: "uneven", job: "quick", overlap: "queue", mode: "latest",
			text: text{cron: "3,7,8,29-31,50,58-1 * * * * *", seconds: []int{0, 1, 3, 7, 8, 29, 30, 31, 50, 58, 59}},
		},
		{name: "begins", job: "quick", text: text{every: 3, start: now + 4}, overlap: "queue", mode: "all"},
		{name: "ends", job: "quick", text: text{every: 2, start: now - 1001, end: now + 10}, overlap: "skip", mode: "all", limit: 2},
		{name: "starts", job: "quick", text: text{cron: "@reboot"}, overlap: "allow", mode: "latest"},
		{name: lone, job: lone, text: every(1), overlap: "allow", mode: "all"},
	}
}

// edited are schedules that are changed all the time, by sorts.
func edited() (texts, pauses, customers, nested []*schedule) {
	modes := []string{"latest", "all", "none"}
	for i := range 3 {
		texts = append(texts, &schedule{
			name: fmt.Sprint("edited-", i), job: "quick", text: every(1), mode: modes[i],
			overlap: []string{"queue", "allow", "skip"}[i],
		})
		customers = append(customers, &schedule{
			name: fmt.Sprint("customer-", i), job: "customers", text: secondly(), mode: modes[i], overlap: "queue",
		})
	}
	for i := range 2 {
		pauses = append(pauses, &schedule{
			name: fmt.Sprint("paused-", i), job: "quick", text: every(1), mode: modes[i], overlap: "allow",
		})
		nested = append(nested, &schedule{
			name: fmt.Sprint("nested:", i), job: "nested", inJob: true, text: every(1), mode: modes[i], overlap: "queue",
		})
	}
	return texts, pauses, customers, nested
}

// storm kills the server about ticks, while schedules are edited and runs enqueued.
func storm(ctx context.Context, l *lab) error {
	if err := l.start(); err != nil {
		return err
	}
	unique := map[string]any{"unique": map[string]any{"key": "'one'", "while": "active"}}
	for _, j := range []struct {
		name, path string
		more       map[string]any
	}{
		{"quick", "/quick", nil},
		{"slow", "/slow", nil},
		{lone, "/lone", unique},
		{"customers", "/quick", nil},
		{"nested", "/quick", nil},
		{"load", "/quick", nil},
	} {
		if err := l.register(ctx, j.name, j.path, j.more); err != nil {
			return err
		}
	}
	texts, pauses, customers, nested := edited()
	if err := l.add(ctx, slices.Concat(alike(time.Now().Unix()), texts, pauses, customers, nested)...); err != nil {
		return err
	}
	token, err := l.enqueueToken(ctx, "customers")
	if err != nil {
		return err
	}
	work, end := context.WithCancel(ctx)
	defer end()
	var busy sync.WaitGroup
	for i, edit := range []func(*rand.Rand) error{
		func(random *rand.Rand) error { return l.putAnother(ctx, random, pick(random, texts)) },
		func(random *rand.Rand) error { return l.putAnother(ctx, random, pick(random, nested)) },
		func(random *rand.Rand) error { s := pick(random, pauses); return l.pause(ctx, s, !s.paused()) },
		func(random *rand.Rand) error {
			return l.comeAndGo(ctx, l.server.With(token), random, pick(random, customers))
		},
	} {
		busy.Go(func() { l.edit(work, rand.New(rand.NewPCG(l.seed, uint64(i))), edit) })
	}
	for i := range 2 {
		busy.Go(func() { l.load(work, ctx, i) })
	}
	early, err := l.killAll(ctx)
	end()
	if err != nil {
		return err
	}
	busy.Wait()
	l.note("kills", fmt.Sprintf("%d (%d of them before it was ready)", l.kills, early))
	for _, s := range pauses {
		if s.paused() {
			if err := l.pause(ctx, s, false); err != nil {
				return err
			}
		}
	}
	return l.settle(ctx)
}

func pick(random *rand.Rand, list []*schedule) *schedule { return list[random.IntN(len(list))] }

// killAll kills about whole seconds; one start in eight is killed before it is ready or just then.
func (l *lab) killAll(ctx context.Context) (early int, err error) {
	for n := 1; n <= l.kills; n++ {
		later := time.Duration(l.random.Float64() * float64(3*time.Second))
		if err := l.sleep(ctx, about(l.random, later, 300*time.Millisecond)); err != nil {
			return early, err
		}
		if err := l.kill(); err != nil {
			return early, err
		}
		if err := l.stayDown(ctx); err != nil {
			return early, err
		}
		for n < l.kills && l.random.IntN(8) == 0 {
			if err := l.begin(); err != nil {
				return early, err
			}
			if err := l.sleep(ctx, time.Duration(l.random.IntN(400))*time.Millisecond); err != nil {
				return early, err
			}
			if err := l.kill(); err != nil {
				return early, err
			}
			early++
			n++
		}
		if err := l.start(); err != nil {
			return early, fmt.Errorf("after kill %d: %w", n, err)
		}
		if n%20 == 0 {
			fmt.Printf("ticks: %d kills\n", n)
		}
	}
	return early, nil
}

// stayDown leaves the server dead for a while, or not at all.
func (l *lab) stayDown(ctx context.Context) error {
	if l.random.IntN(10) < 4 {
		return nil
	}
	select {
	case <-time.After(time.Duration(l.random.Float64() * float64(l.down))):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// edit changes schedules until its context ends, mostly about whole seconds.
func (l *lab) edit(ctx context.Context, random *rand.Rand, change func(*rand.Rand) error) {
	for {
		wait := time.Duration(random.Float64() * float64(2*time.Second))
		if random.IntN(3) > 0 {
			wait = about(random, wait, 60*time.Millisecond)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		if err := change(random); err != nil {
			l.surprise("%v", err)
			return
		}
	}
}

// putAnother gives a schedule another text.
func (l *lab) putAnother(ctx context.Context, random *rand.Rand, s *schedule) error {
	for {
		now := time.Now().Unix()
		t := []text{
			secondly(), every(1), every(2), every(3), stepping("*/3 * * * * *", 0, 3), stepping("1/4 * * * * *", 1, 4),
			{every: 2, start: now + random.Int64N(5)},
			{every: 1, start: now - 100, end: now + 1 + random.Int64N(6)},
		}[random.IntN(8)]
		if !t.equal(&s.text) {
			return l.put(ctx, l.server.API, s, t)
		}
	}
}

// comeAndGo deletes a schedule, makes it again, or changes it.
func (l *lab) comeAndGo(ctx context.Context, api rig.API, random *rand.Rand, s *schedule) error {
	switch {
	case !s.stands():
		return l.put(ctx, api, s, every(1+random.Int64N(3)))
	case random.IntN(3) > 0:
		return l.delete(ctx, api, s)
	}
	t := every(1 + s.text.every%3)
	return l.put(ctx, api, s, t)
}

// enqueueToken makes a token that may enqueue runs of one job, and gives its secret.
func (l *lab) enqueueToken(ctx context.Context, job string) (string, error) {
	var made struct{ Secret string }
	_, err := l.server.Do(ctx, http.MethodPut, "/v1/tokens/customers", "", map[string]any{
		"scopes": []string{"enqueue"}, "jobs": []string{job},
	}, &made)
	if err == nil && made.Secret == "" {
		err = errors.New("the new token has no secret")
	}
	return made.Secret, err
}

// load enqueues runs until its context ends.
func (l *lab) load(ctx, patience context.Context, client int) {
	for n := 0; ctx.Err() == nil; n++ {
		_, _, err := l.server.Enqueue(patience, "load", fmt.Sprintf("load-%d-%d", client, n), map[string]int{"n": n})
		var answer *rig.StatusError
		if errors.As(err, &answer) && !answer.Passing() {
			l.surprise("enqueue: %v", err)
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
