package api

import (
	"nightshift/api/wire"
	"nightshift/jobs"
)

const samplePush = `{"ref": "refs/heads/main", "repository": {"full_name": "acme/warehouse"}}`

// samples are the examples of bodies, and of answers where the one of their type would not do.
var samples = joined(map[sampleKey][]sample{
	{id: "create-job"}: {
		{"webhook", "A webhook that exists already", jobs.Raw(`{
			"name": "nightly-sync",
			"description": "Pull three APIs into the warehouse",
			"labels": {"team": "data"},
			"webhook": {"url": "https://example.com/hooks/sync", "headers": {"X-Tenant": "acme"}},
			"payload": {"since": "yesterday"},
			"timeout": "2m",
			"retry": {
				"max_attempts": 5,
				"rules": [{
					"if": "http.status == 429", "then": "retry", "max_attempts": 20,
					"reason": "rate limited"
				}]
			}
		}`)},
		{"script", "A script", jobs.Raw(`{
			"name": "clean-up",
			"script": {"source": "print('clean')\n", "interpreter": ["python3"]},
			"retry": {"max_attempts": 1}
		}`)},
		{"schedules", "A script that runs each night, and once a week", jobs.Raw(`{
			"name": "report",
			"script": {"path": "report.py"},
			"schedules": [
				{"cron": "0 2 * * *", "timezone": "Europe/Berlin"},
				{"name": "week", "cron": "0 6 * * mon", "timezone": "Europe/Berlin", "payload": {"days": 7}}
			]
		}`)},
		{"limits", "One charge of a customer at a time, one of each order a day", jobs.Raw(`{
			"name": "charge",
			"webhook": {"url": "https://example.com/hooks/charge"},
			"concurrency": {"limit": 1, "key": "payload.customer"},
			"rate": {"limit": 100, "per": "1m"},
			"unique": {"key": "payload.order_id", "while": "24h"},
			"dependencies": ["stripe"]
		}`)},
		{"callback", "Long work that calls back, and says every minute that it is alive", jobs.Raw(`{
			"name": "render",
			"webhook": {
				"url": "https://example.com/hooks/render",
				"completion": "callback", "heartbeat_timeout": "1m"
			},
			"timeout": "6h",
			"checkpoint": {"ttl": "3d"}
		}`)},
		{"bounded", "A script with a user and a bound of its own, whose batches go on where they were", jobs.Raw(`{
			"name": "load",
			"script": {"path": "load.py", "user": "www-data", "memory": "512MiB"},
			"checkpoint": {"key": "payload.batch"}
		}`)},
	},
	{id: "put-job"}: {
		{"webhook", "", jobs.Raw(`{
			"webhook": {"url": "https://example.com/hooks/sync"},
			"timeout": "2m",
			"retain": {"succeeded": "30d"}
		}`)},
	},
	{id: "deliver", status: 202}:        {{"made", "", sampleDelivered()}},
	{id: "deliver-secret", status: 202}: {{"made", "", sampleDelivered()}},
	{id: "pause-job"}:                   {{"note", "", jobs.Raw(`{"note": "the warehouse is being moved"}`)}},
	{id: "pause-job", status: 200}:      {{"paused", "", samplePausedJob()}},
	{id: "resume-job"}:                  {{"note", "", jobs.Raw(`{"note": "it has been moved"}`)}},
	{id: "upgrade-runs"}:                {{"empty", "", jobs.Raw(`{}`)}},
	{id: "drain", status: 200}: {{"drained", "", wire.Server{
		Version: "1.0.0", Draining: true, MaxUnfinished: new(10_000_000), Scripts: sampleLevel, Alerts: wire.AlertState{FailuresTold: true},
	}}},
	{id: "drain"}: {{"empty", "", jobs.Raw(`{}`)}},
	{id: "resume"}: {
		{"empty", "", jobs.Raw(`{}`)},
		{"restored", "After a restore: nothing runs again that ran elsewhere", jobs.Raw(`{"cancel_waiting": true}`)},
	},
	{id: "cancel-run"}:               {{"empty", "", jobs.Raw(`{}`)}},
	{id: "cancel-run", status: 200}:  {{"cancelled", "", sampleCancelled()}},
	{id: "cancel-run", status: 202}:  {{"running", "", sampleCancelling()}},
	{id: "run-now"}:                  {{"empty", "", jobs.Raw(`{}`)}},
	{id: "run-now", status: 200}:     {{"queued", "", sampleQueued()}},
	{id: "requeue-run", status: 202}: {{"new", "", sampleRequeued()}},
	{id: "requeue-run", status: 200}: {{"standing", "", sampleRequeued()}},
	{id: "requeue-run"}: {
		{"again", "With the payload as it was", jobs.Raw(`{"note": "the API is back"}`)},
		{"patched", "With another payload", jobs.Raw(`{"payload": {"since": "2026-11-28"}}`)},
	},
	{id: "apply"}: {
		{"two", "Two jobs, all or nothing", jobs.Raw(`{"jobs": [
			{"name": "nightly-sync", "webhook": {"url": "https://example.com/hooks/sync"}},
			{"name": "mail-out", "webhook": {"url": "https://example.com/hooks/mail"}}
		]}`)},
		{"policy", "A job and the policy that it starts from", jobs.Raw(`{
			"policies": [{"name": "gentle", "max_attempts": 3}],
			"jobs": [{
				"name": "nightly-sync", "webhook": {"url": "https://example.com/hooks/sync"},
				"retry": {"policy": "gentle"}
			}]
		}`)},
		{"schedules", "A job, its own schedule, and one by itself", jobs.Raw(`{
			"defaults": {"timezone": "Europe/Berlin"},
			"jobs": [{
				"name": "nightly-sync", "webhook": {"url": "https://example.com/hooks/sync"},
				"schedules": [{"cron": "0 2 * * *"}]
			}],
			"schedules": [{
				"name": "sync-acme", "job": "nightly-sync", "every": "15m", "overlap": "skip",
				"payload": {"customer": "acme"}
			}]
		}`)},
		{"shared", "Jobs that share a service and a queue", jobs.Raw(`{
			"queues": [{"name": "mail", "concurrency": 2}],
			"dependencies": [
				{"name": "stripe", "concurrency": 5, "rate": {"limit": 100, "per": "1m"}},
				{"name": "example.com:443", "concurrency": 4}
			],
			"jobs": [
				{
					"name": "nightly-sync", "webhook": {"url": "https://example.com/hooks/sync"},
					"dependencies": ["stripe"], "concurrency": {"limit": 1, "key": "payload.customer"}
				},
				{
					"name": "mail-out", "webhook": {"url": "https://example.com/hooks/mail"},
					"queue": "mail", "dependencies": ["stripe"]
				}
			]
		}`)},
	},
	{id: "deliver"}: {
		{"push", "A push, as GitHub tells of it", jobs.Raw(samplePush)},
	},
	{id: "deliver-secret"}: {
		{"push", "Whatever the sender sends", jobs.Raw(samplePush)},
	},
	{id: "create-schedule"}: {
		{"customer", "A customer's own, in the morning of each working day", jobs.Raw(`{
			"name": "sync-acme", "job": "nightly-sync", "cron": "0 3 * * mon-fri",
			"timezone": "Europe/Berlin", "payload": {"customer": "acme"}, "late_after": "2h"
		}`)},
		{"interval", "Every quarter of an hour; after an outage each tick, twenty at most", jobs.Raw(`{
			"name": "sync-often", "job": "nightly-sync", "every": "15m", "overlap": "skip",
			"catch_up": {"mode": "all", "window": "12h", "limit": 20}, "end": "2099-01-01T00:00:00Z"
		}`)},
	},
	{id: "create-schedule", status: 201}: {{"new", "", sampleNewSchedule()}},
	{id: "put-schedule"}: {
		{"customer", "", jobs.Raw(`{
			"job": "nightly-sync", "cron": "0 3 * * mon-fri", "timezone": "Europe/Berlin",
			"payload": {"customer": "acme"}, "late_after": "2h"
		}`)},
	},
	{id: "put-schedule", status: 201}: {{"new", "", sampleNewSchedule()}},
	{id: "get-schedule", status: 200}: {
		{"itself", "One that stands by itself", sampleSchedule()},
		{"job", "One that stands in a job", sampleScheduleOfJob()},
		{"paused", "One that is paused", samplePausedSchedule()},
	},
	{id: "pause-schedule"}:              {{"note", "", jobs.Raw(`{"note": "the warehouse is being moved"}`)}},
	{id: "pause-schedule", status: 200}: {{"paused", "", samplePausedSchedule()}},
	{id: "resume-schedule"}:             {{"note", "", jobs.Raw(`{"note": "it has been moved"}`)}},
	{id: "preview-schedule"}: {
		{"cron", "Three ticks of a line", jobs.Raw(`{
			"cron": "0 3 * * mon-fri", "timezone": "Europe/Berlin", "from": "2026-11-30T00:00:00Z", "count": 3
		}`)},
		{"every", "An interval, from now on", jobs.Raw(`{"every": "90m"}`)},
	},
	{id: "get-run", status: 200}: {
		{"ended", "One that was tried twice", sampleEnded()},
		{"scheduled", "One that a tick made, and that waits for the one before", sampleScheduled()},
	},
	{id: "create-policy"}: {
		{"gentle", "Few attempts, far apart", jobs.Raw(`{
			"name": "gentle", "max_attempts": 3, "backoff": {"base": "1m"},
			"rules": [{"if": "http.status == 429", "then": "retry", "after": "2m"}]
		}`)},
	},
	{id: "put-policy"}: {
		{"gentle", "", jobs.Raw(`{"max_attempts": 3, "backoff": {"base": "1m"}}`)},
	},
	{id: "create-alert"}: {
		{"failures", "Every failed run, and the first success after it", jobs.Raw(`{
			"name": "failures", "on": ["run.failed", "run.recovered"], "run": "mail-out"
		}`)},
		{"team", "The third failure in a row of one team's jobs, customer by customer", jobs.Raw(`{
			"name": "data-failures", "on": ["run.failed", "run.recovered"], "if": "labels.team == \"data\"",
			"run": "mail-out", "after": 3, "key": "labels.customer", "throttle": "30m"
		}`)},
	},
	{id: "put-alert"}: {
		{"failures", "", jobs.Raw(`{"on": ["run.failed", "run.recovered"], "run": "mail-out"}`)},
	},
	{id: "test-alerts"}: {
		{"job", "As if a run of this job had failed for good", jobs.Raw(`{"job": "nightly-sync"}`)},
		{"all", "A failure of no job", jobs.Raw(`{}`)},
	},
	{id: "create-queue"}: {
		{"mail", "Two at a time", jobs.Raw(`{"name": "mail", "concurrency": 2}`)},
	},
	{id: "put-queue"}:                {{"mail", "", jobs.Raw(`{"concurrency": 2}`)}},
	{id: "pause-queue"}:              {{"note", "", jobs.Raw(`{"note": "the mail server is moving"}`)}},
	{id: "pause-queue", status: 200}: {{"paused", "", samplePausedQueue()}},
	{id: "resume-queue"}:             {{"note", "", jobs.Raw(`{"note": "it has moved"}`)}},
	{id: "create-dependency"}: {
		{"stripe", "A service with limits of its own", jobs.Raw(`{
			"name": "stripe", "concurrency": 5, "rate": {"limit": 100, "per": "1m"},
			"breaker": {"failures": 5, "open_for": "30s", "max_open": "10m"}
		}`)},
		{"lock", "A lock: one at a time, whatever fails", jobs.Raw(`{
			"name": "warehouse-lock", "concurrency": 1, "breaker": null
		}`)},
	},
	{id: "put-dependency"}: {
		{"limits", "", jobs.Raw(`{"concurrency": 5, "rate": {"limit": 100, "per": "1m"}}`)},
	},
	{id: "get-dependency", status: 200}: {
		{"closed", "Calls flow", sampleDependency()},
		{"open", "It keeps failing", sampleOpenDependency()},
		{"host", "The host of webhooks, which nobody has put", sampleHost()},
	},
	{id: "pause-dependency"}:              {{"note", "", jobs.Raw(`{"note": "they deploy until 3"}`)}},
	{id: "pause-dependency", status: 200}: {{"paused", "", samplePausedDependency()}},
	{id: "resume-dependency"}:             {{"note", "", jobs.Raw(`{"note": "they are back"}`)}},
	{id: "trip-dependency"}: {
		{"while", "For ten minutes", jobs.Raw(`{"for": "10m", "note": "they asked us to stop"}`)},
		{"empty", "For the open_for of its breaker", jobs.Raw(`{}`)},
	},
	{id: "trip-dependency", status: 200}: {{"open", "", sampleTrippedDependency()}},
	{id: "reset-dependency"}:             {{"note", "", jobs.Raw(`{"note": "they say it is fixed"}`)}},
	{id: "run-group"}: {
		{"three", "Three sources side by side; two that are good will do", jobs.Raw(`{
			"members": [
				{"name": "orders", "job": "nightly-sync", "payload": {"source": "orders", "day": "{{ payload.day }}"}},
				{"name": "stock", "job": "nightly-sync", "payload": {"source": "stock", "day": "{{ payload.day }}"}},
				{"name": "prices", "job": "nightly-sync"}
			],
			"merge": {"job": "mail-out"}, "need": 2, "deadline": "2h",
			"payload": {"day": "2026-11-30"}, "idempotency_key": "sync-2026-11-30"
		}`)},
		{"strict", "The first that fails ends it", jobs.Raw(`{
			"members": [{"name": "a", "job": "nightly-sync"}, {"name": "b", "job": "mail-out"}],
			"need": "all", "on_member_failure": "cancel_rest"
		}`)},
	},
	{id: "run-group", status: 202}:     {{"new", "", sampleNewGroup()}},
	{id: "run-group", status: 200}:     {{"ended", "The run of that idempotency key", sampleEndedGroup()}},
	{id: "list-groups", status: 200}:   {{"one", "", wire.Runs{Items: []wire.Run{sampleListedGroup()}, Limit: 50}}},
	{id: "remerge-group"}:              {{"note", "", jobs.Raw(`{"note": "the stock is back"}`)}},
	{id: "remerge-group", status: 202}: {{"new", "", sampleRemerged()}},
	{id: "enqueue"}: {
		{"payload", "With a payload, once", jobs.Raw(`{
			"payload": {"since": "2026-11-29"},
			"idempotency_key": "order-8812",
			"correlation_id": "order-8812"
		}`)},
		{"later", "An hour from now, with a cap of its own", jobs.Raw(`{
			"delay": "1h", "priority": 10, "max_attempts": 2, "timeout": "30s"
		}`)},
		{"empty", "The job's own payload, now", jobs.Raw(`{}`)},
	},
	{id: "enqueue", status: 202}: {{"queued", "", sampleQueued()}},
	{id: "enqueue", status: 200}: {
		{"duplicate", "The run of that idempotency key", sampleDuplicate()},
		{"standing", "A run that stands by its unique key", sampleStanding()},
		{"replaced", "One that has not started and has taken the payload", sampleReplaced()},
	},
	{id: "enqueue-batch"}: {
		{"two", "", jobs.Raw(`{"runs": [
			{"job": "nightly-sync", "payload": {"since": "2026-11-29"}},
			{"job": "mail-out", "idempotency_key": "digest-2026-11-30"}
		]}`)},
	},
	{id: "get-checkpoint", status: 200}:          {{"offset", "", sampleCheckpoint}},
	{id: "get-callback-checkpoint", status: 200}: {{"offset", "", sampleCheckpoint}},
	{id: "put-callback-checkpoint"}:              {{"offset", "", sampleCheckpoint}},
	{id: "get-callback-results", status: 200}:    {{"two", "", sampleResults()}},
	{id: "post-progress"}: {
		{"records", "", jobs.Raw(`{"done": 4900, "total": 10000, "note": "third file"}`)},
		{"unknown", "Nobody knows how many there are", jobs.Raw(`{"done": 4900}`)},
	},
	{id: "post-log"}:           {{"line", "", jobs.Raw(`{"text": "third file opened"}`)}},
	{"post-log", 0, mediaText}: {{"lines", "", "third file opened\n4900 records read\n"}},
	{id: "complete-attempt"}: {
		{"result", "", jobs.Raw(`{"result": {"rows": 10000}}`)},
		{"empty", "Without a result", jobs.Raw(`{}`)},
	},
	{id: "fail-attempt"}: {
		{"again", "It will pass", jobs.Raw(`{
			"type": "RateLimited", "message": "the API takes 100 calls a minute", "retryable": true, "retry_after": "90s"
		}`)},
		{"final", "No try will help", jobs.Raw(`{
			"type": "NoSuchFile", "message": "input.csv is gone", "retryable": false, "stack": "load.py line 12"
		}`)},
	},
	{id: "check-rules"}: {
		{"told", "A failure that is told, by the rules of a job", jobs.Raw(`{
			"job": "nightly-sync",
			"error": {"http": {"status": 429, "headers": {"retry-after": "30"}, "body": {"code": "slow_down"}}}
		}`)},
		{"tried", "Other rules in place of the job's", jobs.Raw(`{
			"job": "nightly-sync",
			"rules": [{"if": "http.body.code == \"slow_down\"", "then": "retry", "after": "2m", "max_attempts": 5}],
			"error": {"kind": "http", "http": {"status": 400, "body": {"code": "slow_down"}}}
		}`)},
		{"recorded", "The last failure of a run", jobs.Raw(`{"run": "` + sampleRun + `"}`)},
	},
	{id: "backtest-rules"}: {
		{"week", "Other rules on the failures of a week", jobs.Raw(`{
			"job": "nightly-sync", "since": "7d",
			"rules": [{"if": "http.status == 404", "then": "retry", "after": "5m", "max_attempts": 3}]
		}`)},
		{"standing", "The rules as they stand, on all that is kept", jobs.Raw(`{"job": "nightly-sync"}`)},
	},
	{id: "create-token"}: {
		{"deploy", "May read, and run jobs of some names", jobs.Raw(`{
			"name": "deploy", "scopes": ["read", "enqueue"], "jobs": ["nightly-*"],
			"expires_at": "2099-02-28T02:00:00Z"
		}`)},
	},
	{id: "create-token", status: 201}: {{"new", "", sampleNewToken()}},
	{id: "put-token"}:                 {{"operate", "", jobs.Raw(`{"scopes": ["operate"]}`)}},
	{id: "put-token", status: 201}:    {{"new", "", sampleNewToken()}},
	{id: "create-secret"}:             {{"api", "", jobs.Raw(`{"name": "SYNC", "value": "a-value-of-8-bytes-or-more"}`)}},
	{id: "put-secret"}:                {{"api", "", jobs.Raw(`{"value": "a-value-of-8-bytes-or-more"}`)}},
	{id: "rotate-key"}:                {{"empty", "", jobs.Raw(`{}`)}},
	{id: "create-link"}:               {{"empty", "", jobs.Raw(`{}`)}},
	{id: "sign-in"}:                   {{"token", "", jobs.Raw(`{"token": "` + sampleSecret + `"}`)}},
	{id: "get-ready", status: 200}:    {{"ready", "", wire.Status{Status: "ready"}}},

	{"get-events", 200, "text/event-stream"}: {{"opened", "", sampleEventStream()}},
	{"get-backup", 200, backupMedia}:         {{"begins", "The first bytes of the file", "SQLite format 3"}},
	{"get-metrics", 200, metricsMedia}: {{"text", "", `# HELP jobs_processed_total Runs that have ended, by job and by how: succeeded, failed, cancelled.
# TYPE jobs_processed_total counter
jobs_processed_total{job="nightly-sync",outcome="succeeded"} 412
jobs_processed_total{job="nightly-sync",outcome="failed"} 3
`}},
	{"get-log", 200, "text/plain; charset=utf-8"}: {{"text", "", "pulling the first\nall three pulled\n"}},
	{"get-log", 200, "text/event-stream"}: {{
		"events", "",
		"event: log\nid: 18\ndata: {\"text\":\"pulling the first\\n\"}\n\n" +
			"event: end\ndata: {\"state\":\"succeeded\"}\n\n",
	}},
	{"watch-run", 200, "text/event-stream"}: {{
		"events", "",
		"event: run\ndata: {\"state\":\"running\",\"progress\":{\"done\":1,\"total\":3}}\n\n" +
			"event: end\ndata: {\"state\":\"succeeded\"}\n\n",
	}},
	{"get-openapi", 200, ""}: {{"beginning", "", jobs.Raw(
		`{"openapi": "3.1.0", "info": {"title": "Nightshift", "version": "1.0.0"}, "paths": {}}`,
	)}},
	{"get-docs", 200, "text/html; charset=utf-8"}: {{"beginning", "", "<!doctype html>\n<html lang=\"en\">"}},
}, failureSamples())
