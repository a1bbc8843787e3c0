package api

import (
	"nightshift/api/wire"
	"nightshift/jobs"
)

// route is one line of the table: what answers, who may call it, and what the description says.
type route struct {
	method, path string
	opens        scopes // any one of these; 0: open to everybody
	whole        bool   // not for tokens that are narrowed to some jobs
	attempt      bool   // for the token of an attempt of the run in its path, and for no other
	probe        bool   // answered while the server stops, as calls of attempts are
	origin       bool   // pages of any site may call it
	body         int64  // the largest body it reads
	query        []param
	handle       func(*call) error

	tag, id       string
	summary, more string
	headers       []param
	in            any // an example of the body's type; nil: none
	optional      bool
	payload       bool // the body is what a sender sends, and not ours to describe
	text          bool // the body may be plain text too
	out           []outcome
	problems      []problemKind // besides those of every route
}

// param is a parameter of the query, or a header.
type param struct {
	name, doc string
	many      bool
	enum      []string
	integer   bool
	wrong     func(values []string) string // what is wrong with them; nil: nothing can be
}

// fault is what is wrong with the values of a parameter; "": nothing.
func (p *param) fault(values []string) string {
	if len(values) > 1 && !p.many {
		return "is given more than once"
	}
	if p.wrong == nil {
		return ""
	}
	return p.wrong(values)
}

// outcome is an answer that is no error.
type outcome struct {
	status int
	doc    string
	body   any // an example of its type; nil: none
	brief  any // what a token gets that may not see all of it; nil: the same
	media  []string
	etag   bool
}

func (r *route) anyOrigin() bool { return r != nil && r.origin }

// Parameters that several routes take.
var (
	paramLimit = param{
		name: "limit", integer: true, doc: "1 to 1000, 50 where left out; more counts as 1000",
		wrong: wrongLimit,
	}
	paramCursor = param{name: "cursor", doc: "next of the page before"}
	paramWait   = param{
		name: "wait", doc: "how long to wait for the end of the run, 60s at most", wrong: wrongWait,
	}
	paging = []param{paramLimit, paramCursor}

	headerMatch = param{
		name: "If-Match", many: true, wrong: wrongTags,
		doc: `the ETag that must stand, a list of them, or *`,
	}
	headerNone = param{
		name: "If-None-Match", many: true, wrong: wrongNone, doc: `* to make, never to replace`,
	}
	headerKey = param{name: "Idempotency-Key", doc: "as the field idempotency_key", wrong: wrongKey}
)

// allRoutes is the table of everything that is served.
func allRoutes() []*route {
	var all []*route
	for _, part := range [][]*route{
		jobRoutes(), scheduleRoutes(), fileRoutes(), policyRoutes(), alertRoutes(), sharingRoutes(), runRoutes(),
		runActionRoutes(), groupRoutes(), failureRoutes(), checkpointRoutes(), callbackRoutes(), ruleRoutes(), tokenRoutes(), secretRoutes(),
		eventRoutes(), statsRoutes(), sessionRoutes(), metricsRoutes(), timelineRoutes(), serverRoutes(), auditRoutes(), inboundRoutes(), openRoutes(),
	} {
		all = append(all, part...)
	}
	return all
}

