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

// fileDocs say what fields mean where the description of the API says less.
var fileDocs = map[string]string{
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
}
