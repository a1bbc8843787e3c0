package jobs

import (
	"strings"
	"testing"
	"time"
)

// askRule evaluates a condition as a rule does; nil counts as false.
func askRule(t *testing.T, src string, ev *evidence) (bool, error) {
	t.Helper()
	p, mistake := compileExpr(src)
	if mistake != nil {
		t.Fatalf("%s: %v", src, mistake)
	}
	v, err := ev.run(p)
	if err != nil {
		return false, err
	}
	holds, ok := v.(bool)
	if !ok && v != nil {
		t.Fatalf("%s gave %T", src, v)
	}
	return holds, nil
}

func sampleEvidence() *evidence {
	plan := &Plan{Job: &Job{
		Name: "sync", Labels: map[string]string{"team": "data"}, Script: &Script{},
	}}
	f := &Failure{
		Kind: FailHTTP, Type: "ValidationError", Message: "no user 17", Stack: "at x",
		HTTP: &HTTPFailure{
			Status: 404, Headers: map[string]string{"x-code": "A7", "retry-after": "120"},
			Body: `{"code":"no_such_user","n":9007199254740993,"list":[1,"two",null],"deep":{"a":{"b":true}}}`,
		},
		Exit: &ExitFailure{Code: 3, Signal: "SIGTERM"},
	}
	e := &Ending{
		Plan: plan, Counts: Counts{Charged: 1}, MaxAttempts: 5, RunAt: 1000, Now: 1000 + 7_200_000,
		Payload: Raw(`{"id":9007199254740993,"ok":true,"x":1.5,"big":1e400,"items":[{"k":1}],"s":"abc","none":null}`),
		Report:  Report{OutputTail: "line\nthe end"}, Progress: &Progress{Done: 40, Total: 100},
	}
	return &evidence{facts: factsOf(e, f), failure: f, payload: e.Payload}
}

func TestRulesSeeEveryFactOfTheContract(t *testing.T) {
	ev := sampleEvidence()
	for _, src := range []string{
		`error.kind == "http"`, `error.type in ["ValidationError"]`, `error.message contains "user"`,
		`error.stack startsWith "at"`, `http.status == 404`, `http.status in 400..499`,
		`http.headers["x-code"] == "A7"`, `http.headers["X-Code"] == "A7"`, `http.headers.nope == nil`,
		`http.body.code == "no_such_user"`, `http.body.n == 9007199254740993`,
		`http.body.n != 9007199254740992`, `http.body.list[1] == "two"`, `http.body.list[-1] == nil`,
		`http.body.list[9] == nil`, `http.body.deep.a.b`, `"code" in http.body`, `1 in http.body.list`,
		`exit.code == 3`, `exit.signal == "SIGTERM"`, `output endsWith "the end"`, `attempt == 2`,
		`max_attempts == 5`, `elapsed > duration("1h")`, `elapsed == duration("2h")`,
		`payload.id == 9007199254740993`, `payload.ok`, `payload.x == 1.5`, `payload.big > 1`,
		`payload.items[0].k == 1`, `job.name == "sync"`, `job.queue == "default"`,
		`job.labels.team == "data"`, `job.labels.nope == nil`, `"team" in job.labels`,
		`progress.done == 40`, `progress.done / progress.total == 0.4`, `payload?.a?.b == nil`,
		`(payload.none ?? 7) == 7`, `error["kind"] == "http"`,
		`int(http.headers["retry-after"]) > 60`, `len(payload.items) == 1`, `lower("ABC") == "abc"`,
		`upper(payload.s) == "ABC"`, `trim(" a ") == "a"`, `string(payload.id) == "9007199254740993"`,
		`float("1.5") == 1.5`, `abs(-3) == 3`, `max(1, 2.5, attempt) == 2.5`, `min(1, 2) == 1`,
		`floor(1.5) == 1`, `ceil(1.5) == 2`, `round(1.5) == 2`, `hasPrefix("abc", "a")`,
		`hasSuffix("abc", "c")`, `trimPrefix("abc", "a") == "bc"`, `trimSuffix("abc", "c") == "ab"`,
		`error.message matches "^no user \\d+$"`, `error.message | upper() == "NO USER 17"`,
		`not (http.status in [500, 502])`, `http.status not in 500..599`, `-1 in -5..5`,
		`attempt > 1 ? payload.ok : false`, `7 % 4 == 3`, `2 ** 3 == 8`, `"a" + "b" == "ab"`,
		`duration("1h") - duration("30m") == duration("30m")`, `duration("10s") * attempt == duration("20s")`,
		`duration(90) == duration("1m30s")`, `payload.items == [payload.items[0]]`, `string(http.body) contains "no_such"`,
		`payload.s < "abd"`, `payload.x <= 1.5 && payload.x >= 1`, "http.status == 404 // a comment (((",
		"/* [[[ */ true", "error.message != \"((\"", "payload.s == `abc`", `len("ä") == 1`, `payload.items` + ` != nil`,
	} {
		if holds, err := askRule(t, src, ev); err != nil || !holds {
			t.Errorf("%s: %v %v", src, holds, err)
		}
	}
}

