package api

import (
	"reflect"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

const (
	sampleRun     = "019ad2c4-3f00-7a51-8c2e-5d0b7e9f1a01"
	sampleRequeue = "019ad2d0-9a40-7b13-9e47-2f6c81d3b502"
	sampleWatch   = "http://127.0.0.1:8700/v1/watch/" + sampleRun + "?key=Yk3vZ0o2l4Qd3mJ8rTn1Vw"
	sampleTrace   = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
)

// sampleCheckpoint is what a job has saved.
var sampleCheckpoint = jobs.Raw(`{"offset": 4900}`)

// sampleStart is the instant at which the examples play.
var sampleStart = jobs.TimeOf(time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC))

func sampleID(text string) jobs.ID {
	id, err := jobs.ParseID(text)
	if err != nil {
		panic("api: the example " + text + " is no id")
	}
	return id
}

// sampleJob is a job with most of what a job may have.
func sampleJob() jobs.Job {
	return jobs.Job{
		Name: "nightly-sync", Description: "Pull three APIs into the warehouse",
		Labels: map[string]string{"team": "data"},
		Webhook: &jobs.Webhook{
			URL:     "https://example.com/hooks/sync",
			Headers: map[string]string{"X-Tenant": "acme"},
		},
		Payload: jobs.Raw(`{"since":"yesterday"}`), Timeout: new(jobs.Duration(2 * time.Minute)),
		Retry: jobs.Retry{
			MaxAttempts: new(5),
			Rules: []jobs.Rule{{
				If: "http.status == 429", Then: "retry", MaxAttempts: new(20), Reason: "rate limited",
			}},
		},
		Version: 3, CreatedAt: sampleStart.Add(-72 * time.Hour), UpdatedAt: sampleStart,
	}
}

func sampleListedJob() *jobs.Job {
	j := sampleJob()
	j.Payload = nil
	return &j
}

func samplePausedJob() jobs.Job {
	j := sampleJob()
	j.Paused, j.PauseNote = true, "the warehouse is being moved"
	return j
}

// sampleQueued is a run as its enqueue answers it.
func sampleQueued() wire.Run {
	return wire.Run{
		ID: sampleID(sampleRun), Job: "nightly-sync", Version: 3, OperationID: sampleID(sampleRun),
		State: "queued", Trigger: "api", Payload: jobs.Raw(`{"since":"2026-11-29"}`),
		HeldBy: &jobs.HeldBy{Kind: "workers", Name: "webhook", Reason: "it waits for a free worker: 64 of 64 webhook workers are busy"},
		Queue:  "default", Labels: map[string]string{"team": "data"},
		CorrelationID: new("order-8812"), IdempotencyKey: new("order-8812"), CreatedBy: new("deploy"),
		Traceparent: new(sampleTrace), CreatedAt: sampleStart, RunAt: sampleStart, Attempt: 1,
		MaxAttempts: new(5), Attempts: &[]wire.Attempt{}, Duplicate: new(false), WatchURL: sampleWatch,
	}
}

// sampleEnded is that run after an attempt that failed and one that did not.
func sampleEnded() wire.Run {
	r := sampleQueued()
	first, second := sampleStart.Add(time.Second), sampleStart.Add(12*time.Second)
	r.State, r.HeldBy, r.Duplicate = "succeeded", nil, nil
	r.Result = jobs.Raw(`{"rows":1402}`)
	r.StartedAt, r.FinishedAt = first, second.Add(800*time.Millisecond)
	r.Attempt = 2
	r.Progress = &jobs.Progress{Done: 3, Total: 3, Note: "all three pulled"}
	r.Error = sampleFailure()
	r.Attempts = &[]wire.Attempt{
		{
			Number: 1, Version: 3, StartedAt: first, FinishedAt: first.Add(400 * time.Millisecond),
			Outcome: new("failed"), Slices: 1, Error: sampleFailure(), HTTPStatus: new(503),
			Decision: &jobs.Decision{
				Action: "retry", By: "policy default rule 2", Reason: "a status that passes often",
				NextAttemptAt: second,
			},
		},
		{
			Number: 2, Version: 3, StartedAt: second, FinishedAt: r.FinishedAt,
			Outcome: new("succeeded"), Slices: 1, HTTPStatus: new(200),
			Decision: &jobs.Decision{Action: "succeed", By: "success", Reason: "status 200"},
		},
	}
	return r
}

func sampleFailure() *jobs.Failure {
	return &jobs.Failure{
		Kind: jobs.FailHTTP, Type: "http", Message: "503 Service Unavailable",
		HTTP: &jobs.HTTPFailure{
			Status: 503, Headers: map[string]string{"content-type": "text/plain"}, Body: "try later",
		},
	}
}

