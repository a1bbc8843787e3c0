package api

import (
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// schemaNames are those that say more than the name of the type.
var schemaNames = map[string]string{
	"Request": "RunRequest", "PutToken": "TokenRequest", "Fault": "ProblemFault",
	"ApplyDocument": "Apply",
}

var jobFields = map[string]string{
	"name":        "Its identity; matches ^[a-z0-9][a-z0-9._-]{0,99}$",
	"webhook":     "Exactly one of webhook and script",
	"script":      "Exactly one of webhook and script",
	"payload":     "Used where a run brings none; {} where left out. Up to 256 KiB",
	"timeout":     "Of one attempt: 5m for a webhook, 6h for a script where left out; 24h at most",
	"queue":       "default where left out",
	"priority":    "-100 to 100, higher first",
	"retry":       "When a failed attempt is tried again",
	"retain":      "How long ended runs are kept",
	"version":     "Grows when what is executed changes",
	"paused":      "Nothing of it starts",
	"pause_note":  "Why it is paused",
	"created_at":  "When it was first registered",
	"updated_at":  "When the document last changed",
	"description": "For people",
	"labels":      "For people and filters; runs carry them",
}

// jobDocs say what the fields of a job document mean (contract 3.1).
var jobDocs = map[string]map[string]string{
	"Failure": {"reported": "What the job itself said of another try"},
	"Job":     jobFields, "JobDocument": jobFields,
	"RunRequest": {
		"job":             "In a batch; else the path names it",
		"payload":         "Left out: the job's. Up to 256 KiB",
		"delay":           "Start that much later; or run_at",
		"run_at":          "Start then; or delay",
		"priority":        "-100 to 100, higher first; left out: the job's",
		"max_attempts":    "A cap on all attempts, those of rules' own budgets included",
		"timeout":         "Of one attempt; 24h at most",
		"correlation_id":  "Passed on to what the run makes; left out: the run's id",
		"labels":          "Added to the job's",
		"idempotency_key": "1 to 255 printable ASCII characters; or the header Idempotency-Key",
	},
	"Webhook": {
		"url":                "http or https",
		"method":             "POST where left out",
		"headers":            "One set here wins over ours of that name",
		"nightshift_headers": "false: no Nightshift-* header",
	},
	"Script": {
		"source":      "The text, or path",
		"path":        "A file below the scripts folder of the server",
		"interpreter": "Else the #! line, else by the path's ending, else a shell",
		"env":         "Of the server's environment only PATH, LANG and TZ are inherited",
		"dir":         "Left out: an empty folder of its own, removed afterwards",
		"grace":       "Between SIGTERM and SIGKILL; 10s where left out",
	},
	"Rule": {
		"if":           "An expression over the error: true decides",
		"after":        "A duration, or an expression that gives one; left out: the backoff",
		"max_attempts": "A budget of its own: failures that this rule decided",
		"reason":       "Shown with each decision",
	},
	"Retry": {
		"max_attempts": "Attempts outside rules' own budgets, the first included; 8 where left out",
		"max_elapsed":  "No retry later than this after the run was first due",
		"rules":        "Tried in order; the first whose if holds decides",
		"otherwise":    "Where no rule matched: retry or fail",
		"interrupted":  "rerun, or fail: a started attempt is never started again",
	},
}

// conventions are what holds for all calls.
const conventions = "Runs jobs: webhooks, scripts and mails, with retries by rule and a durable history.\n\n" +
	"A body is read as JSON whatever its Content-Type, strictly: unknown fields, duplicate keys " +
	"and wrong types are refused with every fault found and where. Times are RFC 3339 in UTC with " +
	"milliseconds, durations texts such as 90s, 1h30m or 7d. A field that is null counts as left " +
	"out. Payloads and results are kept and answered byte for byte. HEAD answers as GET does, " +
	"without the body. Bodies up to 1 MiB (batch and apply 16 MiB), payloads up to 256 KiB. 2xx " +
	"means on disk.\n\n" +
	"Lists are newest first. Following next shows each row once while rows come and go."

// intro is the description of the whole: conventions and the kinds of problems.
func intro() string {
	var b strings.Builder
	b.WriteString(conventions)
	b.WriteString("\n\nErrors are application/problem+json (RFC 9457); their type is one of:\n\n")
	b.WriteString("- `" + problemBlank + "`: what is no HTTP call (400, 417, 431, 501, 505), and " +
		"connections past the bound (503)\n")
	for _, kind := range problemKinds {
		fmt.Fprintf(&b, "- %d `%s%s`: %s\n", kind.status, problemPrefix, kind.name, kind.title)
	}
	return b.String()
}

// tags are the parts of the description, in the order of the page.
var tags = []*huma.Tag{
	{Name: "jobs", Description: "What is registered: what to execute, and when to try it again"},
	{Name: "policies", Description: "Retry settings that jobs start from, by name"},
	{Name: "runs", Description: "Pieces of work for a job: made, followed, cancelled, run again"},
	{Name: "rules", Description: "What becomes of failures, tried before it counts"},
	{Name: "inbound", Description: "Doors: senders that sign what they send make runs"},
	{Name: "secrets", Description: "Values that definitions name and nobody reads back"},
	{Name: "tokens", Description: "Who may call, and what"},
	{Name: "server", Description: "The server itself: its state, its audit, its description"},
	{Name: "open", Description: "What answers without a token"},
}
