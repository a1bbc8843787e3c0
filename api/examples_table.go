package api

import (
	"nightshift/api/wire"
	"nightshift/jobs"
)

const samplePush = `{"ref": "refs/heads/main", "repository": {"full_name": "acme/warehouse"}}`

// samples are the examples of bodies, and of answers where the one of their type would not do.
var samples = map[sampleKey][]sample{
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
	{id: "drain", status: 200}:          {{"drained", "", wire.Server{Version: "1.0.0", Draining: true}}},
	{id: "drain"}:                       {{"empty", "", jobs.Raw(`{}`)}},
	{id: "resume"}:                      {{"empty", "", jobs.Raw(`{}`)}},
	{id: "cancel-run"}:                  {{"empty", "", jobs.Raw(`{}`)}},
	{id: "cancel-run", status: 200}:     {{"cancelled", "", sampleCancelled()}},
	{id: "cancel-run", status: 202}:     {{"running", "", sampleCancelling()}},
	{id: "run-now"}:                     {{"empty", "", jobs.Raw(`{}`)}},
	{id: "run-now", status: 200}:        {{"queued", "", sampleQueued()}},
	{id: "requeue-run", status: 202}:    {{"new", "", sampleRequeued()}},
	{id: "requeue-run", status: 200}:    {{"standing", "", sampleRequeued()}},
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
	},
	{id: "deliver"}: {
		{"push", "A push, as GitHub tells of it", jobs.Raw(samplePush)},
	},
	{id: "deliver-secret"}: {
		{"push", "Whatever the sender sends", jobs.Raw(samplePush)},
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
	{id: "enqueue", status: 200}: {{"duplicate", "", sampleDuplicate()}},
	{id: "enqueue-batch"}: {
		{"two", "", jobs.Raw(`{"runs": [
			{"job": "nightly-sync", "payload": {"since": "2026-11-29"}},
			{"job": "mail-out", "idempotency_key": "digest-2026-11-30"}
		]}`)},
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
	{id: "get-ready", status: 200}:    {{"ready", "", wire.Status{Status: "ready"}}},

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
}