func jobRoutes() []*route {
	return []*route{
		{
			method: "GET", path: "/v1/jobs", opens: scopeRead, query: paging, handle: listJobs,
			tag: "jobs", id: "list-jobs", summary: "List jobs, newest first, without their payloads",
			out: []outcome{{status: 200, body: wire.Jobs{}}},
		},
		{
			method: "POST", path: "/v1/jobs", opens: scopeAdmin, body: maxBody, handle: postJob,
			tag: "jobs", id: "create-job", summary: "Register a job", in: jobDocument{},
			more:     "Registering a script is running code on the machine.",
			out:      []outcome{{status: 201, body: jobs.Job{}, etag: true}},
			problems: []problemKind{probExists},
		},
		{
			method: "GET", path: "/v1/jobs/:name", opens: scopeRead, handle: getJob,
			tag: "jobs", id: "get-job", summary: "Show a job",
			headers: []param{{
				name: "If-None-Match", many: true, wrong: wrongTags, doc: "an ETag: 304 while it stands",
			}},
			out: []outcome{
				{status: 200, body: jobs.Job{}, etag: true},
				{status: 304, doc: "It is as the If-None-Match says"},
			},
			problems: []problemKind{probNotFound},
		},
		{
			method: "PUT", path: "/v1/jobs/:name", opens: scopeAdmin, body: maxBody, handle: putJob,
			tag: "jobs", id: "put-job", summary: "Register or replace a job", in: jobDocument{},
			more: "The same document again changes nothing. A change of what is executed is a new " +
				"version; one of its schedules is none. State (version, paused, times) is ignored. Pausing is left " +
				"alone, and so are schedules that stand by themselves.",
			headers: []param{headerMatch, headerNone},
			out: []outcome{
				{status: 200, body: jobs.Job{}, etag: true, doc: "Replaced, or the same as it stood"},
				{status: 201, body: jobs.Job{}, etag: true, doc: "Registered"},
			},
			problems: []problemKind{probNotFound, probStale},
		},
		{
			method: "DELETE", path: "/v1/jobs/:name", opens: scopeAdmin, handle: deleteJob,
			tag: "jobs", id: "delete-job", summary: "Delete a job",
			more: "Cancels its scheduled, queued, retrying and waiting runs, lets a running attempt " +
				"end without retry, and keeps history. Its schedules go with it, those that stand by themselves " +
				"too. Made again, it goes on with its versions and its ticks. Refused while another job or an unfinished " +
				"group names it.",
			headers:  []param{headerMatch},
			out:      []outcome{{status: 200, body: wire.Deleted{}}},
			problems: []problemKind{probNotFound, probState, probNamed, probStale},
		},
		{
			method: "POST", path: "/v1/jobs/:name/pause", opens: scopeOperate, body: maxBody,
			handle: func(c *call) error { return pauseJob(c, true) },
			tag:    "jobs", id: "pause-job", summary: "Pause a job: nothing of it starts, retries included",
			more: "Its schedules go on: what they make waits.",
			in:   wire.Note{}, optional: true, out: []outcome{{status: 200, body: jobs.Job{}, etag: true}},
			problems: []problemKind{probNotFound},
		},
		{
			method: "POST", path: "/v1/jobs/:name/resume", opens: scopeOperate, body: maxBody,
			handle: func(c *call) error { return pauseJob(c, false) },
			tag:    "jobs", id: "resume-job", summary: "Resume a job that is paused",
			in: wire.Note{}, optional: true, out: []outcome{{status: 200, body: jobs.Job{}, etag: true}},
			problems: []problemKind{probNotFound},
		},
		{
			method: "GET", path: "/v1/jobs/:name/versions", opens: scopeRead, query: paging,
			handle: listVersions, tag: "jobs", id: "list-versions",
			summary: "List the versions of a job, newest first",
			out:     []outcome{{status: 200, body: wire.Versions{}}}, problems: []problemKind{probNotFound},
		},
		{
			method: "GET", path: "/v1/jobs/:name/versions/:version", opens: scopeRead, handle: getVersion,
			tag: "jobs", id: "get-version", summary: "Show what one version of a job executes",
			out: []outcome{{status: 200, body: jobs.Version{}}}, problems: []problemKind{probNotFound},
		},
		{
			method: "POST", path: "/v1/jobs/:name/upgrade-runs", opens: scopeAdmin, body: maxBody,
			handle: upgradeRuns, tag: "jobs", id: "upgrade-runs",
			summary: "Move unfinished runs that are not running to the newest version",
			in:      wire.Empty{}, optional: true, out: []outcome{{status: 200, body: wire.Upgraded{}}},
			problems: []problemKind{probNotFound},
		},
	}
}

