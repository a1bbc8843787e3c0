package jobs

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// keyedRun is a run whose keys are worked out.
func keyedRun(payload string) *Run {
	return &Run{
		ID: ID{1}, OperationID: ID{2}, Trigger: TriggerAPI, CorrelationID: "c-1",
		Labels: map[string]string{"team": "data"}, Payload: Raw(payload),
	}
}

// keyOf is the key of a run by an expression, "nil" where it has none.
func keyOf(t *testing.T, expr, payload string) string {
	t.Helper()
	plan := planOf(t, `{"name":"sync","labels":{"env":"prod"},"script":{"source":"x"},"concurrency":{"limit":1,"key":`+
		string(AppendJSONString(nil, expr))+`}}`)
	keys, unique, failure := plan.RunKeys(keyedRun(payload))
	if failure != nil || unique != nil || keys.Rate != nil {
		t.Fatalf("%s of %s: %v, %v, %v", expr, payload, failure, unique, keys.Rate)
	}
	if keys.Concurrency == nil {
		return "nil"
	}
	return "=" + *keys.Concurrency
}

func TestKeysAreTextsOfValues(t *testing.T) {
	payload := `{"s":"Ärger & <co>","empty":"","space":" a ","e":"é\n","one":1,"float":1.10,"big":9007199254740993,"huge":1e400,
		"yes":true,"null":null,"list":[ 1, "a" ,{"b" : 1, "a":[]}],"o":{"b":1.0,"a":"x\/y"},"none":{},"half":"\ud800"}`
	for expr, want := range map[string]string{
		`payload.s`:          "=Ärger & <co>",
		`payload.empty`:      "=",
		`""`:                 "=",
		`payload.space`:      "= a ",
		`payload.e`:          "=é\n",
		`payload.one`:        "=1",
		`payload.float`:      "=1.10",
		`payload.big`:        "=9007199254740993",
		`payload.huge`:       "=1e400",
		`payload.one + 1`:    "=2",
		`payload.float * 2`:  "=2.2",
		`payload.yes`:        "=true",
		`payload.one == 1`:   "=true",
		`payload.null`:       "nil",
		`payload.nope`:       "nil",
		`payload.nope.nope`:  "nil",
		`nil`:                "nil",
		`payload.list`:       `=[1,"a",{"a":[],"b":1}]`,
		`payload.o`:          `={"a":"x/y","b":1.0}`,
		`payload.none`:       "={}",
		`payload.list[-1].a`: "=[]",
		`payload.half`:       "=\uFFFD91a681b998555fb475479817b126c94e",
		`json(payload.o)`:    `={"b":1.0,"a":"x\/y"}`,

		`payload.nope ?? payload.s`:                   "=Ärger & <co>",
		`payload.nope ?? "x"`:                         "=x",
		`payload.one == 1 ? payload.s : nil`:          "=Ärger & <co>",
		`payload.one == 2 ? payload.s : nil`:          "nil",
		`[payload.one, payload.nope]`:                 "=[1,null]",
		`job.name + "/" + job.queue`:                  "=sync/default",
		`job.labels.env`:                              "=prod",
		`job.labels`:                                  `={"env":"prod"}`,
		`run.labels.team + run.correlation_id`:        "=datac-1",
		`run.labels.nope`:                             "nil",
		`run.trigger`:                                 "=api",
		`run.id`:                                      "=" + ID{1}.String(),
		`run.operation_id`:                            "=" + ID{2}.String(),
		`run.attempt`:                                 "=1",
		`run.schedule ?? run.scheduled_for`:           "nil",
		`duration("90s")`:                             "=1m30s",
		`payload.nope == nil ? nil : run.id`:          "nil",
		`lower(payload.s)`:                            "=ärger & <co>",
		`payload.list[0] == 1 && payload.one == 2`:    "=false",
		`string(payload.one) + string(payload.big)`:   "=19007199254740993",
		`payload.empty == "" ? nil : payload.empty`:   "nil",
		`payload.none == nil ? "a" : (nil ?? "fell")`: "=fell",
	} {
		if got := keyOf(t, expr, payload); got != want {
			t.Errorf("%s: got %q, want %q", expr, got, want)
		}
	}
	for payload, want := range map[string]string{`"a"`: "=a", `7`: "=7", ` [ ] `: "=[]", `null`: "nil", `{}`: "={}"} {
		if got := keyOf(t, "payload", payload); got != want {
			t.Errorf("%s: got %q, want %q", payload, got, want)
		}
	}
}

