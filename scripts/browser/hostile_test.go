package browser

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"nightshift/scripts/internal/rig"
)

// hostile is text that a page must show as it is: each part would run a script, ask another host, or change the
// page where it is taken for more than text. What it makes bears the class hostile.
var hostile = strings.Join([]string{
	`<img class=hostile src=x onerror=canary('img')>`,
	`"><script class=hostile>canary('script')</script>`,
	`'><svg class=hostile onload=canary('svg')>`,
	`</textarea></title></script><script class=hostile>alert(1)</script>`,
	`<iframe class=hostile srcdoc="<script>parent.canary('frame')</script>"></iframe>`,
	`<a class=hostile href=javascript:canary('link') hx-get=/v1/server hx-trigger=load>press</a>`,
	`<style class=hostile>*{display:none}</style>`,
	`<link class=hostile rel=stylesheet href=http://evil.example/x.css>`,
	`<form class=hostile action=http://evil.example/><button>go</button></form>`,
	`<base class=hostile href=http://evil.example/>`,
	`{{7*7}}hostile ${7*7}hostile <%= 7*7 %>hostile`,
	"\u202Egnp.exe\u202C \x1b[31mred\x1b[0m \x1b]8;;javascript:canary('osc')\x07osc\x1b]8;;\x07 \u0000",
}, " ")

// Of the same, what fits where little does.
const (
	hostileShort = `"><img class=hostile src=x onerror=canary('short')><b class=hostile>`
	hostileLink  = `javascript:canary('url')//http://evil.example/`
)

// world is one of everything that pages show, with hostile text wherever text is taken.
type world struct {
	paths []string // of the pages that show it, besides those that links lead to
}

// made is filled by the first test that asks for it.
var made *world

// secretValue is of the secret that a job of the world names: no page shows it, nor what a script prints of it.
const secretValue = "cAnary-of-some-length"

// everything makes the world, once.
func (l *lab) everything(t *testing.T) *world {
	t.Helper()
	if made != nil {
		return made
	}
	w := &world{}
	printable := strings.NewReplacer("\u0000", "", "\x1b", "", "\x07", "").Replace(hostile)
	inert := strings.ReplaceAll(printable, "{{7*7}}", "") // where an expression is meant to be worked out
	labels := fields{"team": hostileShort, "link": hostileLink}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Hostile", hostileShort)
		if r.URL.Path == "/good" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"said": ` + quoted(printable) + `}`))
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(hostile))
	}))
	t.Cleanup(receiver.Close)

	l.call(t, "PUT", "/v1/secrets/HOSTILE", fields{"value": secretValue}, nil)
	l.call(t, "PUT", "/v1/policies/hostile", fields{"rules": []fields{{"if": `error.message contains ` + quoted(hostileShort), "then": "fail"}}}, nil)
	l.job(t, "hostile-script", script(`# `+hostileShort+`
printf '%s\n' "$HOSTILE" "the key is $KEY"
nightshift progress 3/10 "$SHORT"
printf '{"saved": "%s"}' checkpoint | nightshift checkpoint set -
nightshift result "$(cat "$NIGHTSHIFT_PAYLOAD")"
if grep -q fail "$NIGHTSHIFT_PAYLOAD"; then
	printf '%s\n' "$HOSTILE" >&2
	nightshift fail --type "$SHORT" "$SHORT" || exit 3
	exit 1
