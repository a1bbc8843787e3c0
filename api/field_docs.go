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
	"Policy": "Retry", "TokenRequest": "Token", "Batch": "RunRequest", "RulesError": "Failure",
	"RulesHTTP": "HTTPFailure", "RulesExit": "ExitFailure", "RulesEnd": "Decision",
	"RulesChecked": "Decision", "EffectiveRule": "Rule", "Watch": "Run", "Brief": "Run", "SecretUse": "Secret",
	"Version": "Run",
}

// fieldDocs say what the fields of documents and answers mean (contract 3). *: of any schema.
var fieldDocs = map[string]string{
	"Job.name": "Its identity, unless it stands as a key in a map. What it was is kept under its name",
	"Job.webhook": "An HTTP endpoint to call: its URL, or an object. Exactly one of webhook, script and " +
		"mail",
	"Job.script":     "A program to run: its text, or an object. Exactly one of webhook, script and mail",
	"Job.mail":       "A message to send. Exactly one of webhook, script and mail",
	"Job.inbound":    "Doors: POST /in/JOB/NAME makes a run where the sender's signature is right",
	"Job.on_success": "Runs of other jobs that are made when a run of this one has succeeded",

	"Webhook.url":              "http or https; may hold {{ expression }}",
	"Webhook.headers":          "One set here wins over ours of that name; values may hold {{ expression }}",
	"Webhook.body":             "A text, or JSON, with {{ expression }}; left out: the payload as it came",
	"Webhook.success":          "An expression over http and the run that says whether an answer is a success",
	"Webhook.signing_secret":   `One such as "{{ secrets.SIGN }}", or a list of two while one is rotated`,
	"Webhook.follow_redirects": "307 and 308, 3 at most",

	"Script.args": "Arguments; may hold {{ expression }}",
	"Script.env": "Variables; values may hold {{ expression }}. Of the server's environment only PATH, " +
		"LANG and TZ are inherited",

	"Mail.to":      "Addresses; may hold {{ expression }}",
	"Mail.cc":      "Addresses that get a copy",
	"Mail.from":    "Left out: the server's --mail-from",
	"Mail.subject": "One line; may hold {{ expression }}",
	"Mail.body":    "Text; may hold {{ expression }}",

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
	"Job.timeout": "Of one attempt: 5m for a webhook, 6h for a script, 1m for a mail where left out; 24h at " +
		"most",
	"Job.queue":      "default where left out",
	"Job.priority":   "-100 to 100, higher first",
	"Job.retry":      "When a failed attempt is tried again",
	"Job.retain":     "How long ended runs are kept",
	"Job.version":    "Grows when what is executed changes",
	"Job.paused":     "Nothing of it starts",
	"Job.pause_note": "Why it is paused",

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
	"Script.grace":       "Between SIGTERM and SIGKILL; 10s where left out",

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
	"Run.schedule":        "The schedule whose tick made it; null: none",
	"Run.priority":        "-100 to 100, higher first",
	"Run.queue":           "Where it waits",
	"Run.labels":          "The job's, and its own over them",
	"Run.correlation_id":  "The same for all that one run led to",
	"Run.traceparent":     "W3C trace context, passed on to the job",
	"Run.idempotency_key": "The key it was enqueued with; null: none",
	"Run.progress":        "What the job last said; null: nothing",
	"Run.group":           "The run of the group that it is a member of; null: none",
	"Run.attempts":        "Each execution, the first and the last hundred",
	"Run.duplicate":       "An earlier run stands, and is the answer",

	"Attempt.version":     "Of the job: what it executed",
	"Attempt.error":       "Why it failed; null: it did not",
	"Attempt.http_status": "Of the answer; null: none came",
	"Attempt.exit_code":   "Of the script; null: there is none",
	"Attempt.output_tail": "The end of what it printed, up to 4 KiB",

	"Failure.kind":     "timeout, connection, dns, tls, http, smtp, exit, signal, spawn, reported, invalid, blocked, and more",
	"Failure.type":     "The exception's class, as reported or read from a trace; else the kind",
	"Failure.message":  "One line",
	"Failure.stack":    "The trace, as it was printed or reported",
	"Failure.reported": "What the job itself said of another try",

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

	"HeldBy.kind":   "workers, paused, secret, drain or disk",
	"HeldBy.name":   "Of what it waits for",
	"HeldBy.reason": "In a sentence",

	"Progress.done":  "Of total",
	"Progress.total": "0: unknown",
	"Progress.note":  "For people",

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
	"Apply.policies":         "A list, or a map by name",
	"Warning.kind":           "What the document is",
	"Warning.name":           "Its name",
	"Warning.message":        "What will happen, and what helps",
	"AuditEntry.id":          "Grows with each entry",
	"AuditEntry.actor":       "token NAME, or server",
	"AuditEntry.action":      "Such as put, delete, pause, cancel",
	"AuditEntry.kind":        "Of what was changed",
	"AuditEntry.name":        "Of what was changed",
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
