package api

import (
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// schemaNames are those that say more than the name of the type.
var schemaNames = map[string]string{
	"Request": "RunRequest", "PutToken": "TokenRequest", "Fault": "ProblemFault",
	"ApplyDocument": "Apply", "RunGroup": "GroupRequest",
}

// conventions are what holds for all calls.
const conventions = "Runs jobs: webhooks, scripts and mails, with retries by rule and a durable history.\n\n" +
	"A body is read as JSON whatever its Content-Type, strictly: unknown fields, duplicate keys " +
	"and wrong types are refused with every fault found and where. Times are RFC 3339 in UTC with " +
	"milliseconds, durations texts such as 90s, 1h30m or 7d. A field that is null counts as left " +
	"out. Payloads and results are kept and answered byte for byte. HEAD answers as GET does, " +
	"without the body. Bodies up to 1 MiB (batch, groups and apply 16 MiB), payloads and checkpoints up to 256 " +
	"KiB, results 64 KiB. 2xx means on disk (progress, log and heartbeat of a callback: taken in, and on disk within 2 s).\n\n" +
	"Lists are newest first. Following next shows each row once while rows come and go."

// intro is the description of the whole: conventions, the kinds of problems and the chapters.
func intro() string {
	var b strings.Builder
	b.WriteString(conventions)
	b.WriteString("\n\nErrors are application/problem+json (RFC 9457); their type is one of:\n\n")
	b.WriteString("- `" + problemBlank + "`: what is no HTTP call (400, 417, 431, 501, 505), and " +
		"connections past the bound (503)\n")
	for _, kind := range problemKinds {
		fmt.Fprintf(&b, "- %d `%s%s`: %s\n", kind.status, problemPrefix, kind.name, kind.title)
	}
	b.WriteString(chaptersText())
	return b.String()
}

// tags are the parts of the description, in the order of the page.
var tags = []*huma.Tag{
	{Name: "jobs", Description: "What is registered: what to execute, and when to try it again"},
	{Name: "schedules", Description: "When runs of jobs are made, and what became of each planned instant"},
	{Name: "policies", Description: "Retry settings that jobs start from, by name"},
	{Name: "alerts", Description: "Who is told of what has happened: events that make runs of jobs, such as one that writes to Slack"},
	{Name: "queues", Description: "What runs wait in: how many of them may run at once"},
	{Name: "dependencies", Description: "What runs share: a service, a lock, the host of a webhook"},
	{Name: "runs", Description: "Pieces of work for a job: made, followed, cancelled, run again"},
	{Name: "groups", Description: "Runs of members side by side, and one that gets all their results, good and bad"},
	{Name: "failures", Description: "Runs that failed, until somebody has dealt with them, one by one or many at once"},
	{Name: "callback", Description: "What an attempt says while it is under way, by its own token"},
	{Name: "rules", Description: "What becomes of failures, tried before it counts"},
	{Name: "inbound", Description: "Doors: senders that sign what they send make runs"},
	{Name: "secrets", Description: "Values that definitions name and nobody reads back"},
	{Name: "events", Description: "What is worth telling, as it happens and for 90 days"},
	{Name: "tokens", Description: "Who may call, and what"},
	{Name: "sessions", Description: "Browsers that have signed in"},
	{Name: "server", Description: "The server itself: its state, its audit, its description"},
	{Name: "open", Description: "What answers without a token"},
}