fi
`, fields{
		"description": printable, "labels": labels,
		"retry": fields{
			"policy": "hostile", "max_attempts": 2, "backoff": fields{"kind": "fixed", "base": "10ms"},
			"rules": []fields{{"if": `error.type == ` + quoted(hostileShort), "then": "fail"}},
		},
		"payload":      fields{"default": printable},
		"dependencies": []string{"shared"},
		"schedules":    []fields{{"name": "nightly", "cron": "0 3 * * *", "timezone": "Europe/Berlin", "payload": fields{"a": printable}}},
		"inbound":      []fields{},
	}))
	scriptDoc := fields{}
	l.call(t, "GET", "/v1/jobs/hostile-script", nil, &scriptDoc)
	scriptDoc["script"].(fields)["env"] = fields{"HOSTILE": inert, "SHORT": hostileShort, "KEY": "{{ secrets.HOSTILE }}"}
	l.call(t, "PUT", "/v1/jobs/hostile-script", documentOf(scriptDoc), nil) // a second version
	l.job(t, "hostile-webhook", fields{
		"description": printable, "labels": labels,
		"webhook": fields{
			"url": receiver.URL + "/bad?q=" + url.QueryEscape(hostileShort), "headers": fields{"X-Hostile": hostileShort},
			"body": fields{"said": hostileShort},
		},
		"retry": fields{"max_attempts": 1},
	})
	l.job(t, "hostile-good", fields{"webhook": fields{"url": receiver.URL + "/good"}, "retry": fields{"max_attempts": 1}})
	l.job(t, "hostile-refused", fields{"webhook": fields{"url": "http://127.0.0.1:9/" + url.PathEscape(hostileShort)}, "retry": fields{"max_attempts": 1}})
	l.job(t, "hostile-waits", script("sleep 600", fields{"description": printable}))
	l.job(t, "hostile-held", script("true", fields{"concurrency": fields{"limit": 1, "key": "payload.key"}, "description": printable}))

	request := func(say string) fields {
		return fields{"payload": fields{"say": say, "text": printable, hostileShort: 1}, "labels": labels, "correlation_id": hostileShort}
	}
	ran := func(run rig.Run) rig.Run {
		w.paths = append(w.paths, "/runs/"+run.ID)
		return run
	}
	ran(l.run(t, "hostile-script", request("succeed")))
	failed := ran(l.run(t, "hostile-script", request("fail")))
	again := ran(l.run(t, "hostile-script", request("fail")))
	hooked := ran(l.run(t, "hostile-webhook", request("")))
	ran(l.run(t, "hostile-good", request("")))
	refused := ran(l.run(t, "hostile-refused", request("")))
	ran(l.start(t, "hostile-waits", "running"))
	l.call(t, "POST", "/v1/jobs/hostile-held/pause", fields{"note": printable}, nil)
	ran(l.start(t, "hostile-held", "queued"))
	later := request("")
	later["delay"] = "20h"
	var scheduled rig.Run
	l.call(t, "POST", "/v1/jobs/hostile-script/runs", later, &scheduled)
	ran(scheduled)

	note := fields{"note": printable}
	l.call(t, "POST", "/v1/failures/"+failed.ID+"/resolve", note, nil)
	l.call(t, "POST", "/v1/failures/"+hooked.ID+"/ignore", fields{"note": printable, "until": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}, nil)
	var requeued rig.Run
	l.call(t, "POST", "/v1/runs/"+again.ID+"/requeue", fields{"note": hostileShort, "payload": fields{"say": "fail", "text": printable}}, &requeued)
	ran(requeued)
	w.paths = append(w.paths, "/failures/"+failed.ID, "/failures/"+hooked.ID, "/failures/"+again.ID, "/failures/"+refused.ID)
	var order struct{ ID string }
	l.call(t, "POST", "/v1/failures/requeue", fields{"ids": []string{refused.ID}, "note": printable, "patch": fields{"patched": printable}}, &order)
	w.paths = append(w.paths, "/failures/orders/"+order.ID)

	var group rig.Run
	l.call(t, "POST", "/v1/groups", fields{
		"members": []fields{
			{"name": "good", "job": "hostile-good", "payload": fields{"text": inert}},
			{"name": "bad", "job": "hostile-script", "payload": fields{"say": "fail", "text": inert}},
		},
		"labels": labels, "payload": fields{"text": printable},
	}, &group)
	within(t, "the group to end", func() bool {
		l.call(t, "GET", "/v1/runs/"+group.ID, nil, &group)
		return group.Terminal()
	})
	w.paths = append(w.paths, "/runs/"+group.ID, "/groups/"+group.ID)

	l.call(t, "PUT", "/v1/dependencies/shared", fields{"concurrency": 5}, nil)
	l.call(t, "POST", "/v1/dependencies/shared/pause", note, nil)
	l.call(t, "POST", "/v1/queues/default/pause", note, nil)
	l.call(t, "POST", "/v1/queues/default/resume", note, nil)
	l.call(t, "POST", "/v1/schedules/hostile-script:nightly/pause", note, nil)
	l.call(t, "PUT", "/v1/alerts/hostile", fields{"on": []string{"run.failed"}, "if": "job == " + quoted(hostileShort), "run": "hostile-good"}, nil)
	l.call(t, "POST", "/v1/tokens", fields{"name": "hostile", "scopes": []string{"read"}, "jobs": []string{"hostile-*"}}, nil)
	l.agent(t, hostileShort)
	for _, path := range []string{
		"/runs?q=", "/runs?state=", "/runs?label=", "/runs?job=", "/runs?since=", "/runs?cursor=", "/runs?correlation_id=",
		"/failures?q=", "/failures?status=", "/failures?job=", "/failures?error_type=", "/failures?fingerprint=", "/jobs?q=", "/schedules?q=",
		"/audit?actor=", "/audit?name=", "/groups?state=", "/dependencies?q=", "/rules?job=", "/rules?run=",
	} {
		w.paths = append(w.paths, path+url.QueryEscape(hostileShort))
	}
	w.paths = append(
		w.paths,
		"/jobs/hostile-script", "/jobs/hostile-webhook", "/jobs/hostile-held", "/schedules/hostile-script:nightly", "/dependencies/shared",
		"/alerts/hostile", "/rules?job=hostile-script", "/rules?run="+failed.ID,
		"/runs?q="+url.QueryEscape(hostileShort)+"&label="+url.QueryEscape("team="+hostileShort),
	)
	made = w
	return w
}

// agent signs in with a browser that calls itself so.
func (l *lab) agent(t *testing.T, name string) {
	t.Helper()
	form := strings.NewReader(url.Values{"token": {rig.Token}}.Encode())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.url()+"/sign-in", form)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("User-Agent", name)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("sign in as %s: %s", name, res.Status)
	}
}

// documentOf is a document as it is sent, made from one that was read.
func documentOf(read fields) fields {
	for _, name := range []string{"name", "version", "created_at", "updated_at", "paused", "pause_note", "set", "revision", "warnings", "missing_secrets"} {
		delete(read, name)
	}
	return read
}