func runRoutes() []*route {
	return []*route{
		{
			method: "POST", path: "/v1/jobs/:name/runs", opens: scopeEnqueue, body: maxBody,
			query: []param{paramWait}, handle: postRun, tag: "runs", id: "enqueue",
			summary: "Run a job",
			more: "An empty body will do. An idempotency key belongs to the job's name, lives 24 h and " +
				"while its run is unfinished: the same key again answers 200 with that run and " +
				"duplicate true, another payload 409. Payloads are compared as JSON values, numbers by " +
				"their text. A token that may only enqueue sees id, job, state, duplicate of runs it " +
				"did not make. Where the job has unique, and a run of the same key stands, that is the " +
				"answer as on_conflict says: existing: 200 with that run as it is, duplicate true and " +
				"unique_until; reject: 409, naming it and until when; replace: 200 with that run, which " +
				"has taken the payload and nothing else. The idempotency key is looked at first, and kept " +
				"for the run that is the answer.",
			headers: []param{
				headerKey, {name: "traceparent", doc: "W3C trace context, passed on to the job"},
			},
			in: jobs.Request{}, optional: true,
			out: []outcome{
				{status: 202, body: wire.Run{}, doc: "On disk. Location names the run"},
				{
					status: 200, body: wire.Run{}, brief: wire.Brief{},
					doc: "An earlier run; with ?wait=, the run has ended",
				},
			},
			problems: []problemKind{probNotFound, probKey, probUnique, probTooMany},
		},
		{
			method: "POST", path: "/v1/runs/batch", opens: scopeEnqueue, body: maxBatchBody,
			handle: postBatch, tag: "runs", id: "enqueue-batch", summary: "Run up to 10,000, all or none",
			more: "One transaction. Entries act in order as if sent alone. Any fault or conflict refuses " +
				"all, and every one is listed.",
			headers: []param{{
				name: "Idempotency-Key", wrong: noKeyOfAll, doc: "refused: each run of a batch has its own",
			}},
			in: batch{}, out: []outcome{{status: 202, body: wire.Briefs{}, doc: "In the order of the call"}},
			problems: []problemKind{probKey, probUnique, probTooMany},
		},
		{
			method: "GET", path: "/v1/runs", opens: scopeRead | scopeEnqueue, query: runFilters(),
			handle: listRuns, tag: "runs", id: "list-runs", summary: "List runs, newest first",
			more: "Rows leave out payload, result, attempts and stacks. A token that may only enqueue " +
				"sees the runs it made. A page may hold fewer than limit while next is not null.",
			out: []outcome{{status: 200, body: wire.Runs{}}},
		},
		{
			method: "GET", path: "/v1/runs/:id", opens: scopeRead | scopeEnqueue,
			query: []param{paramWait}, handle: getRun, tag: "runs", id: "get-run",
			summary: "Show a run with its attempts",
			out:     []outcome{{status: 200, body: wire.Run{}}}, problems: []problemKind{probNotFound},
		},
		{
			method: "GET", path: "/v1/runs/:id/log", opens: scopeRead | scopeEnqueue, handle: getLog,
			tag: "runs", id: "get-log", summary: "Read what a run printed",
			more: "Any bytes, as they came. With Accept: text/event-stream it follows until the run has " +
				"ended: events log with data {text} and the offset behind it as id, then one event end " +
				"with data {state}. Last-Event-ID goes on from there.",
			headers: []param{{
				name: "Last-Event-ID", doc: "go on behind this event", wrong: wrongEventID,
			}},
			out: []outcome{{
				status: 200, media: []string{"text/plain; charset=utf-8", "text/event-stream"},
			}},
			problems: []problemKind{probNotFound, probOverload},
		},
	}
}

