package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// dying is a store that is killed at a step of the alerts, before or behind what it keeps there.
type dying struct {
	store.Store
	left   int // steps until then
	behind bool
	full   bool // it is not killed, but undoes the step
	died   chan struct{}
}

func (d *dying) KeepAlerts(ctx context.Context, step store.AlertStep) ([]store.Submitted, error) {
	d.left--
	switch {
	case d.left != 0:
		return d.Store.KeepAlerts(ctx, step)
	case d.full:
		return nil, store.ErrFull
	case d.behind:
		if _, err := d.Store.KeepAlerts(ctx, step); err != nil {
			return nil, err
		}
	}
	close(d.died)
	return nil, store.ErrClosed
}

func TestServerThatDiesBetweenAnyTwoStepsTellsExactlyOnce(t *testing.T) {
	for _, how := range []string{"before", "behind", "undone"} {
		for step := 1; step <= 6; step++ {
			t.Run(fmt.Sprintf("%s step %d", how, step), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					k := &teller{}
					s := newServer(t, k.run)
					st := &dying{
						Store: s.st, left: step, behind: how == "behind", full: how == "undone", died: make(chan struct{}),
					}
					s.revive(st)
					s.put(strings.Replace(tellJob, "{", `{"concurrency":{"limit":1},`, 1)) // one after the other
					s.put(loneJob)
					s.alert("x", failures)
					s.rt.Start()
					defer s.stop()
					alive := true
					pass := func(d time.Duration) {
						time.Sleep(d)
						synctest.Wait()
						select {
						case <-st.died:
							if alive {
								alive = false
								if err := s.rt.Stop(nil); err != nil {
									t.Error(err)
								}
								s.revive(s.st)
								s.rt.Start()
								synctest.Wait() // else the next event may come before what is due already
							}
						default:
						}
					}
					s.fails()
					pass(time.Second)
					s.fails()
					pass(time.Second)
					s.fails()
					pass(11 * time.Minute)
					s.succeeds()
					pass(time.Second)
					s.fails()
					pass(time.Hour)
					want := "run.failed 1, run.failed 2, run.recovered 3, run.failed 1"
					s.wantAlerts(k, "in all", want)
				})
			})
		}
	}
}

func TestThrottleDoesNotFollowTheWallClock(t *testing.T) {
	for _, step := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			k, clock := &teller{}, &settable{}
			s := newServer(t, k.run)
			s.wall(clock)
			s.put(tellJob)
			s.put(loneJob)
			s.alert("x", failures)
			s.rt.Start()
			defer s.stop()
			s.fails()
			time.Sleep(time.Minute)
			s.fails()
			clock.set(step)
			time.Sleep(8 * time.Minute)
			s.wantAlerts(k, "before the throttle is over", "run.failed 1")
			time.Sleep(time.Minute + time.Second)
			s.wantAlerts(k, "when it is", "run.failed 1, run.failed 1")
		})
	}
}

// Whoever cancels the last open member of a group keeps an event, though no attempt has ended.
func TestEventThatNoAttemptMakesIsToldAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, g *grouped) {
		var told time.Time
		g.job("tell", func(context.Context, *jobs.Call) jobs.Report {
			told = time.Now()
			return jobs.Report{ExitCode: -1}
		})
		g.job("a", good(`1`))
		g.job("b", good(`2`))
		g.group("g", `"merge":{"job":"merge"},"need":1`, "a", "b")
		by := store.By{Actor: "test"}
		if _, err := g.rt.PauseJob(context.Background(), "b", true, "", by); err != nil {
			t.Fatal(err)
		}
		g.alert("partly", `{"on":["group.partial"],"run":"tell"}`)
		g.rt.Start()
		id := g.submit(jobs.Request{Job: "g", Trigger: jobs.TriggerAPI})
		g.awaitState(id, jobs.Waiting)
		time.Sleep(5 * time.Second) // within which a has succeeded
		cancelled := time.Now()
		if _, err := g.rt.Cancel(context.Background(), g.members(id)["b"].Run.ID, by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if took := told.Sub(cancelled); told.IsZero() || took > time.Second {
			t.Fatalf("it was told after %s", took)
		}
	})
}