func sampleCancelled() wire.Run {
	r := sampleQueued()
	r.State, r.HeldBy, r.Duplicate = "cancelled", nil, nil
	r.FinishedAt, r.CancelRequestedAt = sampleStart.Add(time.Minute), sampleStart.Add(time.Minute)
	return r
}

func sampleCancelling() wire.Run {
	r := sampleQueued()
	r.State, r.HeldBy, r.Duplicate = "running", nil, nil
	r.StartedAt, r.CancelRequestedAt = sampleStart.Add(time.Second), sampleStart.Add(time.Minute)
	r.Attempts = &[]wire.Attempt{{Number: 1, Version: 3, StartedAt: r.StartedAt, Slices: 1}}
	return r
}

func sampleDuplicate() wire.Run {
	r := sampleEnded()
	r.Duplicate = new(true)
	return r
}

// sampleStanding is a run that stands for a day.
func sampleStanding() wire.Run {
	r := sampleDuplicate()
	r.UniqueUntil = jobs.UntilOf(r.CreatedAt.Add(24 * time.Hour))
	r.Folded = &jobs.Folded{
		Count: 2, Trigger: jobs.TriggerChain, By: sampleRequeue, At: r.CreatedAt.Add(time.Hour),
	}
	return r
}

// sampleReplaced is a run that stands until it starts.
func sampleReplaced() wire.Run {
	r := sampleQueued()
	r.Duplicate, r.UniqueUntil, r.Replaced = new(true), jobs.UntilOf(0), true
	return r
}

func sampleRequeued() wire.Run {
	r := sampleQueued()
	r.ID, r.RequeuedFrom, r.Trigger = sampleID(sampleRequeue), sampleID(sampleRun), "requeue"
	r.IdempotencyKey, r.Duplicate, r.WatchURL = nil, nil, ""
	return r
}

func sampleListedRun() wire.Run {
	r := sampleEnded()
	r.Payload, r.Result, r.Attempts, r.WatchURL = nil, nil, nil, ""
	r.Error.HTTP = nil
	return r
}

func sampleToken() wire.Token {
	return wire.Token{
		Name: "deploy", Scopes: []string{"read", "enqueue"}, Jobs: &[]string{"nightly-*"},
		ExpiresAt: sampleStart.Add(90 * 24 * time.Hour), CreatedAt: sampleStart,
		LastUsed: sampleStart.Add(time.Hour),
	}
}

// sampleSecret is what a token looks like, and the code of a link.
const sampleLevel = "as nightshift; cgroup: each script has a cgroup of its own; what it leaves is killed with it at once"

const sampleSecret = "ns_4fV1cZkq0n2m8TtYw5Jb9LhXs7Rd3Pu6Ae0Gi1Ko2Qs"

func sampleSession() wire.Session {
	return wire.Session{
		ID: "5f0c2a9d41be77e3", Token: "deploy", Current: true, From: "127.0.0.1", Agent: "Mozilla/5.0 (X11; Linux x86_64)",
		CreatedAt: sampleStart, LastUsed: sampleStart.Add(time.Hour), Until: sampleStart.Add(7 * 24 * time.Hour),
	}
}

func sampleNewToken() wire.Token {
	t := sampleToken()
	t.LastUsed = 0
	t.Secret = SecretPrefix + "4Hq0s9gqkP3W2m1nJp7vXyZc5Rt8Lb6Ud0Ea1Fi2Ks"
	return t
}

// samplesByType are the examples of an answer whose route has none of its own.
func samplesByType(body any) []sample {
	if body == nil {
		return nil
	}
	value := typeSamples[reflect.TypeOf(body)]
	if value == nil {
		return nil
	}
	return []sample{{"example", "", value()}}
}

