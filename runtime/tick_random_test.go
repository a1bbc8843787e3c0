package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// envTickSeed has TestRandomChangesOfSchedules do the same again.
const envTickSeed = "NIGHTSHIFT_TICK_SEED"

// Whatever is done to schedules, their jobs and their runs, while the clock is set and the server is away
// now and then: no tick makes two runs, no two runs of a schedule that must not overlap go side by side,
// none waits for ever, and of a schedule that nobody touches the ledger knows each tick.
func TestRandomChangesOfSchedules(t *testing.T) { // P9
	seed := rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv(envTickSeed), 10, 64); err == nil {
		seed = n
	}
	t.Logf("repeat with %s=%d", envTickSeed, seed)
	synctest.Test(t, func(t *testing.T) {
		c := changer{Rand: rand.New(rand.NewPCG(seed, 0)), began: time.Now()}
		c.server = newServer(t, c.execute)
		c.wall(&c.clock)
		c.rt.Start()
		synctest.Wait()
		c.putJob("a")
		c.putJob("b")
		c.putDoc("left", `{"cron":"*/15 * * * * *","catch_up":{"mode":"all","limit":20,"window":"5m"}}`)
		from := c.rt.Now()
		for range 80 {
			time.Sleep(time.Duration(c.IntN(12_000)) * time.Millisecond)
			c.change()
		}
		c.putJob("a")
		c.putJob("b")
		for _, job := range []string{"a", "b"} {
			_, err := c.rt.PauseJob(context.Background(), job, false, "", byTest)
			c.may(err)
		}
		for _, name := range []string{"x", "y", "free", "a:default", "b:default", "left:default"} {
			_, err := c.rt.PauseSchedule(context.Background(), name, true, "", byTest)
			c.may(err)
		}
		to := c.rt.Now()
		time.Sleep(2 * time.Hour)
		c.judge()
		c.judgeLedger("left:default", from, to)
		c.stop()
	})
}

// changer is a server to which this and that happens.
type changer struct {
	*server
	*rand.Rand
	clock settable
	began time.Time

	mu    sync.Mutex
	spans []runSpan
}

// runSpan is when an attempt of a run was executed.
type runSpan struct {
	run      jobs.ID
	from, to time.Duration
}

// execute takes a while, fails now and then, and does not always heed that it is to end.
func (c *changer) execute(ctx context.Context, call *jobs.Call) jobs.Report {
	how := int(call.Run.Tail()>>8) & 15
	takes := time.Duration(call.Run.Tail()&0xff) * 100 * time.Millisecond
	report := jobs.Report{ExitCode: -1}
	if how == 0 {
		ctx, takes = context.WithoutCancel(ctx), min(takes, 15*time.Second)
	}
	from := time.Since(c.began)
	select {
	case <-ctx.Done():
		report.Stopped = context.Cause(ctx)
	case <-time.After(takes):
		if how == 1 || how == 2 {
			report.Failure = unreachable()
		}
	}
	c.mu.Lock()
	c.spans = append(c.spans, runSpan{call.Run, from, time.Since(c.began)})
	c.mu.Unlock()
	return report
}

func (c *changer) of(list ...string) string { return list[c.IntN(len(list))] }

// may lets faults pass that come of what was done before.
func (c *changer) may(err error) {
	c.t.Helper()
	var entry *store.EntryError
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrState) && !errors.As(err, &entry) {
		c.t.Error(err)
	}
}

func (c *changer) putJob(name string) {
	schedule := c.of("", `{"cron":"*/10 * * * * *","overlap":"`+c.of("queue", "skip", "replace")+`","catch_up":{"mode":"`+
		c.of("none", "latest", "all")+`"}}`)
	c.putDoc(name, schedule)
}

func (c *changer) putDoc(name, schedule string) {
	c.put(fmt.Sprintf(`{"name":%q,"webhook":{"url":"http://127.0.0.1:9/%d"},"retry":{"max_attempts":2,"backoff":`+
		`{"kind":"fixed","base":"8s","jitter":0}},"schedules":[%s]}`, name, c.IntN(3), schedule))
}

func (c *changer) putSchedule(name, overlap string) {
	doc := fmt.Sprintf(`{"job":%q,"cron":"*/%s * * * * *","overlap":%q,"catch_up":{"mode":%q},"spread":%q}`,
		c.of("a", "b"), c.of("5", "10", "20"), overlap, c.of("none", "latest", "all"), c.of("0s", "3s"))
	_, err := c.rt.Save(context.Background(), runtime.Changes{
		Schedules: []runtime.PutSchedule{{Schedule: parsedSchedule(c.t, name, doc)}},
	}, byTest)
	c.may(err) // its job may be deleted
}

