package api

import "strings"

// fieldDoc says what a field of a schema means: in the words of fieldDocs, where documents share
// them.
func fieldDoc(schema, field string) string {
	schema = strings.TrimSuffix(schema, "Document")
	for _, name := range []string{schema, sharedDocs[schema], "*"} {
		if doc := fieldDocs[name+"."+field]; doc != "" {
			return doc
		}
	}
	return ""
}

// sharedDocs are schemas whose fields are those of another.
var sharedDocs = map[string]string{
	"Defaults":         "Job",
	"StandingSchedule": "Schedule", "SchedulePreview": "Schedule", "Policy": "Retry", "GroupRequest": "Group", "GroupError": "Failure", "GroupResult": "GroupMember", "TokenRequest": "Token", "Batch": "RunRequest", "RulesError": "Failure",
	"RulesHTTP": "HTTPFailure", "RulesExit": "ExitFailure", "RulesEnd": "Decision",
	"RulesChecked": "Decision", "EffectiveRule": "Rule", "Watch": "Run", "Brief": "Run", "SecretUse": "Secret",
	"Version": "Run",
}

// fieldDocs say what the fields of documents and answers mean (contract 3). *: of any schema.
var fieldDocs = map[string]string{
	"Job.name": "Its identity, unless it stands as a key in a map. What it was is kept under its name",
	"Job.webhook": "An HTTP endpoint to call: its URL, or an object. Exactly one of webhook, script, mail " +
		"and group",
	"Job.script":     "A program to run: its text, or an object. Exactly one of webhook, script, mail and group",
	"Job.mail":       "A message to send. Exactly one of webhook, script, mail and group",
	"Job.group":      "Runs of other jobs side by side, then one that gets all results. Exactly one of webhook, script, mail and group",
	"Job.inbound":    "Doors: POST /in/JOB/NAME makes a run where the sender's signature is right",
	"Job.on_success": "Runs of other jobs that are made when a run of this one has succeeded",

	"Webhook.url":     "http or https; may hold {{ expression }}",
	"Webhook.headers": "One set here wins over ours of that name; values may hold {{ expression }}",
	"Webhook.body": "A text, or JSON, with {{ expression }}, such as {{ slack(payload) }} of what an alert tells; left out: the " +
		"payload as it came",
	"Webhook.success":          "An expression over http and the run that says whether an answer is a success",
	"Webhook.signing_secret":   `One such as "{{ secrets.SIGN }}", or a list of two while one is rotated`,
	"Webhook.follow_redirects": "307 and 308, 3 at most",
	"Webhook.completion": "response, where left out: the answer says what came of it; callback: 202 means that the " +
		"receiver has taken the work on, and the run waits, without a worker, until complete or fail of its callback",
	"Webhook.heartbeat_timeout": "Of completion callback: an attempt that makes no call of its callback for that long " +
		"fails, kind heartbeat; left out: any silence will do until the timeout",

	"Script.args": "Arguments; may hold {{ expression }}",
	"Script.env": "Variables; values may hold {{ expression }}. Of the server's environment only PATH, " +
		"LANG and TZ are inherited. nightshift is found first on PATH, or last where PATH stands here",

	"Mail.to":      "Addresses; may hold {{ expression }}",
	"Mail.cc":      "Addresses that get a copy",
	"Mail.from":    "Left out: the server's --mail-from",
	"Mail.subject": "One line; may hold {{ expression }}, such as {{ text(payload, 1) }} of what an alert tells",
	"Mail.body":    "Text; may hold {{ expression }}, such as {{ text(payload) }} of what an alert tells",

	"GroupRequest.delay":           "Start that much later; or run_at",
	"GroupRequest.run_at":          "Start then; or delay",
	"GroupRequest.idempotency_key": "1 to 255 printable ASCII characters; or the header Idempotency-Key",
	"GroupMember.job":              "The job that it is a run of",
	"GroupMember.started_at":       "When its first attempt started; null: none has",
	"GroupMember.finished_at":      "When it ended; null: it has not",
	"GroupCounts.members":          "All of them",
	"GroupCounts.succeeded":        "Those that are good",
	"GroupCounts.failed":           "Those that ended failed",
	"GroupCounts.missing":          "Those that were cancelled, are not kept, or had not ended by the deadline",
	"GroupCounts.unfinished":       "Those that have not ended",
	"Group.members":                "The runs of the group, in the order of the results; [] for none: the merge runs at once then",
	"Group.merge":                  "The run that gets the results when the last member has ended; left out: the group's result is null",
	"Group.need": "How many members have to succeed for the merge, and for the group to: all, a number, or a part such as " +
		"60%, rounded up; 1 where left out. Fewer: no merge, and the group fails, kind group",
	"Group.deadline": "From the start of the group: members not done by then are cancelled, and missing",
	"Group.on_member_failure": "wait: the others go on; cancel_rest: the first member that fails or is cancelled cancels " +
		"the others, no merge is made, and the group fails",
	"Member.name":    "By which the merge tells the results apart; of each member its own",
	"Member.job":     "Whose run it is, by that job's retry, timeout and limits",
	"Member.payload": "May hold {{ expression }} over payload, run and job, those of the group; left out: the group's payload",
	"Merge.job":      "Whose run it is, by that job's retry, timeout and limits",

	"Retry.policy":  "The named policy to start from; fields here override it",
	"Retry.backoff": "How long to wait before the next attempt",

	"Backoff.kind":   "exponential: min(max, base × factor^(n-1)); fixed: base",
	"Backoff.base":   "The wait after the first failure",
	"Backoff.factor": "By which each wait is longer than the one before",
	"Backoff.max":    "No wait is longer, jitter aside",
	"Backoff.jitter": "j draws from [1-j, 1+j]",

	"Rule.if":           "An expression over the error, such as http.status == 429",
	"Rule.then":         "What to do where it holds",
	"Rule.after":        "A duration, or an expression that gives one; left out: the backoff",
	"Rule.max_attempts": "A budget of its own: it counts only the failures that this rule decided",
	"Rule.reason":       "Shown with the decision",

	"Retain.succeeded": "How long runs that succeeded are kept",
	"Retain.cancelled": "How long cancelled runs are kept",
	"Retain.failed":    "Counted from when the failure was dealt with",

	"Door.name":   "Stands in the address, /in/JOB/NAME",
	"Door.verify": "How the sender signs",
	"Door.secret": `What the sender signs with, such as "{{ secrets.GH }}"`,
	"Door.if":     "An expression over headers and payload; false: the delivery makes no run",
	"Door.key":    "An expression that names the delivery; left out: the sender's own id",

	"Chain.job":     "The job to run",
	"Chain.if":      "An expression over result and payload; left out: always",
	"Chain.payload": "May hold {{ expression }}; left out: the result",

	"Job.description": "For people",
	"Job.labels":      "For people and filters; runs carry them",
	"Job.payload":     "Used where a run brings none; {} where left out. Up to 256 KiB",
	"Job.timeout": "Of one attempt, or slice: 5m for a webhook, 24h for one of completion callback, 6h for a script, " +
		"1m for a mail where left out; 24h at most",
	"Job.queue":       "default where left out",
	"Job.priority":    "-100 to 100, higher first",
	"Job.concurrency": "How many attempts may be under way at once; further runs wait",
	"Job.rate": "How many attempts may start in any window of a length, retries included; further ones wait. " +
		"It holds over a restart too",
	"Job.unique": "Folds runs that mean the same into one",
	"Job.dependencies": "What its runs share with those of other jobs, by name; 10 at most. They come to be by " +
		"being named. The host:port of a webhook is one by itself and is not named here",
	"Job.checkpoint": "How long what its runs have saved is kept, and who shares it",
	"Job.long_after": "A run that has not ended that long after its first attempt started makes the event run.long, once. " +
		"It counts as it is then. Left out: nobody is told",
	"Job.retry":      "When a failed attempt is tried again",
	"Job.retain":     "How long ended runs are kept",
	"Job.version":    "Grows when what is executed changes",
	"Job.paused":     "Nothing of it starts",
	"Job.pause_note": "Why it is paused",

	"Job.resolve_on_success": "true: a success resolves earlier open failures: of a run that a schedule made those of that " +
		"schedule, of any other all of the job",

	"Job.schedules": "When runs of it are made, by a cron line or an interval: each is the schedule JOB:NAME. Others may " +
		"stand by themselves",
	"Schedule.name": "In a job default where left out, and JOB:NAME elsewhere",
	"Schedule.job":  "Whose runs it makes; left out in a job",
	"Schedule.cron": "5 fields, or 6 with the seconds first: names, ranges, steps, lists, L, W and #; or @hourly, @daily " +
		"and the like, or @reboot, one tick at each start of the server. One of cron and every",
	"Schedule.every": "An interval of real time, 1s or more, counted from start, else from when the schedule was first " +
		"saved. One of cron and every",
	"Schedule.timezone": "Of the cron line, such as Europe/Berlin; UTC where left out. A wall time that does not exist " +
		"runs at the first instant after the gap, one that comes twice the first time; where minute or hour is * or */n " +
		"the schedule follows real time",
	"Schedule.payload":  "Of its runs; left out: the job's",
	"Schedule.catch_up": "What becomes of ticks that were missed while the server was down",
	"Schedule.overlap": "What becomes of a tick while an earlier run of the schedule has not ended: queue (where left " +
		"out), its run waits, and a newer tick cancels one that waits; skip, the tick is skipped; replace, the earlier run " +
		"is cancelled; allow, they run side by side",
	"Schedule.spread": "Its runs start up to this much after the tick, always by the same, and before the next tick; 0s " +
		"where left out",
	"Schedule.start": "No tick before",
	"Schedule.end":   "No tick after",
	"Schedule.late_after": "A tick that has not succeeded that long after it makes the event schedule.late; left out: one whose " +
		"run has not started 15m after it",
	"Apply.alerts": "Who is told of what",
	"Alert.on":     "The types of the events that are told. run.recovered is told only where the failure was",
	"Alert.if": "An expression over type, subject and the members of the event's data, such as labels.team == \"data\"; " +
		"left out: always. One that fails counts as true, and the message says so",
	"Alert.run": "The job that tells: each message is a run of it, with the event as payload (CloudEvents 1.0 in JSON). " +
		"slack(payload) and text(payload) in its templates render it",
	"Alert.throttle": "The first event of a job and fingerprint is told at once, those that follow within the throttle in " +
		"one summary at its end; 10m where left out",
	"Alert.after": "Silent below that many failed runs in a row, told from it on; 1 where left out",
	"Alert.key": "An expression, such as labels.customer: failed runs in a row are counted for each of its values alone; " +
		"left out: per job and schedule",
	"CatchUp.mode": "none; latest (where left out), one run for the newest tick that was missed; or all, one after another, " +
		"the oldest first",
	"CatchUp.window": "Older ones are skipped; left out: none are for latest, 24h for all",
	"CatchUp.limit":  "Of all: the newest so many; 100 where left out",

	"RunRequest.job":             "In a batch; else the path names it",
	"RunRequest.payload":         "Left out: the job's. Up to 256 KiB",
	"RunRequest.delay":           "Start that much later; or run_at",
	"RunRequest.run_at":          "Start then; or delay",
	"RunRequest.priority":        "-100 to 100, higher first; left out: the job's",
	"RunRequest.max_attempts":    "A cap on all attempts, those of rules' own budgets included",
	"RunRequest.timeout":         "Of one attempt; 24h at most",
	"RunRequest.correlation_id":  "Passed on to what the run makes; left out: the run's id",
	"RunRequest.labels":          "Added to the job's",
	"RunRequest.idempotency_key": "1 to 255 printable ASCII characters; or the header Idempotency-Key",
	"RunRequest.runs":            "In the order in which they act",

	"Webhook.method":             "POST where left out; GET and HEAD send no body",
	"Webhook.nightshift_headers": "false: no Nightshift-* header",

	"Script.source":      "The text, or path",
	"Script.path":        "A file below the scripts folder of the server",
	"Script.interpreter": "Else the #! line, else by the path's ending, else a shell",
	"Script.dir":         "Left out: an empty folder of its own, removed afterwards",
	"Script.user": "The user of this machine it runs as, where the server may; left out: that of --script-user, " +
		"else the server's own",
	"Script.memory": "Resident memory of the whole tree of processes; past it they are killed, kind memory. Left " +
		"out: no limit",
	"Script.grace": "Between SIGTERM and SIGKILL; 10s where left out",

	"Rule.by": "Whose it is, and its place there",

	"Retry.max_attempts": "Attempts outside rules' own budgets, the first included; 8 where left out",
	"Retry.max_elapsed":  "No retry later than this after the run was first due",
	"Retry.rules":        "Tried in order; the first whose if holds decides",
	"Retry.otherwise":    "Where no rule matched: retry or fail",
	"Retry.interrupted":  "rerun, or fail: a started attempt is never started again",
	"Retry.built_in":     "As it came with the server: nobody has changed it",

	"Run.job":             "The job's name",
	"Run.version":         "Of the job: what it executes",
	"Run.state":           "scheduled, queued, running, retrying and waiting go on; the others have ended",
	"Run.trigger":         "What made it",
	"Run.priority":        "-100 to 100, higher first",
	"Run.queue":           "Where it waits",
	"Run.labels":          "The job's, and its own over them",
	"Run.correlation_id":  "The same for all that one run led to",
	"Run.traceparent":     "W3C trace context, passed on to the job",
	"Run.idempotency_key": "The key it was enqueued with; null: none",
	"Run.progress":        "What the job last said, as it says it; null: nothing",
	"Run.attempts":        "Each execution, the first and the last hundred",
	"Run.duplicate":       "An earlier run stands, and is the answer",

	"Attempt.version":     "Of the job: what it executed",
	"Attempt.error":       "Why it failed; null: it did not",
	"Attempt.http_status": "Of the answer; null: none came",
	"Attempt.exit_code":   "Of the script; null: there is none",
	"Attempt.output_tail": "The end of what it printed, up to 4 KiB",

	"Failure.kind": "timeout, connection, dns, tls, http, smtp, exit, signal, memory (past script.memory, or the " +
		"machine ran out), spawn (could not be started), heartbeat (none in time), reported (the job said so), invalid (cannot be rendered, or a slice that " +
		"does not go on), blocked, group (too few good members), merge (the merge of a group failed), crash_loop, shutdown or lost",
	"Failure.type":     "The exception's class, as reported or read from a trace; else the kind",
	"Failure.message":  "One line",
	"Failure.stack":    "The trace, as it was printed or reported",
	"Failure.reported": "What the job itself said of another try",

	"*.error_kind":      "Its sort: timeout, connection, http, exit and so on, as in the error of a run",
	"*.error_type":      "The exception's class, as reported or read from a trace; else the kind",
	"*.fingerprint":     "The same for failures that are alike: of job, kind, type and message without numbers and ids",
	"FailureFilter.job": "Its name",
	"Order.action":      "What is done to the failures",
	"OrderSample.job":   "The job's name",
	"OrderSkip.reason":  "Why it was left as it was",

	"HTTPFailure.status":   "Of the answer",
	"HTTPFailure.headers":  "By lower-case name",
	"HTTPFailure.body":     "Its text, up to 16 KiB",
	"ExitFailure.code":     "-1: none, it was killed by a signal",
	"ExitFailure.signal":   "Such as SIGKILL",
	"Reported.retryable":   "Whether another try is worth it; null: it did not say",
	"Reported.retry_after": "When it wants to be tried again",

	"Decision.action": "succeed, retry, rerun, fail or cancel",
	"Decision.by":     `Who decided: "job rule 2", "policy NAME rule 1", otherwise, max_attempts, and so on`,
	"Decision.reason": "In a sentence",

	"HeldBy.kind": "dependency, concurrency, rate, queue, paused, workers, overlap (an earlier run of its schedule), " +
		"checkpoint (an earlier run of its checkpoint key), secret, drain or disk",
	"HeldBy.name":   "Of what it waits for",
	"HeldBy.reason": "In a sentence",
	"HeldBy.until":  "From when on it may start; null: that is not known",

	"Queue.name":        "default, or one that a job names",
	"Dependency.name":   "One that a job names, or the host:port of webhooks: lower case, IPv6 in brackets",
	"Concurrency.limit": "So many, 1 to 10000",
	"Concurrency.key": "An expression over payload, run and job, such as payload.customer: runs of each key are " +
		"counted alone. It is worked out when a run is made, and kept; nil: the limit does not hold for that run; an " +
		"empty text is a key as any other. Left out: all runs of the job count together",
	"Unique.key": "An expression over payload, run and job, such as payload.order_id: runs of one key mean the " +
		"same. nil: the run is like no other. Left out: all runs of the job are alike",
	"Unique.while": "How long a run stands for those that come after it: queued, until it first starts; active, " +
		"until it ends, waiting for a retry included; or a duration from when it was made, whatever becomes of it: it is no bucket of the clock, and " +
		"neither an end, a cancel nor pruning frees the key; deleting the run does. What the job says when the " +
		"next run is asked for counts",
	"Unique.on_conflict": "What a request gets while a run stands: existing, that run, as a duplicate; reject, 409; " +
		"replace, with while: queued alone, that run, which takes the new payload and nothing else. A requeue gets " +
		"409; a follow-up or a delivery acts as existing, and is noted on the run that stands (folded)",

	"Checkpointing.ttl": "How long a checkpoint is kept that no unfinished run needs, from its last write, the end of " +
		"the run, or when the failure was dealt with, whichever is the latest; 24h where left out. It is looked at once a minute. A success drops it at once",
	"Checkpointing.key": "An expression over payload, run and job, such as payload.batch: the runs of each key go on from " +
		"one checkpoint, one after another in the order in which they were made. It is worked out when a run is made, and " +
		"kept. Left out, or nil: a checkpoint belongs to the operation, so to a run and its requeues",

	"Folded.count":   "So many runs",
	"Folded.trigger": "Of the last of them: chain or inbound",
	"Folded.by":      "The run that it would have followed, or the door and the sender's id of the delivery",
	"Folded.at":      "When that was",

	"Rate.limit":       "So many attempts",
	"Rate.per":         "In any window of that length",
	"Rate.key":         "As concurrency.key, for the rate of a job; a dependency has none",
	"Breaker.failures": "So many passing errors in a row open it; 5 where left out",
	"Breaker.open_for": "Until the first probe, and doubled by each probe that fails; 30s where left out",
	"Breaker.max_open": "It is never open for longer at a time; 10m where left out",

	"Progress.done":  "Of total; 0 or more",
	"Progress.total": "0, or left out: not known",
	"Progress.note":  "For people: one line, 200 characters of it are kept",

	"Problem.type":   "The sort of problem, to tell them apart by",
	"Problem.title":  "The sort in words",
	"Problem.status": "The status of the answer",
	"Problem.detail": "What went wrong here",

	"ProblemFault.location": "Where: such as body.retry.rules[1].if",
	"ProblemFault.message":  "What is wrong, and what would be right",
	"Change.location":       "The field, such as retry.max_attempts",

	"Applied.warnings":       "What will keep a document from doing its work",
	"AppliedItem.kind":       "What the document is",
	"AppliedItem.name":       "Its name",
	"Apply.jobs":             "A list, or a map by name",
	"Defaults.timezone":      "Of each schedule of the file with a cron line that says none",
	"Apply.schedules":        "That stand by themselves: a list, or a map by name",
	"Apply.policies":         "A list, or a map by name",
	"Apply.queues":           "A list, or a map by name",
	"Apply.dependencies":     "A list, or a map by name. null turns off what is built in",
	"Warning.kind":           "What the document is",
	"Warning.name":           "Its name",
	"Warning.message":        "What will happen, and what helps",
	"AuditEntry.id":          "Grows with each entry",
	"AuditEntry.actor":       "token NAME, sign-in NAME (by a page), schedule NAME, or server",
	"AuditEntry.action":      "Such as put, delete, pause, cancel",
	"AuditEntry.kind":        "Of what was changed",
	"AuditEntry.name":        "Of what was changed",
	"AuditEntry.changes":     "The difference, field by field; empty where there is nothing to show",
	"AuditEntry.note":        "What who did it wrote about it",
	"EffectiveRetry.rules":   "In the order in which they are asked",
	"RulesBacktest.job":      "Whose failures are replayed",
	"Secret.name":            "Letters, digits and _, as it is written in {{ secrets.NAME }}",
	"Server.version":         "Of the program",
	"Status.status":          "alive or ready",
	"Token.name":             "The token's name",
	"Token.scopes":           "What it may do: read, enqueue, operate, admin",
	"Token.secret":           "The token itself, shown this once",
	"Upgraded.upgraded_runs": "How many moved",

	"*.items":      "In the order that the route says",
	"*.next":       "The cursor of the next page; null: this was the last",
	"*.limit":      "What counted as the limit",
	"*.note":       "Why, for the audit",
	"*.name":       "Its name",
	"*.set":        "The set of the apply that holds it; left out: none",
	"*.value":      "What counts; null: nothing",
	"*.from":       "Whose it is",
	"*.created_at": "When it was first saved",
	"*.updated_at": "When it last changed",
}