func TestComparisonsWithWhatIsMissingOrOfAnotherSortAreFalse(t *testing.T) {
	ev := sampleEvidence()
	ev.failure.HTTP.Body = ""
	for _, src := range []string{
		`http.body.code == "x"`, `payload.a.b.c == 1`, `payload.a.b.c`, `payload.s == 5`,
		`payload.s > 5`, `payload.s < 5`, `payload.nope > 5`, `payload.nope < 5`, `payload.nope <= 5`,
		`payload.nope == false`, `payload.items.k == 1`, `payload["items"]["k"] == 1`,
		`payload.s.x.y == 1`, `payload.nope contains "a"`, `payload.nope matches "a"`,
		`payload.nope in [1, 2]`, `payload.nope in ["a"]`, `"a" in payload.nope`, `payload.nope in 1..5`,
		`payload.s in 1..5`, `1.5 in [1, 2]`, `payload.x in 1..5`, `payload.items == payload.s`,
		`payload == 1`, `int(payload.nope) == 1`, `lower(payload.nope) == "a"`, `payload.ok == "true"`,
		`payload.id == 9007199254740992.0`, `payload.none.x`, `payload.ok && payload.nope`,
		`len(payload.nope) > 0`, `duration(payload.nope) > duration("1s")`, `payload[payload.s]`,
		`payload[payload.items] == 1`, `elapsed == payload.x`,
	} {
		if holds, err := askRule(t, src, ev); err != nil || holds {
			t.Errorf("%s: %v %v", src, holds, err)
		}
	}
	for _, src := range []string{
		`!payload.nope`, `payload.a.b != 1`, `payload.nope == nil`, `!(payload.nope > 5)`,
		`payload.nope || true`, `not payload.nope.x`, `payload.nope ? false : true`,
	} {
		if holds, err := askRule(t, src, ev); err != nil || !holds {
			t.Errorf("%s: %v %v", src, holds, err)
		}
	}
}

func TestRulesThatFailSayWhyAndWhereWithoutData(t *testing.T) {
	ev := sampleEvidence()
	for src, want := range map[string]string{
		`payload.x / payload.zero > 1`:             "line 1, column 11: / does not go with a number and nil",
		`attempt / (attempt - 2) > 1`:              "line 1, column 9: division by zero",
		`attempt % (attempt - 2) > 1`:              "line 1, column 9: division by zero",
		`payload.id + 9223372036854775807 > 1`:     "line 1, column 12: the number is out of range",
		`payload.id * payload.id > 1`:              "line 1, column 12: the number is out of range",
		`-2 - payload.id * 1023 < 0`:               "",
		`-9223372036854775807 - payload.id < 0`:    "line 1, column 22: the number is out of range",
		`payload.nope + 1 > 0`:                     "line 1, column 14: + does not go with nil and a number",
		`payload.items contains "a"`:               "line 1, column 15: contains wants a text, not a list",
		`payload.s && true`:                        "line 1, column 9: wants true or false, not a text",
		"true &&\n  int(payload.s) > 1":            "line 2, column 3: int: the text is no whole number",
		`"x" in payload.s`:                         "line 1, column 5: in wants a list or an object, not a text",
		`-payload.s == 1`:                          "line 1, column 1: invalid operation: - string",
		`max(payload.s, 1) == 1`:                   "line 1, column 1: max cannot compare a number and a text",
		`duration(payload.s) == elapsed`:           "line 1, column 1: want a duration such as",
		`payload.s + payload.items == "a"`:         "line 1, column 11: + does not go with a text and a list",
		`duration("3000d") * 1000000000 > elapsed`: "line 1, column 19: the number is out of range",
	} {
		_, err := askRule(t, src, ev)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", src, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%s: got %v, want %s", src, err, want)
		case err != nil && strings.Contains(err.Error(), "abc"):
			t.Errorf("%s: the error quotes the payload: %v", src, err)
		}
	}
}

