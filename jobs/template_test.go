package jobs

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// faultsOfDoc gives what ParseJob says of a document, one line for each fault.
func faultsOfDoc(t *testing.T, doc string) string {
	t.Helper()
	_, err := ParseJob([]byte(doc))
	if err == nil {
		return ""
	}
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("%.200s: %v", doc, err)
	}
	var lines []string
	for _, f := range invalid.Faults {
		lines = append(lines, f.Location+": "+f.Message)
	}
	return strings.Join(lines, "\n")
}

func TestMistakesInTemplatesHaveTheirPlaceInTheWholeText(t *testing.T) {
	known := inTemplates.names
	open := `{{ is not closed: want }} behind the expression; what shall stand there as it is, ` +
		`write {{ "{{" }}`
	stray := `}} closes nothing: want {{ before it, or write {{ "}}" }}`
	for text, want := range map[string]string{
		`{{ payload.a }} and {{ payloat.b }}`: "line 1, column 24: unknown name payloat; known here: " + known,
		"a\nbü{{payload.x}} {{ run.nope }}":   "line 2, column 24: run has no member nope; known there: attempt, correlation_id, id, labels, operation_id, schedule, scheduled_for, trigger",
		"{{ payload.a }}\n{{\n\n  1 + }}":     "line 4, column 5: unexpected end of the expression",
		"ä{{":                                 "line 1, column 2: " + open,
		"{{ payload.a":                        "line 1, column 1: " + open,
		"{{ payload.a }":                      "line 1, column 1: " + open,
		`{{ "}} `:                             "line 1, column 1: " + open,
		"a {{}}":                              "line 1, column 3: an expression is wanted between {{ and }}",
		"{{ \n }}":                            "line 1, column 1: an expression is wanted between {{ and }}",
		"a }} b":                              "line 1, column 3: " + stray,
		"{ payload.a }}":                      "line 1, column 13: " + stray,
		"{{ payload.a }}}}":                   "line 1, column 16: " + stray,
		"{{ payload.a }} {{ payload.b }}}} {{ x }}": "line 1, column 32: " + stray,
		`{{ {"a": 1} }}`:                             "line 1, column 4: objects cannot be written in templates",
		"{{ secrets }}":                              "line 1, column 4: a secret is named by itself: write secrets.NAME",
		"{{ secrets[payload.a] }}":                   "line 1, column 11: the name of a secret must be written out, as in secrets.NAME",
		`{{ secrets["a-b"] }}`:                       "line 1, column 11: the name of a secret has 1 to 100 letters",
		"{{ result.a }}":                             "line 1, column 4: unknown name result; known here: " + known + "; the result is known in on_success only",
		"{{ error.kind }}":                           "line 1, column 4: unknown name error; known here: " + known,
		"{{ foo() }}":                                "line 1, column 4: unknown function foo; known: " + inTemplates.functionNames,
		"{{ payload.a() }}":                          "line 1, column 12: only functions can be called",
		"{{ json() }}":                               "line 1, column 4: json takes one argument, not 0",
		"{{ 1 / 0 }}":                                "line 1, column 6: division by zero",
		"{{ run.attempt / 0 }}":                      "line 1, column 16: division by zero",
		"{{ let a = 1; a }}":                         "line 1, column 8: let and ; are not known in templates",
		"{{ map(payload, #) }}":                      "line 1, column 4: map is not known in templates: nothing here loops",
		"{{ payload[1:2] }}":                         "line 1, column 11: slices are not known in templates",
		"{{ run }}":                                  "line 1, column 4: run holds several values: run.attempt",
		"{{ payload.a }} {{ \x00 }}":                 "line 1, column 20: the character NUL is not allowed",
		"{{ " + strings.Repeat("(", 101) + " }}":     "line 1, column 104: nested deeper than 100",
		"{{ '" + strings.Repeat("a", 4<<10) + "' }}": "line 1, column 4: the expression has 4098 bytes: at most 4096",
		"{{ http.status }}":                          "line 1, column 4: unknown name http",
		"{{ urlencode }}":                            "line 1, column 4: urlencode is a function: write urlencode(...)",
		"{{ $env }}":                                 "line 1, column 4: unknown name $env",
		"{{ payload.a matches payload.b }}":          "line 1, column 30: the pattern must be written out",
		"{{ 1 in 1..1000000000 }}":                   "line 1, column 10: the range is too wide",
		strings.Repeat("{{ 1 }}", maxExpressions+1):  fmt.Sprintf("line 1, column %d: want at most 500 expressions in a text", 7*maxExpressions+1),
	} {
		got := faultsOfDoc(t, `{"script":{"source":"x","env":{"A":`+string(AppendJSONString(nil, text))+`}}}`)
		if strings.Contains(text, "\x00") {
			got = strings.TrimPrefix(got, "script.env.A: want text without NUL\n")
		}
		if want = "script.env.A: " + want; !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%.80q:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestBracesThatAreNoTemplatesStandAsTheyAre(t *testing.T) {
	for _, text := range []string{
		"", "{", "}", "{}", `{"a":{"b":1}}`, `{"a":{"b":{"c":[{}]}}}`, "}{", "a{b}c", "{ { } }", "%{a}",
		"${A}", "{ {payload.a} }",
	} {
		p := prepared(t, `{"script":{"source":"{{ no template }}","args":[`+string(AppendJSONString(nil, text))+`]}}`)
		got, failure := p.Render(sampleScope())
		if failure != nil || got.Spec.Script.Args[0] != text || got.Spec.Script != p.spec.Script {
			t.Errorf("%q: %v %v", text, got, failure)
		}
	}
	for text, want := range map[string]string{
		`{"a":{"b":"{{ payload.shop }}"}}`:    `{"a":{"b":"acme"}}`,
		`{"a":{{ json(payload.shop) }}}`:      `{"a":"acme"}`,
		`{{ "{{ x }}" }}`:                     "{{ x }}",
		"{{ `}}` + '}}' }}":                   "}}}}",
		"{{ payload.shop /* }} */ }}":         "acme",
		"{{ payload.shop // }}\n }}!":         "acme!",
		"{{payload.shop}}{{payload.shop}}":    "acmeacme",
		"a{{\n\tpayload.shop\r\n}}b":          "aacmeb",
		"$({{ payload.id }})":                 "$(9007199254740993)",
		"{{ payload.obj }}":                   `{"b":1.0 , "a":[ ]}`,
		"{{ payload.ok ? payload.list : 1 }}": `[1,2.5,"x"]`,
		"{{ payload.price }}":                 "1.10",
		"{{ payload.price + 0 }}":             "1.1",
		"{{ payload.id + 1 }}":                "9007199254740994",
		"{{ run.id }}":                        "01000000-0000-0000-0000-000000000000",
		"{{ run.labels.team }}/{{ run.trigger }}/{{ run.correlation_id }}": "data/api/corr-1",
		"{{ run.schedule ?? 'none' }}{{ run.scheduled_for ?? '-' }}":       "none-",
		"{{ duration('90s') }}":                          "1m30s",
		"{{ [1, 'a', nil] }}":                            `[1,"a",null]`,
		"{{ payload?.list?.[0] }}":                       "1",
		"{{ payload['shop'] | upper() }}":                "ACME",
		"{{ json(payload.price) + json(payload.nope) }}": "1.10null",
		"{{ json([payload.price]) }}":                    "[1.1]",
		"{{ base64(payload.id) }}":                       "OTAwNzE5OTI1NDc0MDk5Mw==",
		"{{ urlencode(payload.name) }}":                  "Ada%20%22L%22%20%C3%A9",
		"{{ payload }}":                                  string(sampleScope().Payload),
	} {
		text = string(AppendJSONString(nil, text))
		p := prepared(t, `{"script":{"source":"x","args":[`+text+`],"env":{"A":`+text+`}}}`)
		sc := sampleScope()
		if strings.Contains(text, "{{ payload }}") {
			sc.Payload = Raw(strings.ReplaceAll(string(sc.Payload), `\u0000`, ""))
			want = string(sc.Payload)
		}
		got, failure := p.Render(sc)
		if failure != nil || got.Spec.Script.Args[0] != want || got.Spec.Script.Env["A"] != want {
			t.Errorf("%s: got %+v, %v, want %s", text, got, failure, want)
		}
	}
}

// cases.md 157.
func TestWhatIsNoCharacterInAPayloadIsReplacedInTextsAndKeptInJSON(t *testing.T) {
	sc := sampleScope()
	sc.Payload = Raw(`{"lone":"a\ud800b","nul":"\u0000","esc":"\u0041","k\u0065y":1}`)
	for body, want := range map[string]string{
		`{"a":"{{ payload.lone }}","b":"{{ payload.nul }}","c":"{{ payload.esc }}"}`: `{"a":"a\ud800b","b":"\u0000","c":"\u0041"}`,
		`"{{ payload.lone }}|{{ payload.esc }}|{{ payload.key }}"`:                   "a\uFFFDb|A|1",
		`{"a":"x{{ payload.nul }}{{ payload.lone }}"}`:                               `{"a":"x\u0000a` + "\uFFFD" + `b"}`,
		`{"a":"{{ payload[\"k…\"] }}"}`:                                              `{"a":null}`,
	} {
		got, failure := prepared(t, `{"webhook":{"url":"http://x/","body":`+body+`}}`).Render(sc)
		if failure != nil || string(got.Body) != want {
			t.Errorf("%s: got %s, %v, want %s", body, got.Body, failure, want)
		}
	}
}

func TestSecretsAreKnownWhereNothingIsStored(t *testing.T) {
	hint := noSecrets["secrets"]
	for doc, want := range map[string]string{
		`{"webhook":{"url":"http://x/{{ secrets.A }}","headers":{"A":"{{ secrets.B }}"},"body":["{{ secrets.C }}"],
			"signing_secret":["{{ secrets.D }}","{{ secrets.E }}"]}}`: "",
		`{"script":{"source":"x","args":["{{ secrets.A }}"],"env":{"A":"{{ secrets.B }}"}}}`:                                                         "",
		`{"mail":{"to":["{{ secrets.A }}"],"cc":["{{ secrets.A }}"],"from":"{{ secrets.A }}","subject":"{{ secrets.B }}","body":"{{ secrets.C }}"}}`: "",
		`{"script":{"source":"x"},"inbound":[{"name":"a","verify":"github","secret":"{{ secrets.A }}"}]}`:                                            "",
		`{"webhook":{"url":"http://{{ secrets.A }}/"}}`:                                                                                              "webhook.url: line 1, column 11: unknown name secrets; known here: job, payload" + fixedHostHint,
		`{"webhook":{"url":"{{ secrets.A }}"}}`:                                                                                                      "webhook.url: line 1, column 4: unknown name secrets; known here: job, payload" + fixedHostHint,
		`{"webhook":{"url":"http://{{ run.id }}.x/"}}`:                                                                                               "webhook.url: line 1, column 11: unknown name run; known here: job, payload" + fixedHostHint,
		`{"webhook":{"url":"http://x/","success":"http.body == secrets.A"}}`:                                                                         "webhook.success: line 1, column 14: unknown name secrets; known here: " + inSuccess.names + hint,
		`{"script":{"source":"x"},"on_success":[{"job":"b","if":"result == secrets.A"}]}`:                                                            "on_success[0].if: line 1, column 11: unknown name secrets; known here: " + inChains.names + hint,
		`{"script":{"source":"x"},"on_success":[{"job":"b","payload":{"a":["{{ secrets.A }}"]}}]}`:                                                   "on_success[0].payload.a[0]: line 1, column 4: unknown name secrets; known here: " + inChains.names + hint,
		`{"script":{"source":"x"},"retry":{"rules":[{"if":"error.message == secrets.A","then":"fail"}]}}`:                                            "retry.rules[0].if: line 1, column 18: unknown name secrets; known here: " + inRules.names + hint,
		`{"script":{"source":"x"},"inbound":[{"name":"a","verify":"github","secret":"x","if":"secrets.A == 1","key":"secrets.A"}]}`: "inbound[0].if: line 1, column 1: unknown name secrets; known here: " + inDoors.names + hint +
			"\ninbound[0].key: line 1, column 1: unknown name secrets; known here: " + inDoors.names + hint,
		`{"script":{"source":"x"},"inbound":[{"name":"a","verify":"github","secret":"{{ payload.a }}"}]}`: "inbound[0].secret: line 1, column 4: unknown name payload; known here: job, secrets",
	} {
		if got := faultsOfDoc(t, doc); got != want {
			t.Errorf("%s:\n got %s\nwant %s", doc, got, want)
		}
	}
}

func TestSecretsThatASpecNeedsAreListedOnceAndSorted(t *testing.T) {
	p := prepared(t, `{"webhook":{"url":"http://x/{{ secrets.B }}","headers":{"A":"{{ secrets[\"A\"] ?? secrets.B }}"},
		"body":{"x":["{{ secrets.C + secrets.A }}"]},"signing_secret":"{{ secrets.Z_9 }}"}}`)
	if got := strings.Join(p.Secrets(), " "); got != "A B C Z_9" {
		t.Errorf("got %s", got)
	}
	if got := prepared(t, `{"script":{"source":"{{ secrets.A }}"}}`).Secrets(); len(got) > 0 {
		t.Errorf("a script's source is no template: got %v", got)
	}
}

// places are documents with an expression in every place that takes one.
func places(src string) map[string]string {
	expr, tmpl := string(AppendJSONString(nil, src)), string(AppendJSONString(nil, "{{ "+src+" }}"))
	mixed := string(AppendJSONString(nil, "a {{ "+src+" }} b"))
	inURL := string(AppendJSONString(nil, "http://x/{{ "+src+" }}?q={{ "+src+" }}"))
	inHost := string(AppendJSONString(nil, "http://{{ "+src+" }}.x/"))
	const script = `{"script":{"source":"x"},`
	return map[string]string{
		"url":       `{"webhook":{"url":` + inURL + `}}`,
		"host":      `{"webhook":{"url":` + inHost + `}}`,
		"whole url": `{"webhook":{"url":` + tmpl + `}}`,
		"header":    `{"webhook":{"url":"http://x/","headers":{"A":` + mixed + `,"Host":` + tmpl + `}}}`,
		"body":      `{"webhook":{"url":"http://x/","body":` + mixed + `}}`,
		"json body": `{"webhook":{"url":"http://x/","body":{"a":[` + tmpl + `,` + mixed + `]}}}`,
		"signing":   `{"webhook":{"url":"http://x/","signing_secret":` + mixed + `}}`,
		"success":   `{"webhook":{"url":"http://x/","success":` + expr + `}}`,
		"script":    `{"script":{"source":"x","args":[` + tmpl + `],"env":{"A":` + mixed + `}}}`,
		"mail":      `{"mail":{"to":[` + tmpl + `],"subject":` + mixed + `,"body":` + mixed + `}}`,
		"chain":     script + `"on_success":[{"job":"b","if":` + expr + `,"payload":{"a":` + tmpl + `}}]}`,
		"door":      script + `"inbound":[{"name":"a","verify":"github","secret":` + tmpl + `,"if":` + expr + `,"key":` + expr + `}]}`,
		"keys":      script + `"concurrency":{"limit":1,"key":` + expr + `},"rate":{"limit":1,"per":"1s","key":` + expr + `},"unique":{"key":` + expr + `}}`,
		"rule":      script + `"retry":{"rules":[{"if":` + expr + `,"then":"retry"},{"if":"true","then":"retry","after":` + expr + `}]}}`,
	}
}

// exercise does with a job all that evaluates its expressions.
func exercise(t *testing.T, j *Job, payload Raw) {
	t.Helper()
	p, err := Prepare(j.Spec())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Compile(j, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := &Run{ID: ID{1}, Payload: payload}
	keys, unique, failure := plan.RunKeys(run)
	if failure != nil && failure.Kind != FailInvalid || keys.Concurrency != nil && len(*keys.Concurrency) > maxRunKey {
		t.Errorf("keys: %v, %v, %v", keys, unique, failure)
	}
	sc := &Scope{Run: run, Job: j, Payload: payload, Checkpoint: payload, Attempt: 1, Secret: func(string) (string, bool) { return "x", true }}
	if sc.Host, failure = p.Host(payload, j); failure != nil && failure.Kind != FailInvalid {
		t.Errorf("got %v", failure)
	}
	out, failure := p.Render(sc)
	if failure != nil && (failure.Kind != FailInvalid || failure.Message == "") {
		t.Errorf("got %v", failure)
	}
	if failure == nil && out.Judge != nil {
		_, _ = out.Judge(Answer{Status: 200, Body: payload})
	}
	for _, f := range plan.FollowUps(run, payload, payload) {
		if f.Failure == nil && CheckPayload(f.Payload) != nil {
			t.Errorf("a payload of %d bytes is no payload", len(f.Payload))
		}
	}
	for _, d := range j.Inbound {
		door := plan.Door(d.Name)
		_, _ = door.Secret(func(string) (string, bool) { return "x", true })
		_, _ = door.Admit(map[string]string{"a": "b"}, payload)
		_, _ = door.Key(map[string]string{"a": "b"}, payload)
	}
	judge(&Ending{Plan: plan, Payload: payload, Report: Report{Failure: &Failure{Kind: FailExit}}}, &Failure{Kind: FailExit})
}

// mostAllocated is far more than the garbage of any hostile job, and far less than one without
// bounds would make.
const mostAllocated = 200 << 20

// allocated counts all bytes ever allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestHostileExpressionsAreRefusedOrFailSoonAtEveryPlace(t *testing.T) {
	text := strings.Repeat("ab\\\"", 40<<10)
	deep := Raw(strings.Repeat(`{"a":[`, 32) + strings.Repeat("]}", 32))
	wide := Raw(`{"s":"` + text + `","pattern":"(a+)+$","n":1000000000,"l":[` + strings.Repeat("0,", 20_000) + `0]}`)
	sources := hostile()
	sources["json of json"] = strings.Repeat("json(", 90) + "payload" + strings.Repeat(")", 90)
	sources["jsons"] = "json(payload)" + strings.Repeat("+json(payload)", 250)
	sources["json of lists"] = "json([payload,payload])" + strings.Repeat("+json([payload,payload])", 150)
	sources["urlencodes"] = "urlencode(payload.s)" + strings.Repeat("+urlencode(payload.s)", 150)
	sources["all of it"] = "payload"
	sources["deep path"] = "payload" + strings.Repeat(".a[0]", 32)
	sources["from the end"] = "payload.l[-1]" + strings.Repeat("??payload.l[-20002]", 150)
	for name, src := range sources {
		for place, doc := range places(src) {
			start, before := time.Now(), allocated()
			j, err := ParseJob([]byte(doc))
			var invalid *InvalidError
			if err != nil && !errors.As(err, &invalid) {
				t.Errorf("%s, %s: %v", name, place, err)
			}
			if err == nil {
				exercise(t, j, wide)
				exercise(t, j, deep)
			}
			if made := allocated() - before; made > mostAllocated {
				t.Errorf("%s, %s took %d MiB", name, place, made>>20)
			}
			took := time.Since(start)
			if took > 500*time.Millisecond {
				t.Logf("%s, %s: %s %v", name, place, took, clip(fmt.Sprint(err), 100))
			}
			if took > 20*time.Second { // in truth well under one
				t.Errorf("%s, %s took %s", name, place, took)
			}
		}
	}
}
