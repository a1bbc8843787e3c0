package jobs

import (
	"reflect"
	"slices"
	"strings"
)

// What other programs call the fields of a schedule, without the signs between words.
var scheduleHints = hintsFor(map[string][]string{
	`want "cron", such as "0 2 * * *", or "every", such as "15m"`: {
		"schedule", "when", "trigger", "frequency", "rrule", "recurrence",
	},
	`want "cron", such as "0 2 * * *"`: {
		"crontab", "cronexpression", "cronexpr", "cronspec", "expression", "expr", "spec", "line",
	},
	`want "every", such as "15m"`: {
		"interval", "period", "rate", "fixedrate", "fixeddelay", "seconds", "minutes", "hours", "days", "repeat",
	},
	`want "timezone", such as "Europe/Berlin"`: {"tz", "zone", "crontz", "location", "utcoffset"},
	`want "catch_up", such as {"mode": "latest"}`: {
		"misfire", "misfirepolicy", "misfireinstruction", "misfiregracetime", "catchuppolicy", "catchupwindow",
		"backfill", "coalesce", "persistent", "runmissed", "missed",
	},
	`want "overlap": queue, skip, replace or allow`: {
		"concurrencypolicy", "overlappolicy", "onoverlap", "allowoverlap", "nooverlap", "preventoverlap",
		"maxinstances", "maxactiveruns", "concurrency",
	},
	`want "spread", such as "10m"`: {
		"jitter", "splay", "stagger", "randomdelay", "randomizeddelay", "randomizeddelaysec",
	},
	`want "start"`: {"startat", "startsat", "starttime", "startdate", "from", "notbefore", "validfrom"},
	`want "end"`: {
		"endat", "endsat", "endtime", "enddate", "until", "to", "notafter", "expires", "expiresat", "validuntil",
	},
	`want "late_after", such as "1h"`: {
		"startingdeadlineseconds", "deadline", "late", "maxlateness", "graceperiod", "grace", "sla", "maxage",
	},
	`want "payload"`:                {"input", "args", "arguments", "params", "data", "body", "message"},
	`want "job", the name of a job`: {"task", "target", "function", "command", "run", "script", "webhook", "mail", "url"},
	`want "name"`:                   {"id", "key", "title"},
	`pausing is state, no part of a document: POST /v1/schedules/NAME/pause`: {
		"enabled", "disabled", "enable", "disable", "suspend", "suspended", "pause", "active", "state", "status",
	},
	`a run at one instant needs no schedule: make it with run_at, at POST /v1/jobs/NAME/runs`: {
		"runat", "at", "date", "once", "delay",
	},
})

// catchUpHints are those for the fields of catch_up.
var catchUpHints = hintsFor(map[string][]string{
	`want "mode": none, latest or all`: {"policy", "kind", "type", "strategy", "enabled"},
	`want "window", such as "24h"`:     {"age", "maxage", "since", "for", "within", "period", "deadline"},
	`want "limit"`:                     {"max", "maxruns", "count", "maxcount", "number"},
})

// hintsFor gives each word its hint.
func hintsFor(words map[string][]string) map[string]string {
	hints := map[string]string{}
	for hint, list := range words {
		for _, word := range list {
			hints[word] = hint
		}
	}
	return hints
}

// FieldHint says where a field belongs that a schedule does not have, or how it is called here.
func (*Schedule) FieldHint(parent, name string) string {
	if parent == "catch_up" {
		if hint := catchUpHints[plainWord(name)]; hint != "" {
			return hint
		}
	}
	if parent == "" {
		if hint := scheduleHints[plainWord(name)]; hint != "" {
			return hint
		}
		if slices.ContainsFunc(fieldsOf(reflect.TypeFor[Job]()), func(f field) bool { return f.name == name }) {
			return "it belongs to the job, not to its schedule"
		}
	}
	return belongs(reflect.TypeFor[Schedule](), "schedule", name)
}

// PreviewHint says how a field that says when there are ticks is called here. All others of a schedule
// do not count for that.
func (s *Schedule) PreviewHint(parent, name string) string {
	if parent != "" {
		return ""
	}
	if slices.ContainsFunc(fieldsOf(reflect.TypeFor[Schedule]()), func(f field) bool { return f.name == name }) {
		return "a preview does not ask for it: leave it out"
	}
	for _, known := range []string{"cron", "every", "timezone", "start", "end"} {
		if hint := scheduleHints[plainWord(name)]; strings.HasPrefix(hint, `want "`+known+`"`) {
			return hint
		}
	}
	return ""
}
