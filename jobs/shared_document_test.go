package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestParseQueueReadsADocument(t *testing.T) {
	for text, want := range map[string]*Queue{
		`{}`:                                   {},
		`{"concurrency":null}`:                 {},
		`{"name":"etl","concurrency":2.0}`:     {Name: "etl", Concurrency: new(2)},
		`{"concurrency":10000,"paused":"odd"}`: {Concurrency: new(10000)},
	} {
		got, err := ParseQueue([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// limits are what a dependency comes to.
func limits(d *Dependency) string {
	d.Shared = Shared{}
	text := string(AppendJSON(nil, d))
	return strings.TrimSuffix(text, `,"paused":false,"created_at":null,"updated_at":null}`) + "}"
}

const plainBreaker = `"breaker":{"failures":5,"open_for":"30s","max_open":"10m"}`

func TestADependencySaysNullWhereItHasNone(t *testing.T) {
	tests := []struct{ name, text, doc, want string }{
		{"a", `{}`, `{"name":"a"}`, `{"name":"a","concurrency":null,"rate":null,` + plainBreaker + `}`},
		{"a:1", `{}`, `{"name":"a:1"}`, `{"name":"a:1","concurrency":16,"rate":null,` + plainBreaker + `}`},
		{
			"a:1", `{"concurrency": null, "rate": null, "breaker": null}`,
			`{"name":"a:1","concurrency":null,"rate":null,"breaker":null}`,
			`{"name":"a:1","concurrency":null,"rate":null,"breaker":null}`,
		},
		{
			"a:1", `{"breaker": {}, "concurrency": 16}`, `{"name":"a:1","concurrency":16,"breaker":{}}`,
			`{"name":"a:1","concurrency":16,"rate":null,` + plainBreaker + `}`,
		},
		{
			"stripe", `{"name":"stripe","breaker":{"open_for":"60s","failures":null},"rate":{"per":"60s","limit":1e2},"concurrency":5}`,
			`{"name":"stripe","concurrency":5,"rate":{"limit":100,"per":"1m"},"breaker":{"open_for":"1m"}}`,
			`{"name":"stripe","concurrency":5,"rate":{"limit":100,"per":"1m"},"breaker":{"failures":5,"open_for":"1m","max_open":"10m"}}`,
		},
		{
			"a", `{"breaker":{"open_for":"1h"}}`, `{"name":"a","breaker":{"open_for":"1h"}}`,
			`{"name":"a","concurrency":null,"rate":null,"breaker":{"failures":5,"open_for":"1h","max_open":"1h"}}`,
		},
		{
			"a", `{"breaker":{"failures":1,"open_for":"100ms","max_open":"100ms"}}`,
			`{"name":"a","breaker":{"failures":1,"open_for":"100ms","max_open":"100ms"}}`,
			`{"name":"a","concurrency":null,"rate":null,"breaker":{"failures":1,"open_for":"100ms","max_open":"100ms"}}`,
		},
	}
	for _, test := range tests {
		d, err := ParseDependency([]byte(test.text))
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		d = d.Named(test.name)
		if got := string(d.Document()); got != test.doc {
			t.Errorf("%s: the document is %s\nwant %s", test.text, got, test.doc)
		}
		if got := limits(d); got != test.want {
			t.Errorf("%s: got %s\nwant %s", test.text, got, test.want)
		}
		kept, err := ParseDependencyDocument(test.name, d.Document())
		if err != nil || limits(kept) != test.want || string(kept.Document()) != test.doc {
			t.Errorf("%s: kept it is %s, %v", test.text, limits(kept), err)
		}
	}
}

// A name that is set without Named must not write limits into the document that nobody has said.
func TestTheDocumentOfADependencyIsWhatWasSaid(t *testing.T) {
	d, err := ParseDependency([]byte(`{"rate":{"limit":1,"per":"1s"}}`))
	if err != nil {
		t.Fatal(err)
	}
	d.Name = "api.example.com:443"
	if got := string(d.Document()); got != `{"name":"api.example.com:443","rate":{"limit":1,"per":"1s"}}` {
		t.Errorf("got %s", got)
	}
	for _, name := range []string{"stripe", "api.example.com:443"} {
		if got := string(NewDependency(name).Document()); got != `{"name":"`+name+`"}` {
			t.Errorf("got %s", got)
		}
		none, err := ParseDependencyDocument(name, nil)
		if diff := cmp.Diff(NewDependency(name), none, cmpopts.IgnoreUnexported(Dependency{})); err != nil || diff != "" {
			t.Errorf("%v: %s", err, diff)
		}
	}
}

// One that was made without a document, such as of an answer, is written so that it comes back.
func TestADependencyWithoutADocumentIsWrittenWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := NewDependency(rapid.SampledFrom([]string{"a", "a:1"}).Draw(rt, "name"))
		if n := rapid.IntRange(-1, 20).Draw(rt, "concurrency"); n >= 0 {
			if d.Concurrency = new(n); n == 0 {
				d.Concurrency = nil
			}
		}
		if rapid.Bool().Draw(rt, "rate") {
			d.Rate = &Rate{Limit: rapid.IntRange(1, 9).Draw(rt, "limit"), Per: Duration(time.Minute)}
		}
		switch rapid.IntRange(0, 2).Draw(rt, "breaker") {
		case 0:
			d.Breaker = nil
		case 1:
			d.Breaker = &Breaker{rapid.IntRange(4, 6).Draw(rt, "failures"), Duration(30e9), Duration(time.Hour)}
		}
		back, err := ParseDependency(d.Document())
		if err != nil {
			rt.Fatalf("%s: %v", d.Document(), err)
		}
		if diff := cmp.Diff(d, back, cmpopts.IgnoreUnexported(Dependency{})); diff != "" {
			rt.Fatalf("%s: %s", d.Document(), diff)
		}
	})
}

func TestParseQueueTellsWhatWouldBeRight(t *testing.T) {
	limit := ": want a whole number from 1 to 10000, or null for no limit; so that nothing starts, pause it"
	for text, want := range map[string]string{
		`{"concurrency":0}`:                 "concurrency: is 0" + limit,
		`{"concurrency":-1}`:                "concurrency: is -1" + limit,
		`{"concurrency":10001}`:             "concurrency: is 10001" + limit,
		`{"concurrency":{"limit":1}}`:       "concurrency: want a whole number, got an object",
		`{"name":"A","concurrency":0}`:      "name: " + errName.Error() + "; concurrency: is 0" + limit,
		`{"name":"a:80"}`:                   "name: " + errName.Error(),
		`{"limit":1}`:                       `limit: unknown field: want "concurrency"`,
		`{"rate":{"limit":1}}`:              "rate: unknown field: a queue has none: it belongs to a dependency that the jobs name",
		`{"priority":1}`:                    "priority: unknown field: known here are name, concurrency",
		`{"Concurrency":1}`:                 `Concurrency: unknown field: want "concurrency"`,
		`{"concurrency":1,"concurrency":1}`: "concurrency: this key stands twice in the same object",
		`[]`:                                `want an object such as {"name": "reports", "concurrency": 2}, got a list`,
		`{"name":`:                          "not JSON: line 1, column 9: want a value, got the end",
	} {
		if _, err := ParseQueue([]byte(text)); !strings.HasPrefix(errText(err), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestParseDependencyTellsWhatWouldBeRight(t *testing.T) {
	for text, want := range map[string]string{
		`{"concurrency":0}`: "concurrency: is 0: want a whole number from 1 to 10000, or null for no limit; so that nothing starts, pause it",
		`{"name":"Stripe"}`: `name: want it as "stripe"`,
		`{"rate":{}}`: "rate.limit: is 0 or missing: want a whole number from 1 to 1000000; " +
			"rate.per: is 0s or missing: want a duration from 100ms to 31d",
		`{"rate":{"limit":1,"per":"1m","key":"payload.a"}}`: "rate.key: unknown field: the rate of a dependency is one for all " +
			"that name it: a key goes with the rate of a job",
		`{"rate":5}`:                 `rate: want an object such as {"limit": 100, "per": "1m"}, got a number`,
		`{"rate":{"limit":"x"}}`:     "rate.limit: want a whole number, got a string; rate.per: is 0s or missing: want a duration from 100ms to 31d",
		`{"breaker":true}`:           `breaker: want an object such as {"failures": 5}, or null for none, got true or false`,
		`{"breaker":{"failures":0}}`: "breaker.failures: is 0: want a whole number from 1 to 1000",
		`{"breaker":{"failures":1001,"open_for":"99ms"}}`: "breaker.failures: is 1001: want a whole number from 1 to 1000; " +
			"breaker.open_for: is 99ms: want a duration from 100ms to 24h",
		`{"breaker":{"open_for":"24h1s"}}`:              "breaker.open_for: is 1d1s: want a duration from 100ms to 24h",
		`{"breaker":{"max_open":"24h1s"}}`:              "breaker.max_open: is 1d1s: want a duration up to 24h",
		`{"breaker":{"max_open":"29s"}}`:                "breaker.max_open: is 29s: want no less than open_for, which is 30s",
		`{"breaker":{"open_for":"2m","max_open":"1m"}}`: "breaker.max_open: is 1m: want no less than open_for, which is 2m",
		`{"breaker":{"opn_for":"1m"}}`:                  `breaker.opn_for: unknown field: did you mean "open_for"?`,
		`{"failures":5}`:                                "failures: unknown field: it belongs below breaker",
		`{"open_for":"1m"}`:                             "open_for: unknown field: it belongs below breaker",
		`{"per":"1m"}`:                                  "per: unknown field: it belongs below rate",
		`{"limit":5}`:                                   `limit: unknown field: want "concurrency", or it belongs below rate`,
		`{"breaker":{"state":"open"}}`:                  "breaker.state: unknown field: known here are failures, open_for, max_open",
		`{"timeout":"1m"}`:                              "timeout: unknown field: known here are name, concurrency, rate, breaker",
		`"stripe"`:                                      `want an object such as {"name": "stripe", "concurrency": 5}, got a string`,
		`{"concurrency":5}}`:                            "not JSON: line 1, column 18: want nothing after the value",
		`{"breaker":null,"breaker":{}}`:                 "breaker: this key stands twice in the same object",
	} {
		if _, err := ParseDependency([]byte(text)); errText(err) != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestStateIsPassedOverWhateverItHolds(t *testing.T) {
	text := `{"concurrency":5`
	for i, name := range SharedState {
		text += `,"` + name + `":` + []string{`null`, `"x"`, `{"a":[1,{}]}`, `1.5`, `true`}[i%5]
	}
	text += "}"
	q, err := ParseQueue([]byte(text))
	if err != nil || string(q.Document()) != `{"concurrency":5}` {
		t.Errorf("got %v, %v", q, err)
	}
	d, err := ParseDependency([]byte(text))
	if err != nil || string(d.Document()) != `{"concurrency":5}` {
		t.Errorf("got %v, %v", d, err)
	}
	if _, err := ParseQueue([]byte(`{"set":{"a":1,"a":2}}`)); errText(err) != "set.a: this key stands twice in the same object" {
		t.Errorf("got %v", err)
	}
}

func TestStateHasNoNameThatADocumentHas(t *testing.T) {
	for _, text := range []string{
		`{"name":1,"concurrency":1,"rate":{"limit":1,"per":"1s"},"breaker":{"failures":1,"open_for":"1s","max_open":"1s"}}`,
	} {
		parts, _, _ := partsOf([]byte(text))
		for _, p := range parts {
			below, _, _ := partsOf(p.text)
			for _, p := range append(below, p) {
				if (*dependencyDoc)(nil).isState(p.key) {
					t.Errorf("%s is passed over where it does not belong", p.key)
				}
			}
		}
	}
}

func TestWhatLaterVersionsSaidIsReadLeniently(t *testing.T) {
	q, err := ParseQueueDocument("etl", Raw(`{"name":"other","concurrency":2,"later":{"a":1}}`))
	if err != nil || q.Name != "etl" || *q.Concurrency != 2 {
		t.Errorf("got %v, %v", q, err)
	}
	d, err := ParseDependencyDocument("a:1", Raw(`{"later":1,"breaker":{"half":2,"failures":3}}`))
	if err != nil || limits(d) != `{"name":"a:1","concurrency":16,"rate":null,"breaker":{"failures":3,"open_for":"30s","max_open":"10m"}}` {
		t.Errorf("got %v, %v", d, err)
	}
	for _, text := range []string{`{`, `[]`, `{"concurrency":"x"}`} {
		if _, err := ParseQueueDocument("etl", Raw(text)); !strings.HasPrefix(errText(err), "read the document of queue etl: ") {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := ParseDependencyDocument("a", Raw(text)); !strings.HasPrefix(errText(err), "read the document of dependency a: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTheSharedDocumentsAreGates(t *testing.T) {
	q, _ := ParseQueueDocument("etl", Raw(`{"concurrency":2}`))
	if g := q.Gate(); g.Kind != GateQueue || g.Name != "etl" || g.Limit != 2 {
		t.Errorf("got %+v", g)
	}
	d, _ := ParseDependencyDocument("a:1", Raw(`{"rate":{"limit":3,"per":"1s"},"breaker":null}`))
	if g := d.Gate(); g.Kind != GateDependency || !g.Host || g.Limit != 16 || g.Rate.Limit != 3 || g.Breaker != nil {
		t.Errorf("got %+v", g)
	}
}