// anyRun is one of the newest; NilID: there is none.
func (c *changer) anyRun() jobs.ID {
	runs, _, err := c.rt.Runs(context.Background(), store.RunFilter{}, store.Page{Limit: 30})
	if err != nil || len(runs) == 0 {
		return jobs.NilID
	}
	return runs[c.IntN(len(runs))].ID
}

func (c *changer) change() {
	ctx, job := context.Background(), c.of("a", "b")
	var err error
	switch c.IntN(18) {
	case 0, 1, 2, 3:
		c.putSchedule(c.of("x", "y"), c.of("queue", "skip", "replace"))
	case 4:
		c.putSchedule("free", c.of("allow", "queue"))
	case 5:
		err = c.rt.DeleteSchedule(ctx, c.of("x", "y", "free"), nil, byTest)
	case 6, 7:
		_, err = c.rt.PauseSchedule(ctx, c.of("x", "y", "free", "a:default", "b:default"), c.IntN(2) == 0, "", byTest)
	case 8:
		_, err = c.rt.PauseJob(ctx, job, c.IntN(3) == 0, "", byTest)
	case 9:
		c.putJob(job)
	case 10:
		_, err = c.rt.DeleteJob(ctx, job, nil, byTest)
	case 11:
		_, err = c.rt.UpgradeRuns(ctx, job, byTest)
	case 12:
		_, err = c.rt.Cancel(ctx, c.anyRun(), byTest)
	case 13:
		err = c.rt.RunNow(ctx, c.anyRun(), byTest)
	case 14:
		_, err = c.rt.Requeue(ctx, store.Requeue{Of: c.anyRun(), By: byTest})
	case 15:
		c.stop()
		time.Sleep(time.Duration(c.IntN(200)) * time.Second)
		c.serveWith(&c.clock)
	case 16:
		c.may(c.rt.Drain(ctx, byTest))
		time.Sleep(time.Duration(c.IntN(40)) * time.Second)
		_, err = c.rt.Resume(ctx, false, byTest)
	case 17:
		c.clock.set(time.Duration(c.IntN(400)-200) * time.Second)
	}
	c.may(err)
}

// judge looks at all runs, once none is left to do.
func (c *changer) judge() {
	of, made := map[jobs.ID]*jobs.Run{}, map[string]bool{}
	err := store.Each(func(p store.Page) ([]*jobs.Run, string, error) {
		return c.rt.Runs(context.Background(), store.RunFilter{}, p)
	}, func(run *jobs.Run) {
		of[run.ID] = run
		if !run.State.Terminal() {
			c.t.Errorf("run %s of %s for %s is %s, held by %+v", run.ID, run.Schedule, run.ScheduledFor, run.State, run.HeldBy)
		}
		tick := run.Job + " " + run.Schedule + " " + run.ScheduledFor.String()
		if !run.RequeuedFrom.IsNil() {
			return
		}
		if made[tick] {
			c.t.Errorf("two runs for %s", tick)
		}
		made[tick] = true
	})
	if err != nil {
		c.t.Fatal(err)
	}
	alone := func(run *jobs.Run) bool { return run.Schedule != "free" && run.RequeuedFrom.IsNil() }
	for i, a := range c.spans {
		for _, b := range c.spans[:i] {
			one, other := of[a.run], of[b.run]
			if one != other && one.Schedule == other.Schedule && alone(one) && alone(other) && a.from < b.to && b.from < a.to {
				c.t.Errorf("runs %s and %s of %s went side by side", one.ID, other.ID, one.Schedule)
			}
		}
	}
}

// judgeLedger demands that a schedule of each quarter of a minute has decided each tick once.
func (c *changer) judgeLedger(name string, from, to jobs.Time) {
	const every = 15_000
	known := map[jobs.Time]bool{}
	for _, tick := range c.ledger(name) {
		n := 0
		for at := tick.From; at <= tick.To; at += every {
			if n++; known[at] {
				c.t.Errorf("the tick %s of %s is decided twice", at, name)
			}
			known[at] = true
		}
		if n != tick.Count {
			c.t.Errorf("the line %s of %s counts %d", span(tick), name, tick.Count)
		}
	}
	for at := (from/every + 1) * every; at <= to; at += every {
		if !known[at] {
			c.t.Errorf("the tick %s of %s is missing", at, name)
		}
	}
}