func runActionRoutes() []*route {
	return []*route{
		{
			method: "POST", path: "/v1/runs/:id/cancel", opens: scopeOperate, body: maxBody,
			handle: cancelRun, tag: "runs", id: "cancel-run", summary: "Cancel a run", in: wire.Empty{},
			more: "That of a group with its members and its merge, at all depths: 202 while an attempt of one is under way. A " +
				"member that is cancelled is missing, and its group goes on.",
			optional: true,
			out: []outcome{
				{status: 200, body: wire.Run{}, doc: "Cancelled, now or before"},
				{status: 202, body: wire.Run{}, doc: "An attempt is being stopped; then it is cancelled"},
			},
			problems: []problemKind{probNotFound, probState},
		},
		{
			method: "POST", path: "/v1/runs/:id/run-now", opens: scopeOperate, body: maxBody,
			handle: runNow, tag: "runs", id: "run-now", summary: "Drop what is left of a delay or backoff",
			in: wire.Empty{}, optional: true, out: []outcome{{status: 200, body: wire.Run{}}},
			problems: []problemKind{probNotFound, probState},
		},
		{
			method: "POST", path: "/v1/runs/:id/requeue", opens: scopeOperate, body: maxBody,
			handle: requeueRun, tag: "runs", id: "requeue-run",
			summary: "Run an ended run again, as a new run",
			more: "The job as it stands, the same operation unless it had succeeded, the payload is given " +
				"or reset is true. At most one unfinished requeue: another call answers 200 with it. Where " +
				"the job has unique, the new run takes the key: 409 while a run of the same key stands, " +
				"whatever on_conflict says, but for the run itself, whose window may not be over. Of a group, " +
				"unless a payload or reset is given, members that succeeded are kept, and the others are requeued, when it " +
				"starts. A member stands in the place of the run before: a group that has not made its merge waits for it, " +
				"one that has ended may be merged again.",
			in: wire.Requeue{}, optional: true,
			out: []outcome{
				{status: 202, body: wire.Run{}, doc: "The new run"},
				{status: 200, body: wire.Run{}, doc: "The requeue that is under way"},
			},
			problems: []problemKind{probNotFound, probState, probUnique, probTooMany},
		},
		{
			method: "DELETE", path: "/v1/runs/:id", opens: scopeAdmin, handle: deleteRun,
			tag: "runs", id: "delete-run", summary: "Delete an ended run with all that belongs to it",
			more: "Its unique key is free then; its idempotency key lives on. 409 while a group that it belongs to has not " +
				"ended.",
			out: []outcome{{status: 204}}, problems: []problemKind{probNotFound, probState},
		},
	}
}

func tokenRoutes() []*route {
	return []*route{
		{
			method: "GET", path: "/v1/tokens", opens: scopeAdmin, whole: true, query: paging,
			handle: listTokens, tag: "tokens", id: "list-tokens",
			summary: "List tokens, newest first, without their secrets",
			out:     []outcome{{status: 200, body: wire.Tokens{}}},
		},
		{
			method: "POST", path: "/v1/tokens", opens: scopeAdmin, whole: true, body: maxBody,
			handle: postToken, tag: "tokens", id: "create-token", summary: "Make a token",
			in: wire.PutToken{}, out: []outcome{{
				status: 201, body: wire.Token{}, etag: true, doc: "The secret is shown this once",
			}},
			problems: []problemKind{probExists},
		},
		{
			method: "GET", path: "/v1/tokens/:name", opens: scopeAdmin, whole: true, handle: getToken,
			tag: "tokens", id: "get-token", summary: "Show a token without its secret",
			out:      []outcome{{status: 200, body: wire.Token{}, etag: true}},
			problems: []problemKind{probNotFound},
		},
		{
			method: "PUT", path: "/v1/tokens/:name", opens: scopeAdmin, whole: true, body: maxBody,
			handle: putToken, tag: "tokens", id: "put-token",
			summary: "Make a token, or change what it opens", in: wire.PutToken{},
			more:    "The secret of one that stands stays as it is.",
			headers: []param{headerMatch, headerNone},
			out: []outcome{
				{status: 200, body: wire.Token{}, etag: true},
				{status: 201, body: wire.Token{}, etag: true, doc: "The secret is shown this once"},
			},
			problems: []problemKind{probState, probStale},
		},
		{
			method: "DELETE", path: "/v1/tokens/:name", opens: scopeAdmin, whole: true,
			handle: deleteToken, tag: "tokens", id: "delete-token",
			summary: "Revoke a token: its open streams end at once",
			headers: []param{headerMatch}, out: []outcome{{status: 204}},
			problems: []problemKind{probNotFound, probState, probStale},
		},
	}
}

