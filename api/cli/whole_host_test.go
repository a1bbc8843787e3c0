package cli_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// hostOf is what the file has as the host of a run; runs are few here.
func (p *process) hosts(job string) string {
	p.t.Helper()
	return strings.TrimSpace(sqlite(p.t, p.dir+"/nightshift.db",
		"SELECT coalesce(host, 'none') FROM runs WHERE job = (SELECT id FROM jobs WHERE name = '"+job+"') ORDER BY seq"))
}

// A host that cannot be read is the payload's fault where somebody is there to be told.
func TestAHostThatCannotBeReadIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) {})
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	p.put("call", doc{"webhook": doc{"url": "http://{{ payload.host }}" + port + "/hook"}})
	p.put("plain", doc{"script": quiet})
	for payload, want := range map[string]string{
		`{}`: "gives nil", `{"host":null}`: "gives nil", `{"host":["a"]}`: "list", `{"host":"a/b"}`: "cannot be part of a host",
		`{"host":"a b"}`: "cannot be part of a host", `{"host":""}`: "want a host", `{"host":"127.1"}`: "want a host name", `7`: "gives nil",
		`{"host":"u@127.0.0.1"}`: "cannot be part of a host",
	} {
		p.refused("POST", "/v1/jobs/call/runs", `{"payload":`+payload+`}`, 422, "body.payload", "webhook.url", want)
		p.refused("POST", "/v1/runs/batch", `{"runs":[{"job":"call","payload":{"host":"127.0.0.1"}},{"job":"plain"},{"job":"call","payload":`+payload+`}]}`,
			422, "body.runs[2].payload", "webhook.url", want)
	}
	p.refused("POST", "/v1/jobs/call/runs", nil, 422, "body.payload", "gives nil")
	p.refused("POST", "/v1/runs/batch", `{"runs":[{"job":"call"},{"job":"call","payload":{"host":1.5}},{"job":"call","payload":{"host":[]}}]}`,
		422, "body.runs[0].payload", "body.runs[1].payload", "body.runs[2].payload")
	if list := p.runsOf(""); len(list) != 0 {
		t.Errorf("made: %+v", list)
	}
	id := p.enqueue("call", `{"payload":{"host":"127.0.0.1"}}`)
	if run := p.end(id); run.State != "succeeded" || p.hosts("call") != "127.0.0.1"+port {
		t.Errorf("%s %+v, host %s", run.State, run.Error, p.hosts("call"))
	}
	p.refused("POST", "/v1/runs/"+id+"/requeue", `{"payload":{"host":"a/b"}}`, 422, "body.payload", "cannot be part of a host")
	p.refused("POST", "/v1/runs/"+id+"/requeue", `{"payload":{}}`, 422, "body.payload", "gives nil")
	var again aRun
	if status := p.call("POST", "/v1/runs/"+id+"/requeue", `{"payload":{"host":"localhost"}}`, &again); status/100 != 2 {
		t.Fatalf("requeue: %d", status)
	}
	p.end(again.ID)
	if got := p.hosts("call"); got != "127.0.0.1"+port+"\nlocalhost"+port {
		t.Errorf("hosts %s", got)
	}
	// A requeue uses the newest version: what it needs is not there.
	p.put("call", doc{"webhook": doc{"url": "http://{{ payload.other }}" + port + "/hook"}})
	p.refused("POST", "/v1/runs/"+id+"/requeue", nil, 422, "webhook.url", "gives nil")
}

