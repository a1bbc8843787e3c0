package api

import "nightshift/jobs"

// Patterns of texts in documents.
const (
	urlPattern      = `^([hH][tT][tT][pP][sS]?://|\{\{)`
	answeredPattern = `^([0-9.]+d)?([0-9.]+(h|m|s|ms))*$` // of durations as the server writes them
	durationPattern = `^(0|([0-9]+(\.[0-9]+)?(d|h|m|s|ms|µs|ns))+)$`
	sizePattern     = `^[0-9]+(\.[0-9]+)? ?([kKmMgGtT][iI]?)?[bB]$`
	needPattern     = `^(all|([1-9]|[1-9][0-9]|100)%)$`
	uniquePattern   = `^(queued|active|([0-9]+(\.[0-9]+)?(d|h|m|s|ms|µs|ns))+)$`
)

// fieldRules are what the types do not say of the values of fields: bounds, words, defaults.
var fieldRules = map[string]object{
	"Job.name":        {"pattern": namePattern},
	"Job.queue":       {"pattern": namePattern, "default": "default"},
	"Job.priority":    {"minimum": -100, "maximum": 100, "default": 0},
	"Job.description": {"maxLength": 4096},
	"Job.labels":      {"maxProperties": 32},
	"Policy.name":     {"pattern": namePattern},

	"Job.dependencies": {
		"maxItems": 10, "uniqueItems": true, "items": object{"type": "string", "pattern": namePattern},
	},

	"Concurrency.limit":  {"minimum": 1, "maximum": 10_000},
	"Rate.limit":         {"minimum": 1, "maximum": 1_000_000},
	"Unique.while":       {"pattern": uniquePattern, "default": "active"},
	"Unique.on_conflict": {"enum": []any{"existing", "reject", "replace"}, "default": "existing"},

	"Queue.name":             {"pattern": namePattern},
	"Queue.concurrency":      {"minimum": 1, "maximum": 10_000},
	"Dependency.name":        {"pattern": dependencyPattern},
	"Dependency.concurrency": {"minimum": 1, "maximum": 10_000},
	"Breaker.failures":       {"minimum": 1, "maximum": 1000, "default": 5},
	"Breaker.open_for":       {"default": "30s"},
	"Breaker.max_open":       {"default": "10m"},

	"Alert.name":     {"pattern": namePattern},
	"Alert.run":      {"pattern": namePattern},
	"Alert.on":       {"minItems": 1, "uniqueItems": true, "items": object{"type": "string", "enum": jobs.EventTypes}},
	"Alert.throttle": {"default": "10m"},
	"Alert.after":    {"minimum": 0, "maximum": 1000, "default": 1},

	"Schedule.name":     {"pattern": namePattern},
	"Schedule.job":      {"pattern": namePattern},
	"Schedule.cron":     {"minLength": 1, "maxLength": 512},
	"Schedule.overlap":  {"enum": []any{"queue", "skip", "replace", "allow"}, "default": "queue"},
	"Schedule.spread":   {"default": "0s"},
	"Schedule.timezone": {"default": "UTC"},
	"CatchUp.mode":      {"enum": []any{"none", "latest", "all"}, "default": "latest"},
	"CatchUp.limit":     {"minimum": 1, "maximum": 10_000, "default": 100},

	"Webhook.url": {"pattern": urlPattern},
	"Webhook.method": {
		"enum": []any{"POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"}, "default": "POST",
	},
	"Webhook.success":            {"default": "http.status in 200..299"},
	"Webhook.follow_redirects":   {"default": false},
	"Webhook.nightshift_headers": {"default": true},
	"Webhook.completion":         {"enum": []any{"response", "callback"}, "default": "response"},

	"Checkpointing.ttl": {"default": "24h"},

	"Script.user":  {"pattern": `^([!-,.0-9;-~][!-.0-9;-~]{0,31})?$`},
	"Script.grace": {"default": "10s"},

	"Retry.name":         {"pattern": namePattern},
	"Retry.policy":       {"pattern": namePattern},
	"Retry.max_attempts": {"minimum": 1, "maximum": 1000, "default": 8},
	"Retry.otherwise":    {"enum": []any{"retry", "fail"}},
	"Retry.interrupted":  {"enum": []any{"rerun", "fail"}, "default": "rerun"},
	"Retry.rules":        {"maxItems": 100},

	"Backoff.kind":   {"enum": []any{"exponential", "fixed"}, "default": "exponential"},
	"Backoff.base":   {"default": "10s"},
	"Backoff.factor": {"minimum": 1, "maximum": 1000, "default": 3},
	"Backoff.max":    {"default": "30m"},
	"Backoff.jitter": {"minimum": 0, "maximum": 1, "default": 0.2},

	"Rule.if":           {"minLength": 1, "maxLength": 4096},
	"Rule.then":         {"enum": []any{"retry", "fail"}},
	"Rule.max_attempts": {"minimum": 1, "maximum": 1000},
	"Rule.reason":       {"maxLength": 500},

	"Retain.succeeded": {"default": "7d"},
	"Retain.cancelled": {"default": "7d"},
	"Retain.failed":    {"default": "90d"},

	"Door.name":   {"pattern": namePattern},
	"Door.verify": {"enum": []any{"github", "stripe", "standard-webhooks", "secret"}},
	"Chain.job":   {"pattern": namePattern},

	"Group.members":           {"maxItems": 10_000},
	"Group.need":              {"default": 1},
	"Group.on_member_failure": {"enum": []any{"wait", "cancel_rest"}, "default": "wait"},
	"Member.name":             {"pattern": namePattern},
	"Member.job":              {"pattern": namePattern},
	"Merge.job":               {"pattern": namePattern},
}