func TestMistakesAreRefusedWhenSavedWithTheirPlace(t *testing.T) {
	for src, want := range map[string]string{
		``:                                         "line 1, column 1: an expression is wanted",
		` `:                                        "line 1, column 1: an expression is wanted",
		`eror.kind == "http"`:                      "line 1, column 1: unknown name eror; known here: attempt, elapsed, error, exit, http, job, max_attempts, output, payload, progress",
		"http.status == 1 ||\n  foo":               "line 2, column 3: unknown name foo; known here",
		`http.sttus == 429`:                        "line 1, column 6: http has no member sttus; known there: body, headers, status",
		`error.kind.x == 1`:                        "line 1, column 12: error.kind is a single value",
		`attempt.foo.bar == 1`:                     "line 1, column 9: attempt is a single value",
		`error == nil`:                             "line 1, column 1: error holds several values: error.kind, error.message, error.stack, error.type",
		`error[payload.x] == 1`:                    "line 1, column 6: the member of error must be written out",
		`foo() > 0`:                                "line 1, column 1: unknown function foo; known: abs, ceil",
		`http.status == "429"`:                     "line 1, column 13: invalid operation: == (mismatched types int and string)",
		`"a" > 1`:                                  "line 1, column 5: invalid operation: > (mismatched types string and int)",
		`elapsed > 60`:                             `line 1, column 9: invalid operation: > (mismatched types duration and int); write a duration as duration("90s")`,
		`elapsed > duration("soon")`:               `line 1, column 20: want a duration such as`,
		`http.status / 0 > 1`:                      "line 1, column 13: division by zero",
		`http.status % 0 > 1`:                      "line 1, column 13: division by zero",
		`http.status ==`:                           "line 1, column 14: unexpected end of the expression",
		`(http.status == 1`:                        "line 1, column 17: unexpected end of the expression",
		`"abc`:                                     "line 1, column 5: literal not terminated",
		`any(payload.items, # == 1)`:               "line 1, column 1: any is not known in rules: nothing here loops over a list",
		`len(filter(payload, true)) > 1`:           "line 1, column 5: filter is not known in rules",
		`sum(payload.items) > 1`:                   "line 1, column 1: sum is not known in rules",
		`sort(payload.items) == nil`:               "line 1, column 1: unknown function sort",
		`now() == nil`:                             "line 1, column 1: unknown function now",
		`repeat("a", 9) == ""`:                     "line 1, column 1: unknown function repeat",
		`let x = 1; x == 1`:                        "line 1, column 5: let and ; are not known in rules",
		`true; false`:                              "line 1, column 1: let and ; are not known in rules",
		`elapsed.Hours() > 1`:                      "line 1, column 9: only functions can be called",
		`elapsed.Hours == 1`:                       "line 1, column 9: elapsed is a single value",
		`payload.f() == 1`:                         "line 1, column 9: only functions can be called",
		`$env.http == 1`:                           "line 1, column 1: unknown name $env",
		`$meter == 1`:                              "line 1, column 1: unknown name $meter",
		`$get(payload, "a") == 1`:                  "line 1, column 1: unknown function $get",
		`len == 1`:                                 "line 1, column 1: len is a function: write len(...)",
		`len() == 1`:                               "line 1, column 1: len takes one argument, not 0",
		`hasPrefix("a") == true`:                   "line 1, column 1: hasPrefix takes 2 arguments, not 1",
		`min() == 1`:                               "line 1, column 1: min takes 1 to 20 arguments, not 0",
		`error.message[0:4] == "a"`:                "line 1, column 14: slices are not known in rules",
		`{"a": 1}.a == 1`:                          "line 1, column 1: objects cannot be written in rules",
		`b"ab" == payload`:                         "line 1, column 1: not known in rules",
		`1 < attempt < 3`:                          "line 1, column 5: comparisons cannot be chained",
		`http.status in 1..1000000000`:             "line 1, column 17: the range is too wide",
		`http.status in 0..1000`:                   "line 1, column 17: the range is too wide",
		`http.status in 5..1`:                      "line 1, column 17: the range is empty",
		`http.status in 1..attempt`:                "line 1, column 17: both ends of a range must be whole numbers",
		`len(1..5) == 5`:                           "line 1, column 6: a range stands to the right of in",
		`error.message matches payload.re`:         "line 1, column 31: the pattern must be written out",
		`error.message matches "(a"`:               `line 1, column 23: the pattern is not valid: missing closing ): "(a"`,
		`error.message matches "(x{1000}){1000}"`:  "line 1, column 23: the pattern is not valid: invalid repeat count",
		`error.message matches "(abcdefgh){1000}"`: "line 1, column 23: the pattern has",
		`error.kind in [1, 2]`:                     "line 1, column 12: cannot use string as type int in array",
		`9223372036854775808 == payload`:           "line 1, column 21: invalid integer literal: want a number from -9223372036854775808 to",
		"payload\x00 == 1":                         "line 1, column 8: the character NUL is not allowed",
		"payload == \"\xff\"":                      "line 1, column 13: not valid UTF-8",
		`payload == 1 @`:                           "line 1, column 14: unrecognized character",
	} {
		p, err := compileExpr(src)
		if err == nil {
			t.Errorf("%s: compiled to %s", src, p.typ)
		} else if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", src, err, want)
		}
	}
}

