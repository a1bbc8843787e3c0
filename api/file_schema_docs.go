package api

// Patterns of texts in documents.
const (
	urlPattern      = `^([hH][tT][tT][pP][sS]?://|\{\{)`
	durationPattern = `^(0|([0-9]+(\.[0-9]+)?(d|h|m|s|ms|µs|ns))+)$`
)

// fieldRules are what the types do not say of the values of fields: bounds, words, defaults.
var fieldRules = map[string]object{
	"Job.name":        {"pattern": namePattern},
	"Job.queue":       {"pattern": namePattern, "default": "default"},
	"Job.priority":    {"minimum": -100, "maximum": 100, "default": 0},
	"Job.description": {"maxLength": 4096},
	"Job.labels":      {"maxProperties": 32},
	"Policy.name":     {"pattern": namePattern},

	"Webhook.url": {"pattern": urlPattern},
	"Webhook.method": {
		"enum": []any{"POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"}, "default": "POST",
	},
	"Webhook.success":            {"default": "http.status in 200..299"},
	"Webhook.follow_redirects":   {"default": false},
	"Webhook.nightshift_headers": {"default": true},

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
}