// Runs that nobody asked for are made all the same, so that nothing is lost: they say what is wrong.
func TestAHostThatAChainOrADoorCannotReadFailsTheRun(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"host":"127.0.0.1","bad":"a/b"}`) })
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	p.put("call", doc{
		"webhook": doc{"url": "http://{{ payload.host }}" + port + "/hook"},
		"inbound": []doc{{"name": "in", "verify": "secret", "secret": "written-out"}},
	})
	p.put("first", doc{"webhook": doc{"url": s.URL}, "on_success": []doc{
		{"job": "call"}, {"job": "call", "payload": doc{"host": "{{ result.bad }}"}}, {"job": "call", "payload": doc{"host": "{{ result.none }}"}},
	}})
	p.end(p.enqueue("first", nil))
	p.taken(parcel{"call/in/written-out", nil, `{"host":"127.0.0.1"}`}, false)
	p.taken(parcel{"call/in/written-out", nil, `{"host":7.5}`}, false)
	p.taken(parcel{"call/in/written-out", nil, ``}, false)
	var list []aLink
	p.until("all have ended", func() bool {
		list = p.runsOf("job=call")
		for _, run := range list {
			if !run.ended() {
				return false
			}
		}
		return len(list) == 6
	})
	for i, want := range []string{"", "cannot be part of a host", "gives nil", "", "want a host name", "gives nil"} {
		run := p.link(list[i].ID)
		if want == "" {
			if run.State != "succeeded" {
				t.Errorf("%s: %s %+v", run.Payload, run.State, run.Error)
			}
			continue
		}
		if run.State != "failed" || run.Error == nil || run.Error.Kind != "invalid" || run.outcomes() != "failed:invalid" ||
			!strings.HasPrefix(run.Error.Message, "webhook.url: ") || !strings.Contains(run.Error.Message, want) {
			t.Errorf("%s: %s %+v after %s, want %s", run.Payload, run.State, run.Error, run.outcomes(), want)
		}
	}
	if got, good := p.hosts("call"), "127.0.0.1"+port; got != strings.Join([]string{good, "none", "none", good, "none", "none"}, "\n") {
		t.Errorf("hosts %s", got)
	}
	if n := len(s.deliveries()); n != 3 {
		t.Errorf("%d deliveries, want 3", n)
	}
}

func TestUpgradedRunsTakeTheirHostFromTheNewestVersion(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) {})
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	old := doc{"webhook": doc{"url": "http://{{ payload.a }}" + port + "/old"}}
	p.put("call", old)
	p.call("POST", "/v1/jobs/call/pause", nil, nil)
	both := p.enqueue("call", `{"payload":{"a":"127.0.0.1","b":"localhost"}}`)
	one := p.enqueue("call", `{"payload":{"a":"127.0.0.1"},"delay":"1h"}`)
	p.put("call", doc{"webhook": doc{"url": "http://{{ payload.b }}" + port + "/new"}})
	if got := p.hosts("call"); got != "127.0.0.1"+port+"\n127.0.0.1"+port {
		t.Errorf("hosts before: %s", got)
	}
	if status := p.call("POST", "/v1/jobs/call/upgrade-runs", nil, nil); status/100 != 2 {
		t.Fatalf("upgrade-runs: %d", status)
	}
	if got := p.hosts("call"); got != "localhost"+port+"\nnone" {
		t.Errorf("hosts after: %s", got)
	}
	p.call("POST", "/v1/jobs/call/resume", nil, nil)
	p.call("POST", "/v1/runs/"+one+"/run-now", nil, nil)
	if run := p.end(both); run.State != "succeeded" {
		t.Errorf("both: %s %+v", run.State, run.Error)
	}
	if run := p.end(one); run.State != "failed" || run.Error.Kind != "invalid" || !strings.Contains(run.Error.Message, "webhook.url") {
		t.Errorf("one: %s %+v", run.State, run.Error)
	}
	for _, d := range s.deliveries() {
		if d.path != "/new" {
			t.Errorf("called %s", d.path)
		}
	}
}

// The labels of a job may name its host too: what a run has is what stood when it was made.
func TestTheHostOfARunStaysWhenTheJobsLabelsChange(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) {})
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	job := func(host string) doc {
		return doc{"webhook": doc{"url": "http://{{ job.labels.host }}" + port + "/"}, "labels": doc{"host": host}, "retry": doc{"max_attempts": 1}}
	}
	p.put("call", job("127.0.0.1"))
	p.end(p.enqueue("call", nil))
	p.put("call", job("localhost"))
	p.end(p.enqueue("call", nil))
	p.call("POST", "/v1/jobs/call/pause", nil, nil)
	waiting := p.enqueue("call", nil)
	p.put("call", job("127.0.0.1"))
	p.call("POST", "/v1/jobs/call/resume", nil, nil)
	run := p.end(waiting)
	if got := p.hosts("call"); got != "127.0.0.1"+port+"\nlocalhost"+port+"\nlocalhost"+port {
		t.Errorf("hosts %s", got)
	}
	if run.State != "failed" || run.Error.Kind != "invalid" || !strings.Contains(run.Error.Message, "the host is not the one that was fixed") {
		t.Errorf("%s %+v", run.State, run.Error)
	}
	if status := p.call("POST", "/v1/runs/"+waiting+"/requeue", nil, nil); status/100 != 2 {
		t.Errorf("requeue: %d", status)
	}
	p.until("the requeued run succeeds", func() bool {
		list := p.runsOf("trigger=requeue")
		return len(list) == 1 && list[0].State == "succeeded"
	})
	p.put("none", doc{"webhook": doc{"url": "http://{{ job.labels.host }}/"}})
	p.refused("POST", "/v1/jobs/none/runs", nil, 422, "webhook.url", "gives nil")
}