// hostile are sources that would take very long, or very much memory, were they let in.
func hostile() map[string]string {
	chain := "attempt"
	for range 90 {
		chain = "int(1 < " + chain + " < 3)"
	}
	return map[string]string{
		"parentheses":       strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000),
		"brackets in bound": strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
		"a megabyte":        strings.Repeat("a", 1<<20),
		"nested loops":      `all(payload, all(payload, all(payload, all(payload, # == 1))))`,
		"huge range":        `1 in 1..1000000000`,
		"range of any":      `len(0..payload.n) > 1`,
		"pattern from data": `error.message matches payload.pattern`,
		"huge pattern":      `error.message matches "` + strings.Repeat("(a{1,30}){1,30}", 60) + `"`,
		"repeated group":    `error.message matches "` + strings.Repeat("(x+x+)+", 140) + `"`,
		"many classes":      `error.message matches "(\\pL\\pN\\pS){300}"`,
		"chained":           chain + " == 1",
		"nots":              strings.Repeat("!", 4000) + "true",
		"minuses":           strings.Repeat("-", 4000) + "1 == 1",
		"powers":            "1" + strings.Repeat("**9", 1300) + " == 1",
		"terms":             "1" + strings.Repeat("+1", 2000) + " == 1",
		"concatenation":     `payload.s` + strings.Repeat("+payload.s", 350) + ` == ""`,
		"doubling":          doubling(80),
		"deep field":        "payload" + strings.Repeat(".a", 1900) + " == 1",
		"deep index":        "payload" + strings.Repeat("[0]", 1300) + " == 1",
		"many compares":     "payload == payload" + strings.Repeat("&&payload==payload", 200),
		"many lowers":       "lower(payload.s)" + strings.Repeat("+lower(payload.s)", 200) + ` == ""`,
		"many matches":      `payload.s matches "(a|b)*c"` + strings.Repeat(`||payload.s matches "(a|b)*d"`, 120),
		"slow matches":      `payload.s matches "(a?){900}$"`,
		"long lists":        `1 in payload.l` + strings.Repeat(`||1 in payload.l`, 200),
		"ternaries":         strings.Repeat("true?", 500) + "1" + strings.Repeat(":1", 500) + " == 1",
		"NUL":               "true\x00",
		"open string":       `"` + strings.Repeat(`\"`, 2000),
		"open comment":      "/*" + strings.Repeat("/*", 2000),
		"text of text":      strings.Repeat("string(", 90) + "payload" + strings.Repeat(")", 90) + ` == ""`,
		"closers":           strings.Repeat(")", 4000),
		"coalesce":          "payload.a" + strings.Repeat("??payload.a", 350) + " == 1",
	}
}

func doubling(n int) string {
	s := "payload.s"
	for range n {
		s = "trim(" + s + "+payload.s)"
	}
	return s + ` == ""`
}