// typeSamples make an example of each type that is answered.
var typeSamples = map[reflect.Type]func() any{
	reflect.TypeFor[jobs.Job](): func() any { return sampleJob() },
	reflect.TypeFor[wire.Jobs](): func() any {
		return wire.Jobs{Items: []*jobs.Job{sampleListedJob()}, Limit: 50}
	},
	reflect.TypeFor[wire.Failures](): func() any {
		return wire.Failures{Items: []wire.FailureRow{sampleFailureRow()}, Limit: 50}
	},
	reflect.TypeFor[wire.FailureGroups](): func() any {
		return wire.FailureGroups{Items: []wire.FailureGroup{sampleFailureGroup()}, Limit: 50}
	},
	reflect.TypeFor[wire.Deleted]():  func() any { return wire.Deleted{CancelledRuns: 2} },
	reflect.TypeFor[wire.Upgraded](): func() any { return wire.Upgraded{UpgradedRuns: 12} },
	reflect.TypeFor[jobs.Version]():  func() any { return sampleVersion() },
	reflect.TypeFor[wire.Versions](): func() any {
		return wire.Versions{Items: []jobs.Version{sampleVersion()}, Limit: 50}
	},
	reflect.TypeFor[wire.Run](): func() any { return sampleEnded() },
	reflect.TypeFor[wire.Runs](): func() any {
		return wire.Runs{
			Items: []wire.Run{sampleListedRun()}, Next: new("412"), Limit: 50,
		}
	},
	reflect.TypeFor[wire.GroupMembers](): func() any { return sampleMembers() },
	reflect.TypeFor[wire.Timeline]():     func() any { return sampleTimeline() },
	reflect.TypeFor[wire.Told](): func() any {
		return wire.Told{Run: sampleID(sampleRun), State: "succeeded"}
	},
	reflect.TypeFor[wire.Briefs](): func() any {
		return wire.Briefs{Items: []wire.Brief{
			{ID: sampleID(sampleRun), Job: "nightly-sync", State: new("queued")},
			{ID: sampleID(sampleRequeue), Job: "mail-out", State: new("succeeded"), Duplicate: true},
		}}
	},
	reflect.TypeFor[wire.RulesChecked](): func() any { return sampleChecked },
	reflect.TypeFor[jobs.Backtest]():     func() any { return sampleBacktest },
	reflect.TypeFor[wire.Token]():        func() any { return sampleToken() },
	reflect.TypeFor[wire.Tokens](): func() any {
		return wire.Tokens{Items: []wire.Token{sampleToken()}, Limit: 50}
	},
	reflect.TypeFor[wire.Session]():  func() any { return sampleSession() },
	reflect.TypeFor[wire.Sessions](): func() any { return wire.Sessions{Items: []wire.Session{sampleSession()}, Limit: 50} },
	reflect.TypeFor[wire.Link](): func() any {
		return wire.Link{
			Link:  "http://127.0.0.1:8700/sign-in?link=" + sampleSecret,
			Until: sampleStart.Add(30 * time.Minute),
		}
	},
	reflect.TypeFor[wire.SecretUse](): func() any {
		return wire.SecretUse{
			Name: "SYNC", Readable: true, CreatedAt: sampleStart, UpdatedAt: sampleStart,
			UsedBy: []string{"nightly-sync"},
		}
	},
	reflect.TypeFor[wire.Secrets](): func() any {
		return wire.Secrets{Items: []wire.Secret{{
			Name: "SYNC", Readable: true, CreatedAt: sampleStart, UpdatedAt: sampleStart,
		}}, Limit: 50}
	},
	reflect.TypeFor[wire.DeletedSecret](): func() any {
		return wire.DeletedSecret{UsedBy: []string{"nightly-sync"}}
	},
	reflect.TypeFor[wire.RotatedKey](): func() any {
		return wire.RotatedKey{Resealed: 4, Unreadable: []string{}}
	},
	reflect.TypeFor[wire.Server](): func() any {
		return wire.Server{Version: "1.0.0", Running: 3, Unfinished: 1841, MaxUnfinished: new(10_000_000), Scripts: sampleLevel, Alerts: wire.AlertState{FailuresTold: true}, Database: &wire.Database{
			Path: "/var/lib/nightshift/nightshift.db", Size: 84 << 20, Free: 3 << 20, Log: 4 << 20, DiskFree: 21 << 30, DiskTotal: 40 << 30,
			Kept: []wire.Kept{{Kind: "logs", Bytes: 31 << 20, Most: new(int64(2 << 30))}, {Kind: "runs", Bytes: 22 << 20}, {Kind: "events", Bytes: 1 << 20}},
		}}
	},
	reflect.TypeFor[wire.Stats](): func() any { return sampleStats() },
	reflect.TypeFor[wire.Audit](): func() any {
		return wire.Audit{Items: []wire.AuditEntry{{
			ID: 19, At: sampleStart, Actor: "token admin", Action: "pause", Kind: "job",
			Name: "nightly-sync", Note: "the warehouse is being moved",
			Changes: []jobs.Change{{Location: "paused", Before: jobs.Raw("false"), After: jobs.Raw("true")}},
		}}, Limit: 50}
	},
	reflect.TypeFor[wire.Events](): func() any {
		return wire.Events{Items: append(sampleWatched(), sampleLate(), sampleEvent(), sampleMissed()), Limit: 50}
	},
	reflect.TypeFor[wire.Status](): func() any { return wire.Status{Status: "ok"} },
	reflect.TypeFor[wire.Watch](): func() any {
		return wire.Watch{
			State: "running", Progress: &jobs.Progress{Done: 1, Total: 3, Note: "second API"},
		}
	},
	reflect.TypeFor[wire.Applied](): func() any {
		return wire.Applied{
			Items: []wire.AppliedItem{
				{Kind: "job", Name: "nightly-sync", Version: new(3), Action: "changed", Changes: []jobs.Change{{
					Location: "timeout", Before: jobs.Raw(`"1m"`), After: jobs.Raw(`"2m"`),
				}}},
				{Kind: "job", Name: "mail-out", Version: new(1), Action: "created", Changes: []jobs.Change{}},
			},
			Warnings: []wire.Warning{},
		}
	},
	reflect.TypeFor[wire.Export](): func() any {
		p, j := samplePolicy(), sampleJob()
		return wire.Export{
			Policies:     []jobs.Raw{p.Document()},
			Queues:       []jobs.Raw{jobs.Raw(`{"name":"mail","concurrency":2}`)},
			Dependencies: []jobs.Raw{jobs.Raw(`{"name":"api.example.com:443","concurrency":null}`)},
			Jobs:         []jobs.Raw{j.Document()},
		}
	},
	reflect.TypeFor[jobs.Policy](): func() any { return samplePolicy() },
	reflect.TypeFor[wire.Policies](): func() any {
		p := samplePolicy()
		return wire.Policies{Items: []*jobs.Policy{&p}, Limit: 50}
	},
	reflect.TypeFor[jobs.Alert](): func() any { return sampleAlert() },
	reflect.TypeFor[wire.Alerts](): func() any {
		a := sampleAlert()
		return wire.Alerts{Items: []*jobs.Alert{&a}, Limit: 50}
	},
	reflect.TypeFor[wire.AlertTested](): func() any { return sampleTested() },
	reflect.TypeFor[wire.Queue]():       func() any { return sampleQueue() },
	reflect.TypeFor[wire.Queues](): func() any {
		return wire.Queues{Items: []wire.Queue{sampleQueue()}, Limit: 50}
	},
	reflect.TypeFor[wire.Dependency](): func() any { return sampleDependency() },
	reflect.TypeFor[wire.Dependencies](): func() any {
		return wire.Dependencies{Items: []wire.Dependency{sampleOpenDependency(), sampleHost()}, Limit: 50}
	},
	reflect.TypeFor[wire.StandingSchedule](): func() any { return sampleSchedule() },
	reflect.TypeFor[wire.Schedules](): func() any {
		list := wire.Schedules{Items: []wire.StandingSchedule{sampleScheduleOfJob(), sampleSchedule()}, Limit: 50}
		list.Items[1].Payload = nil
		return list
	},
	reflect.TypeFor[wire.Ticks]():             func() any { return sampleTicks() },
	reflect.TypeFor[wire.PreviewedSchedule](): func() any { return samplePreviewed() },
	reflect.TypeFor[jobs.EffectiveRetry]():    func() any { return sampleRetry() },
}

