package jobs

import "strings"

// longHints are for what others call the fields of long work, by the place where they were written.
var longHints = map[string]map[string]string{
	"": {
		"checkpoint_ttl": `want "checkpoint", such as {"ttl": "24h"}`,
		"checkpoint_key": `want "checkpoint", such as {"key": "payload.batch"}`,
		"ttl":            "it belongs below checkpoint",
	},
	"webhook": {
		"callback":  wantCompletion,
		"async":     wantCompletion,
		"heartbeat": `want "heartbeat_timeout", such as "30s"`,
	},
	"script": {
		"run_as":       `want "user", such as "www-data"`,
		"memory_limit": wantMemory,
		"max_memory":   wantMemory,
		"mem_limit":    wantMemory,
	},
}

const (
	wantCompletion = `want "completion", which may be "callback"`
	wantMemory     = `want "memory", such as "512MiB"`
)

func (w *Webhook) checkCompletion(f *faults) {
	switch w.Completion {
	case "", CompletionResponse, CompletionCallback:
	default:
		f.add("webhook.completion", "want response: the answer tells what came of it; or callback: an "+
			"answer 202 takes the work on, and a call tells later")
	}
	if w.CallsBack() && w.NightshiftHeaders != nil && !*w.NightshiftHeaders {
		f.add("webhook.nightshift_headers", "with completion callback they cannot be left out: "+
			"they say where to call back, and by which token")
	}
	switch t := w.HeartbeatTimeout; {
	case t == nil:
	case *t <= 0 || t.Std() > MaxTimeout:
		f.add("webhook.heartbeat_timeout", "want more than 0s and at most 24h")
	case !w.CallsBack():
		f.add("webhook.heartbeat_timeout", "want it with completion callback alone: only work that was "+
			"taken on has heartbeats")
	}
}

// checkConfines checks what bounds a script.
func (s *Script) checkConfines(f *faults) {
	if s.User != "" && !validUser(s.User) {
		f.add("script.user", "want the name of a user of this machine, such as www-data")
	}
	if m := s.Memory; m != nil && *m < minMemory {
		f.add("script.memory", "want at least %s", minMemory)
	}
}

// minMemory is what no interpreter can do without.
const minMemory Size = 1 << 20

func validUser(name string) bool {
	bad := func(r rune) bool { return r <= ' ' || r > '~' || r == ':' || r == '/' }
	return len(name) <= 32 && !strings.ContainsFunc(name, bad) && name[0] != '-'
}

// check checks how long what is saved is kept. The key is for Compile.
func (c *Checkpointing) check(f *faults) {
	if c.TTL != nil && *c.TTL <= 0 {
		f.add("checkpoint.ttl", "want more than 0s, such as 24h: it is kept at least until its run has ended")
	}
}