func serverRoutes() []*route {
	return []*route{
		{
			method: "GET", path: "/v1/server", opens: scopeRead, handle: getServer,
			tag: "server", id: "get-server", summary: "Show whether the server drains and how much runs",
			out: []outcome{{status: 200, body: wire.Server{}}},
		},
		{
			method: "POST", path: "/v1/server/drain", opens: scopeAdmin, whole: true, body: maxBody,
			handle: drain, tag: "server", id: "drain",
			summary: "Start no attempt until resume or restart", in: wire.Empty{}, optional: true,
			out: []outcome{{status: 200, body: wire.Server{}}},
		},
		{
			method: "POST", path: "/v1/server/resume", opens: scopeAdmin, whole: true, body: maxBody,
			handle: resume, tag: "server", id: "resume",
			summary: "Start attempts again, after a drain or a restore", in: wire.Resume{}, optional: true,
			more: "Ends a drain. A database that was restored, or that this path did not serve last, is held until then: " +
				"nothing starts, no tick, deadline, heartbeat or alert is decided. cancel_waiting cancels what is scheduled, " +
				"queued, retrying or waiting first, so that nothing runs again that ran elsewhere; ticks that were missed since " +
				"then are caught up as their schedules say.",
			out: []outcome{{status: 200, body: wire.Server{}}},
		},
		{
			method: "GET", path: "/v1/backup", opens: scopeAdmin, whole: true, handle: getBackup,
			tag: "server", id: "get-backup", summary: "Download a backup of the database",
			more: "A whole copy, checked, with everything that was acknowledged before the call; Nightshift-As-Of says as of " +
				"when it is. It takes as long as writing the file twice. Secrets are in it as they are kept, sealed with the key " +
				"that lies in a file of its own: back that up too. Where the copy is served, it is held until " +
				"/v1/server/resume.",
			out:      []outcome{{status: 200, media: []string{backupMedia}}},
			problems: []problemKind{probFull},
		},
		{
			method: "GET", path: "/openapi.json", opens: scopeRead, handle: getSpec,
			tag: "server", id: "get-openapi", summary: "This description (OpenAPI 3.1)",
			out: []outcome{{status: 200, media: []string{"application/json"}}},
		},
		{
			method: "GET", path: "/docs", opens: scopeRead, handle: getDocs,
			tag: "server", id: "get-docs", summary: "This description as a page that works offline",
			out: []outcome{{status: 200, media: []string{"text/html; charset=utf-8"}}},
		},
	}
}

func openRoutes() []*route {
	health := func(method, path, id, summary string, handle func(*call) error) *route {
		return &route{
			method: method, path: path, handle: handle, tag: "open", id: id, summary: summary, probe: true,
			out: []outcome{{status: 200, body: wire.Status{}}},
		}
	}
	ready := func(method, id string) *route {
		r := health(method, "/readyz", id, "Takes work: the database can be written", getReady)
		r.problems = []problemKind{probNotReady}
		return r
	}
	watch := func(method, id string, handle func(*call) error, out outcome) *route {
		return &route{
			method: method, path: "/v1/watch/:id", origin: true, handle: handle,
			query: []param{{name: "key", doc: "as in the run's watch_url"}},
			tag:   "open", id: id, summary: "Follow the state and progress of one run",
			more: "Without a token, from pages of any site, until 24 h after the run's end. JSON, or with " +
				"Accept: text/event-stream events run and at last end.",
			out: []outcome{out}, problems: []problemKind{probNotFound, probOverload},
		}
	}
	return []*route{
		health("GET", "/healthz", "get-health", "Alive", getHealth),
		health("HEAD", "/healthz", "head-health", "Alive", getHealth),
		ready("GET", "get-ready"),
		ready("HEAD", "head-ready"),
		watch("GET", "watch-run", getWatch, outcome{
			status: 200, body: wire.Watch{}, media: []string{"application/json", "text/event-stream"},
		}),
		watch("OPTIONS", "watch-run-preflight", preflightWatch, outcome{status: 204}),
	}
}
