package jobs

import "testing"

// examples are jobs as people write them.
var examples = map[string]string{
	"plain webhook": `{"name":"sync","webhook":{"url":"https://example.com/hooks/sync"}}`,
	"form": `{"name":"form","webhook":{"url":"https://example.com/form","headers":{"Content-Type":
		"application/x-www-form-urlencoded"},"body":"user={{ urlencode(payload.user.name) }}&id={{ payload.id }}"}}`,
	"rest": `{"name":"rest","webhook":{"url":"https://api.example.com/v1/users/{{ payload.id }}/orders?since={{ checkpoint.since ?? \"0\" }}",
		"method":"PUT","headers":{"Authorization":"Bearer {{ secrets.TOKEN }}","Idempotency-Key":"order-{{ payload.order }}"},
		"body":{"order":"{{ payload.order }}","lines":"{{ payload.lines }}","note":"run {{ run.id }}, attempt {{ run.attempt }}",
		"total":"{{ payload.total }}"},"success":"http.status == 200 && http.body.ok"}}`,
	"slack": `{"name":"slack","webhook":{"url":"https://hooks.slack.com/services/{{ secrets.A }}/{{ secrets.B }}/{{ secrets.C }}",
		"body":{"text":"{{ payload.user.name }} ordered {{ payload.order }}","blocks":[{"type":"section","text":{"type":"mrkdwn",
		"text":"*{{ payload.user.name }}*: {{ payload.total }}"}}]}}}`,
	"script": `{"name":"script","script":{"source":"x","args":["--user","{{ payload.user.name }}","--page={{ checkpoint.page ?? 1 }}"],
		"env":{"API_KEY":"{{ secrets.TOKEN }}","RUN":"{{ run.id }}"}}}`,
	"mail": `{"name":"mail","mail":{"to":["{{ payload.user.email }}"],"subject":"Order {{ payload.order }}",
		"body":"Dear {{ payload.user.name }},\nyour order {{ payload.order }} over {{ payload.total }} is on its way."}}`,
}

func exampleScope() *Scope {
	return &Scope{
		Run: &Run{ID: ID{1}, OperationID: ID{2}, Trigger: TriggerAPI, CorrelationID: "c"},
		Job: &Job{Name: "rest"},
		Payload: Raw(`{"id":4711,"order":"A-17","user":{"name":"Ada Lovelace","email":"ada@example.com"},
			"lines":[{"sku":"x-1","n":2},{"sku":"y-2","n":1}],"total":19.90}`),
		Checkpoint: Raw(`{"since":"2026-11-29","page":4}`), Attempt: 2,
		Secret: func(string) (string, bool) { return "T0PSECRET", true },
	}
}

// Rendering is to take less than 20 µs a run.
func BenchmarkRender(b *testing.B) {
	for name, doc := range examples {
		b.Run(name, func(b *testing.B) {
			j, err := ParseJob([]byte(doc))
			if err != nil {
				b.Fatal(err)
			}
			p, err := Prepare(j.Spec())
			if err != nil {
				b.Fatal(err)
			}
			sc := exampleScope()
			answer := Answer{Status: 200, Body: []byte(`{"ok":true}`)}
			b.ReportAllocs()
			for b.Loop() {
				got, failure := p.Render(sc)
				if failure != nil {
					b.Fatal(failure)
				}
				if got.Judge != nil {
					if good, err := got.Judge(answer); !good || err != nil {
						b.Fatal(good, err)
					}
				}
			}
		})
	}
}

func BenchmarkFollowUps(b *testing.B) {
	plan := planOf(b, `{"name":"a","script":{"source":"x"},"on_success":[{"job":"load","if":"result.rows > 0",
		"payload":{"rows":"{{ result.rows }}","of":"{{ payload.id }}"}},{"job":"tell"}]}`)
	run := &Run{ID: ID{1}, Payload: Raw(`{"id":4711}`)}
	b.ReportAllocs()
	for b.Loop() {
		if list := plan.FollowUps(run, Raw(`{"rows":17}`), nil); len(list) != 2 || list[0].Failure != nil {
			b.Fatal(list)
		}
	}
}

func BenchmarkDoor(b *testing.B) {
	d := planOf(b, `{"name":"a","script":{"source":"x"},"inbound":[{"name":"gh","verify":"github","secret":"{{ secrets.GH }}",
		"if":"headers[\"x-github-event\"] == \"push\" && payload.ref == \"refs/heads/main\"","key":"payload.after"}]}`).Door("gh")
	in := map[string]string{"x-github-event": "push"}
	payload := Raw(`{"ref":"refs/heads/main","after":"4f9259d"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, failure := d.Secret(func(string) (string, bool) { return "x", true }); failure != nil {
			b.Fatal(failure)
		}
		if ok, note := d.Admit(in, payload); !ok || note != "" {
			b.Fatal(note)
		}
		if key, _ := d.Key(in, payload); key != "4f9259d" {
			b.Fatal(key)
		}
	}
}

// An unchanged apply of 1,000 jobs parses as many documents.
func BenchmarkParseJob(b *testing.B) {
	for name, doc := range examples {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseJob([]byte(doc)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// planOf parses a job, wants it good, and compiles it.
func planOf(t testing.TB, doc string) *Plan {
	t.Helper()
	j, err := ParseJob([]byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	plan, err := Compile(j, nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return plan
}
