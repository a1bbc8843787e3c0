package storetest

import (
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// calling is a webhook whose URL names a host by the payload.
func calling(name, url string) *jobs.Job {
	return document(`{"name":"` + name + `","labels":{"env":"live"},"webhook":{"url":"` + url + `"}}`)
}

func (w *world) enqueueFor(job, payload string, change ...func(*store.Submission)) jobs.ID {
	w.Helper()
	change = append(change, func(s *store.Submission) { s.Run.Payload = jobs.Raw(payload) })
	return w.enqueue(job, change...).ID
}

const byPayload = "https://{{ payload.host }}/x"

var hostClaims = []claim{
	{"HostIsFixedWhenTheRunIsMade", func(w *world) {
		w.put(calling("a", byPayload))
		id := w.enqueueFor("a", `{"host":"one.example"}`)
		equal(w, "host", w.run(id).Host, "one.example:443")
		w.put(calling("a", "https://{{ job.labels.env }}.example:8443/{{ payload.x }}"))
		equal(w, "host by the job", w.run(w.enqueueFor("a", "{}")).Host, "live.example:8443")
		l := w.takeOne()
		equal(w, "host of the lease", words(l.Run.ID, l.Run.Host), words(id, "one.example:443"))
		equal(w, "host after a start", func() string { w.reopen(); return w.run(id).Host }(), "one.example:443")
	}},
	{"HostOfARunIsADependencyThoughTheJobIsPaused", func(w *world) {
		w.put(calling("a", byPayload))
		w.pause("a", true, "")
		w.enqueueFor("a", `{"host":"one.example"}`)
		_, err := w.Gate(w.ctx, jobs.GateDependency, "one.example:443", w.now)
		w.check(err)
	}},
	{"HostThatIsWrittenOutIsNotKept", func(w *world) {
		w.put(calling("a", "https://fixed.example/{{ payload.x }}"))
		w.put(script("s", "echo"))
		for _, job := range []string{"a", "s"} {
			equal(w, "host", w.run(w.enqueueFor(job, `{"x":"y"}`)).Host, "")
		}
	}},
	{"HostThatCannotBeRenderedIsLeftToTheAttempt", func(w *world) {
		w.put(calling("a", byPayload))
		id := w.enqueueFor("a", "{}")
		equal(w, "state, host", words(w.state(id), w.run(id).Host), words(jobs.Queued, ""))
	}},
	{"RequeueAndFollowUpFixTheirOwn", func(w *world) {
		w.put(calling("a", byPayload))
		id := w.enqueueFor("a", `{"host":"one.example"}`)
		w.fail(w.takeOne())
		w.put(calling("a", "https://{{ payload.host }}:1/x"))
		again := w.requeueSame(id)
		equal(w, "host", w.run(again).Host, "one.example:1")
		w.succeed(w.takeOne())
		out, err := w.Requeue(w.ctx, store.Requeue{
			Of: id, ID: w.ids.Next(w.now.Std()), Payload: jobs.Raw(`{"host":"two.example"}`),
			Trigger: jobs.TriggerRequeue, By: w.by(),
		})
		w.check(err)
		equal(w, "host of another payload", w.run(out.ID).Host, "two.example:1")
		f := w.succeeded(w.takeOne())
		f.Spawn = []store.Submission{w.follow("a", func(s *store.Submission) {
			s.Run.Payload = jobs.Raw(`{"host":"three.example"}`)
		})}
		w.apply(f)
		equal(w, "host of a follow-up", w.run(f.Spawn[0].Run.ID).Host, "three.example:1")
	}},
	{"UpgradeFixesHostsAnew", upgradeHosts},
}

func upgradeHosts(w *world) {
	w.put(calling("a", byPayload))
	one := `{"host":"one.example"}`
	ran := w.enqueueFor("a", one)
	l := w.takeOne()
	queued, held := w.enqueueFor("a", one), w.enqueueFor("a", one)
	for _, l := range w.take(2) {
		if l.Run.ID == held {
			w.apply(w.held(l, "TOKEN"))
		} else {
			w.apply(w.interrupted(l))
		}
	}
	later := w.enqueueFor("a", `{"host":"two.example"}`, dueIn(time.Hour))
	bad := w.enqueueFor("a", "{}", dueIn(time.Hour))
	upgraded := func(url string, moved int, hosts ...string) {
		w.Helper()
		w.put(calling("a", url))
		n, err := w.UpgradeRuns(w.ctx, "a", w.by())
		w.check(err)
		equal(w, "moved", n, moved)
		for i, id := range []jobs.ID{queued, held, later, bad} {
			equal(w, "host", w.run(id).Host, hosts[i])
		}
		equal(w, "host of what runs", w.run(ran).Host, "one.example:443")
	}
	upgraded("https://{{ payload.host }}:2/", 4, "one.example:2", "one.example:2", "two.example:2", "")
	upgraded("https://fixed.example/", 4, "", "", "", "")
	upgraded("https://{{ payload.host }}:3/", 4, "one.example:3", "one.example:3", "two.example:3", "")
	w.succeed(l)
}