// The number 7 and the text "7" are one key, which is documented; so are objects in any order.
func TestKeysThatAreOne(t *testing.T) {
	for a, b := range map[string]string{
		`{"k":7}`:             `{"k":"7"}`,
		`{"k":true}`:          `{"k":"true"}`,
		`{"k":{"a":1,"b":2}}`: `{"k":{ "b" : 2, "\u0061":1 }}`,
	} {
		if a, b := keyOf(t, "payload.k", a), keyOf(t, "payload.k", b); a != b {
			t.Errorf("%s is not %s", a, b)
		}
	}
	for a, b := range map[string]string{
		`{"k":7}`: `{"k":7.0}`, `{"k":""}`: `{}`, `{"k":[1,2]}`: `{"k":[2,1]}`, `{"k":"a"}`: `{"k":"A"}`,
		// What is no character tells keys apart all the same: one of them must not swallow the other's run.
		`{"k":"\ud83d"}`: `{"k":"\ud83e"}`, `{"k":["\ud83d"]}`: `{"k":["\ud83e"]}`, `{"k":"\ud800"}`: `{"k":"\ufffd"}`,
	} {
		if a, b := keyOf(t, "payload.k", a), keyOf(t, "payload.k", b); a == b {
			t.Errorf("%s is one key", a)
		}
	}
}

func TestLongKeysAreBoundedAndToldApart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stem := strings.Repeat(rapid.SampledFrom([]string{"a", "é", "日", "😀"}).Draw(rt, "stem"),
			rapid.IntRange(0, 300).Draw(rt, "n"))
		a := stem + rapid.StringN(0, 5, -1).Draw(rt, "a")
		b := stem + rapid.StringN(0, 5, -1).Draw(rt, "b")
		x, y := boundKey(a), boundKey(b)
		if (x == y) != (a == b) {
			rt.Fatalf("%q and %q are %q and %q", a, b, x, y)
		}
		if len(x) > maxRunKey || !utf8.ValidString(x) {
			rt.Fatalf("%q becomes %q", a, x)
		}
		if len(a) <= maxRunKey && x != a {
			rt.Fatalf("%q becomes %q", a, x)
		}
	})
	long := `{"k":"` + strings.Repeat("a", 201) + `"}`
	want := "=" + strings.Repeat("a", 100) + "…" + "a92efd82109373e58f9a2056dee01e80"
	if got := keyOf(t, "payload.k", long); got != want {
		t.Errorf("got %s", got)
	}
}

func TestAKeyThatFailsNamesItsField(t *testing.T) {
	heavy := `payload.a`
	for range 200 {
		heavy += ` + payload.a`
	}
	for expr, want := range map[string]string{
		`payload.a + 1`:       "line 1, column 11: + does not go with a text and a number",
		`1 / payload.n`:       "line 1, column 3: ",
		"\n lower(payload.n)": "line 2, column 2: ",
		heavy:                 "line 1, column ",
	} {
		for field, doc := range map[string]string{
			"concurrency.key": `"concurrency":{"limit":1,"key":KEY}`,
			"rate.key":        `"rate":{"limit":1,"per":"1s","key":KEY}`,
			"unique.key":      `"unique":{"key":KEY}`,
			"checkpoint.key":  `"checkpoint":{"key":KEY}`,
		} {
			doc = strings.Replace(doc, "KEY", string(AppendJSONString(nil, expr)), 1)
			plan := planOf(t, `{"name":"a","script":{"source":"x"},`+doc+`}`)
			keys, unique, failure := plan.RunKeys(keyedRun(`{"n":0,"a":"` + strings.Repeat("x", 100_000) + `"}`))
			if failure == nil || failure.Kind != FailInvalid || !strings.HasPrefix(failure.Message, field+": "+want) {
				t.Errorf("%.40s of %s: got %+v", expr, field, failure)
			}
			if unique != nil || keys != (Keys{}) {
				t.Errorf("%.40s of %s has keys all the same: %v, %v", expr, field, keys, unique)
			}
			if failure != nil && strings.Contains(failure.Message, "xxx") {
				t.Errorf("the failure quotes the payload: %s", failure.Message)
			}
		}
	}
}