func TestHostileExpressionsAreRefusedOrFailSoon(t *testing.T) {
	text := strings.Repeat("ab", 100<<10)
	payload := Raw(`{"s":"` + text + `","pattern":"(a+)+$","n":1000000000,"l":[` +
		strings.Repeat("0,", 20_000) + `0]}`)
	for name, src := range hostile() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			p, err := compileExpr(src)
			if err == nil {
				ev := sampleEvidence()
				ev.payload = payload
				_, runErr := ev.run(p)
				t.Logf("evaluates: %v", runErr)
			} else {
				t.Log(clip(err.Error(), 200))
				if err.Line < 1 || err.Column < 1 {
					t.Error("the error has no place")
				}
			}
			t.Log(time.Since(start))
			if took := time.Since(start); took > 10*time.Second { // in truth well under one
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestSourceOfFourKibibytesIsTheLimit(t *testing.T) {
	fits := "true" + strings.Repeat(" ", maxSource-4)
	if _, err := compileExpr(fits); err != nil {
		t.Error(err)
	}
	if _, err := compileExpr(fits + " "); err == nil {
		t.Error("one byte more is accepted")
	}
}

func TestNestingOfAHundredIsTheLimit(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("(", n) + "true" + strings.Repeat(")", n) }
	if _, err := compileExpr(nested(maxNesting)); err != nil {
		t.Error(err)
	}
	if _, err := compileExpr(nested(maxNesting + 1)); err == nil {
		t.Error("101 are accepted")
	}
	if _, err := compileExpr(`"` + strings.Repeat("(", 200) + `" != '\'((' // ` + strings.Repeat("(", 200)); err != nil {
		t.Errorf("brackets in texts and comments count: %v", err)
	}
}

func TestBodyAndPayloadAreReadOnlyWhenARuleRefersToThem(t *testing.T) {
	for src, want := range map[string]needs{
		`http.status == 1`:                      {},
		`http.headers.a == "1"`:                 {},
		`http.body == "x"`:                      {body: true},
		`http.body.a.b == 1`:                    {body: true},
		`http["body"].a == 1`:                   {body: true},
		`http?.body?.a == 1`:                    {body: true},
		`payload == 1`:                          {payload: true},
		`len(payload.a[payload.b]) == 1`:        {payload: true},
		`payload.a == http.body.a`:              {body: true, payload: true},
		`job.labels.payload == "http.body"`:     {},
		`error.message in [http.body, payload]`: {body: true, payload: true},
	} {
		p, err := compileExpr(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
		} else if p.needs != want {
			t.Errorf("%s needs %v, want %v", src, p.needs, want)
		}
	}
}

func TestProgramsMayBeSharedByGoroutines(t *testing.T) {
	p, mistake := compileExpr(`error.message matches "user" && http.body.code in ["no_such_user"] && payload.x + 1 > 2`)
	if mistake != nil {
		t.Fatal(mistake)
	}
	done := make(chan error)
	for range 8 {
		go func() {
			for range 200 {
				if v, err := sampleEvidence().run(p); err != nil || v != true {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func FuzzRule(f *testing.F) {
	for _, src := range hostile() {
		if len(src) <= maxSource {
			f.Add(src)
		}
	}
	for _, r := range DefaultPolicy().Rules {
		f.Add(r.If)
	}
	f.Add(`payload?.a[0]?.b not in ["x", 1, nil] ? -attempt : error.message | upper()`)
	f.Fuzz(func(t *testing.T, src string) {
		p, err := compileExpr(src)
		if err != nil {
			if err.Line < 1 || err.Column < 1 || err.Message == "" {
				t.Errorf("%+v says too little", err)
			}
			return
		}
		if v, err := sampleEvidence().run(p); err != nil {
			if strings.Contains(err.Error(), "runtime error") || strings.Contains(err.Error(), "interface conversion") {
				t.Errorf("%q fails as only a mistake of ours would: %v", src, err)
			}
		} else if _, bad := v.(*meter); bad {
			t.Errorf("%q gives the meter", src)
		}
	})
}

func BenchmarkRule(b *testing.B) {
	for name, src := range map[string]string{
		"status":  `http.status == 429`,
		"list":    `error.kind == "http" && http.status in [408, 425, 429, 500]`,
		"types":   pythonPassing,
		"body":    `http.status == 404 && http.body.code == "no_such_user"`,
		"pattern": `error.message matches "user \\d+"`,
	} {
		b.Run(name, func(b *testing.B) {
			p, mistake := compileExpr(src)
			if mistake != nil {
				b.Fatal(mistake)
			}
			ev := sampleEvidence()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ev.run(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompileExpr(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := inRules.translate(`error.type in ["ValidationError"] || http.body.code == "no_such_user"`); err != nil {
			b.Fatal(err)
		}
	}
}