func samplePolicy() jobs.Policy {
	return jobs.Policy{
		Name: "gentle", MaxAttempts: new(3), Backoff: &jobs.Backoff{Base: new(jobs.Duration(time.Minute))},
		Rules: []jobs.Rule{{If: "http.status == 429", Then: "retry", After: "2m"}},
		Set:   "default", CreatedAt: sampleStart, UpdatedAt: sampleStart,
	}
}

// sampleRetry is what decides about a job of that policy.
func sampleRetry() jobs.EffectiveRetry {
	p := samplePolicy()
	plan, err := jobs.Compile(&jobs.Job{Name: "nightly-sync", Retry: jobs.Retry{Policy: p.Name}}, &p, nil)
	if err != nil {
		panic("api: the example of a policy does not compile: " + err.Error())
	}
	all := plan.EffectiveRetry()
	all.Rules = all.Rules[:3]
	return all
}

func sampleVersion() jobs.Version {
	j := sampleJob()
	return jobs.Version{Job: j.Name, Version: 3, CreatedAt: sampleStart, Spec: j.Spec()}
}

// sampleDelivered is the answer to a sender.
func sampleDelivered() wire.Brief {
	return wire.Brief{ID: sampleID(sampleRun), Job: "nightly-sync", State: orNull("queued")}
}

// sampleEvent tells of a dependency that was opened.
func sampleEvent() jobs.CloudEvent {
	return jobs.CloudEvent{
		SpecVersion: jobs.CloudEventsVersion, ID: "412", Source: "http://127.0.0.1:8700",
		Type: jobs.EventDependencyOpened, Subject: "dependency/stripe", Time: sampleStart,
		Data: jobs.AppendJSON(nil, &jobs.DependencyOpened{
			Name: "stripe", Reason: "5 errors in a row, the last: HTTP 503",
			Until: sampleStart.Add(30 * time.Second), Run: sampleID(sampleRun), Job: new("nightly-sync"),
		}),
	}
}

// sampleEventStream is a stream that begins with what comes from now on.
func sampleEventStream() string {
	e := sampleEvent()
	return ":\n\nid: 411\n\nevent: " + e.Type + "\nid: " + e.ID + "\ndata: " +
		string(jobs.AppendJSON(nil, &e)) + "\n\n"
}