// All keys of a run together are bounded as one expression is.
func TestKeysAreWorkedOutWithinABudget(t *testing.T) {
	expr := `payload.a + payload.a`
	for range 5 {
		expr = `len(` + expr + `) > 0 ? ` + expr + ` : ""`
	}
	doc := `{"name":"a","script":{"source":"x"},"concurrency":{"limit":1,"key":KEY},"rate":{"limit":1,"per":"1s","key":KEY},` +
		`"unique":{"key":KEY}}`
	plan := planOf(t, strings.ReplaceAll(doc, "KEY", string(AppendJSONString(nil, expr))))
	start := time.Now()
	_, _, failure := plan.RunKeys(keyedRun(`{"a":"` + strings.Repeat("x", 250_000) + `"}`))
	if failure == nil {
		t.Error("nothing bounds it")
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestEachFieldHasAKeyOfItsOwn(t *testing.T) {
	plan := planOf(t, `{"name":"a","script":{"source":"x"},"concurrency":{"limit":1,"key":"payload.c"},
		"rate":{"limit":1,"per":"1s","key":"payload.r"},"unique":{"key":"payload.u","while":"24h","on_conflict":"reject"},
		"checkpoint":{"key":"payload.p"}}`)
	keys, unique, failure := plan.RunKeys(keyedRun(`{"c":"C","r":"R","u":"U","p":7.0}`))
	if failure != nil || *keys.Concurrency != "C" || *keys.Rate != "R" || *keys.Checkpoint != "7.0" {
		t.Fatalf("got %v, %v", keys, failure)
	}
	if want := (UniqueRun{Key: "U", For: Duration(24 * time.Hour), Conflict: ConflictReject}); *unique != want {
		t.Errorf("got %+v, want %+v", *unique, want)
	}
	keys, unique, failure = plan.RunKeys(keyedRun(`{"r":""}`))
	if failure != nil || keys.Concurrency != nil || keys.Checkpoint != nil || unique != nil || keys.Rate == nil || *keys.Rate != "" {
		t.Errorf("got %v, %v, %v", keys, unique, failure)
	}
}

func TestWithoutAKeyAllRunsOfAJobAreAlike(t *testing.T) {
	for doc, want := range map[string]UniqueRun{
		`{}`:                 {While: WhileActive, Conflict: ConflictExisting},
		`{"while":"active"}`: {While: WhileActive, Conflict: ConflictExisting},
		`{"while":"queued","on_conflict":"replace"}`: {While: WhileQueued, Conflict: ConflictReplace},
		`{"while":"90s","on_conflict":"existing"}`:   {For: Duration(90 * time.Second), Conflict: ConflictExisting},
	} {
		plan := planOf(t, `{"name":"a","script":{"source":"x"},"concurrency":{"limit":1},"rate":{"limit":1,"per":"1s"},"checkpoint":{"ttl":"1h"},"unique":`+doc+`}`)
		keys, unique, failure := plan.RunKeys(keyedRun(`{}`))
		if failure != nil || keys != (Keys{}) {
			t.Errorf("%s: got %v, %v", doc, keys, failure)
		}
		if unique == nil || *unique != want {
			t.Errorf("%s: got %+v, want %+v", doc, unique, want)
		}
	}
}

func TestAJobWithoutKeysCostsNothing(t *testing.T) {
	for _, doc := range []string{``, `,"concurrency":{"limit":1},"rate":{"limit":1,"per":"1s"},"checkpoint":{},"dependencies":["a"]`} {
		plan, run := planOf(t, `{"name":"a","script":{"source":"x"}`+doc+`}`), keyedRun(`{"a":1}`)
		allocs := testing.AllocsPerRun(100, func() {
			if keys, unique, failure := plan.RunKeys(run); keys != (Keys{}) || unique != nil || failure != nil {
				t.Fatal(keys, unique, failure)
			}
		})
		if allocs != 0 {
			t.Errorf("%q: %v allocations", doc, allocs)
		}
	}
}
