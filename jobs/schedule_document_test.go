package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fullSchedule = `{"name":"night","job":"sync","cron":"0 2 * * *","timezone":"Europe/Berlin",` +
	`"payload":{ "a": 1.0 },"catch_up":{"mode":"all","window":"12h","limit":5},"overlap":"replace","spread":"10m",` +
	`"start":"2026-01-01T00:00:00.000Z","end":"2026-12-31T00:00:00.000Z","late_after":"1h"}`

func TestADocumentOfAScheduleComesBackByteForByte(t *testing.T) {
	for _, text := range []string{
		fullSchedule,
		`{"job":"a","cron":"@hourly"}`,
		`{"name":"a.b","job":"a","every":"15m"}`,
		`{"job":"a","every":"1s","catch_up":{"mode":"none"},"overlap":"skip"}`,
		`{"job":"a","every":"3653d","start":"2026-01-01T00:00:00.000Z","end":"2026-01-01T00:00:00.000Z"}`,
		`{"job":"a","cron":"@daily","catch_up":{"mode":"latest","window":"1h","limit":100}}`,
		`{"job":"a","cron":"* * * * *","payload":[1e1],"overlap":"allow","spread":"1d"}`,
	} {
		s, err := ParseSchedule([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(s.Document()); got != text {
			t.Errorf("%s:\nwritten it is %s", text, got)
		}
		kept, err := ParseScheduleDocument("other", s.Document())
		if err != nil || kept.Name != "other" {
			t.Fatalf("%s: kept it is %+v, %v", text, kept, err)
		}
		kept.Name = s.Name
		if diff := cmp.Diff(s, kept); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestNullAndStateAreLeftOutOfASchedule(t *testing.T) {
	s, err := ParseSchedule([]byte(`{"job":"a","every":"15m","cron":null,"timezone":null,"payload":null,"catch_up":null,
		"overlap":null,"spread":null,"start":null,"end":null,"late_after":null,
		"paused":true,"pause_note":5,"next":"x","last":{"at":1},"reads":"every 15 minutes","set":"default","created_at":"yesterday"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.Document()); got != `{"job":"a","every":"15m"}` {
		t.Errorf("got %s", got)
	}
	s, err = ParseSchedule([]byte(`{"job":"a","every":"15m","catch_up":{"mode":null,"window":null,"limit":null}}`))
	if err != nil || string(s.Document()) != `{"job":"a","every":"15m"}` {
		t.Errorf("got %s, %v", s.Document(), err)
	}
}

func TestStoredSchedulesOfOtherVersionsAreRead(t *testing.T) {
	s, err := ParseScheduleDocument("a", Raw(`{"name":"b","job":"j","cron":"@never","later":{"x":1},"overlap":"odd"}`))
	if err != nil || s.Name != "a" || s.Cron != "@never" || s.Overlap != "odd" {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err := ParseScheduleDocument("a", Raw(`{"job":5}`)); err == nil || !strings.Contains(err.Error(), "schedule a") {
		t.Errorf("got %v", err)
	}
}

// scheduleFaults are what is wrong with members of a schedule, "": nothing is.
var scheduleFaults = map[string]string{
	`"cron":"@daily"`: "",
	`"every":"15m"`:   "",
	`"overlap":"skip"`: `@: want exactly one of cron, such as "0 2 * * *", and every, ` +
		`such as "15m"`,
	`"cron":"@daily","every":"15m"`:                                             "every: want exactly one of cron and every: cron is there too",
	`"every":"0s"`:                                                              "every: is 0s: want a duration of whole seconds from 1s to 3653d",
	`"every":"999ms"`:                                                           "every: is 999ms: want a duration of whole seconds from 1s to 3653d",
	`"every":15`:                                                                "every: want " + durationForm + ", got a number",
	`"cron":5`:                                                                  "cron: want a string, got a number: put it in double quotes",
	`"every":"15m","timezone":"UTC"`:                                            "", // a zone says nothing about it, and harms nothing
	`"every":"15m","timezone":"Europe/Berln"`:                                   `timezone: unknown time zone "Europe/Berln": did you mean Europe/Berlin?`,
	`"every":"15m","overlap":"forbid"`:                                          `overlap: is "forbid": want one of queue, skip, replace, allow`,
	`"every":"15m","spread":"25h"`:                                              "spread: is 1d1h: want a duration from 0s to 24h",
	`"every":"15m","spread":"0s"`:                                               "",
	`"every":"15m","late_after":"0s"`:                                           "late_after: is 0s: want more than 0s, or null: late is then what has not started 15m after the tick",
	`"every":"15m","catch_up":"all"`:                                            `catch_up: want an object such as {"mode": "all", "window": "24h"}, got a string`,
	`"every":"15m","catch_up":false`:                                            `catch_up: want an object such as {"mode": "all", "window": "24h"}, got true or false`,
	`"every":"15m","catch_up":{"mode":"1"}`:                                     `catch_up.mode: is "1": want one of none, latest, all`,
	`"every":"15m","catch_up":{"limit":0}`:                                      "catch_up.limit: is 0: want a whole number from 1 to 10000",
	`"every":"15m","catch_up":{"limit":100}`:                                    "", // it is the default, wherever it does not count
	`"every":"15m","catch_up":{"limit":5}`:                                      "", // it counts where the mode is another
	`"every":"15m","catch_up":{"window":"0"}`:                                   "catch_up.window: is 0s: want more than 0s; with mode: none no tick is caught up",
	`"every":"15m","catch_up":{"mode":"all","limit":10001}`:                     "catch_up.limit: is 10001: want a whole number from 1 to 10000",
	`"every":"15m","catch_up":{"mode":"none","limit":5}`:                        "", // it counts where the mode is another
	`"every":"15m","catch_up":{"mode":"none","window":"1h"}`:                    "", // it counts where the mode is another
	`"every":"15m","start":"2026-01-02T00:00:00Z","end":"2026-01-01T00:00:00Z"`: "end: want no time before start, which is 2026-01-02T00:00:00.000Z",
	`"every":"15m","payload":{"a":1,"a":2}`:                                     "payload.a: this key stands twice in the same object",

	// How others call it.
	`"every":"15m","catch-up":{}`:                 `catch-up: unknown field: want "catch_up"`,
	`"every":"15m","timeZone":"UTC"`:              `timeZone: unknown field: want "timezone"`,
	`"schedule":"0 2 * * *"`:                      `schedule: unknown field: want "cron", such as "0 2 * * *", or "every", such as "15m"`,
	`"crontab":"0 2 * * *"`:                       `crontab: unknown field: want "cron", such as "0 2 * * *"`,
	`"interval":"15m"`:                            `interval: unknown field: want "every", such as "15m"`,
	`"every":"15m","tz":"UTC"`:                    `tz: unknown field: want "timezone", such as "Europe/Berlin"`,
	`"every":"15m","misfire":"all"`:               `misfire: unknown field: want "catch_up", such as {"mode": "latest"}`,
	`"every":"15m","concurrencyPolicy":"Forbid"`:  `concurrencyPolicy: unknown field: want "overlap": queue, skip, replace or allow`,
	`"every":"15m","jitter":"1m"`:                 `jitter: unknown field: want "spread", such as "10m"`,
	`"every":"15m","startingDeadlineSeconds":1`:   `startingDeadlineSeconds: unknown field: want "late_after", such as "1h"`,
	`"every":"15m","enabled":false`:               "enabled: unknown field: pausing is state, no part of a document: POST /v1/schedules/NAME/pause",
	`"every":"15m","timeout":"1m"`:                "timeout: unknown field: it belongs to the job, not to its schedule",
	`"every":"15m","queue":"a"`:                   "queue: unknown field: it belongs to the job, not to its schedule",
	`"every":"15m","window":"1h"`:                 "window: unknown field: it belongs below catch_up",
	`"every":"15m","catch_up":{"max":1}`:          `catch_up.max: unknown field: want "limit"`,
	`"every":"15m","catch_up":{"overlap":"skip"}`: "catch_up.overlap: unknown field: it belongs at the top level of the schedule",
	`"every":"15m","colour":1`: "colour: unknown field: known here are name, job, cron, every, timezone, payload, catch_up, overlap, " +
		"spread, start, end, late_after",
	`"every":"15m","run_at":"2026-01-01T00:00:00Z"`: "run_at: unknown field: a run at one instant needs no schedule: make it with run_at, " +
		"at POST /v1/jobs/NAME/runs",
}

func TestASchedulesFaultsAreToldWithWhatWouldBeRight(t *testing.T) {
	for members, want := range scheduleFaults {
		_, err := ParseSchedule([]byte(`{"job":"a",` + members + `}`))
		if got := errText(err); got != strings.TrimPrefix(want, "@: ") {
			t.Errorf("%s:\n got %s\nwant %s", members, got, want)
		}
	}
	for text, want := range map[string]string{
		`{"every":"1s"}`:                               "job: is missing: want the name of the job whose runs it makes",
		`{"every":"1s","job":"A"}`:                     "job: " + errName.Error(),
		`{"every":"1s","job":"a","name":"B"}`:          "name: " + errName.Error(),
		`{"every":"1s","job":"a","name":"a:b"}`:        "name: " + checkScheduleName("a:b").Error(),
		`{"every":"1s","job":"a","name":"_"} trailing`: "not JSON: line 1, column 37: want nothing after the value",
		`{"nam":"x","overlap":5,"spread":"2d"}`: `nam: unknown field: did you mean "name"?; overlap: want a string, got a number: ` +
			"put it in double quotes; job: is missing: want the name of the job whose runs it makes; spread: is 2d: want a duration from 0s to 24h",
	} {
		_, err := ParseSchedule([]byte(text))
		if got := errText(err); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

// What a line, a zone and their ticks are is told elsewhere: here it is that they are asked.
func TestTheLineTheZoneAndTheTicksOfAScheduleAreChecked(t *testing.T) {
	for members, want := range map[string]string{
		`"cron":"0 2 * *"`:                                     "cron: ",
		`"cron":"0 0 31 2 *"`:                                  "cron: ",
		`"cron":"61 * * * *","timezone":"Mars"`:                "cron: , timezone: ",
		`"cron":"@daily","timezone":"Europe/Berln"`:            "timezone: ",
		`"cron":"0 0 0 29 2 *","start":"2026-01-01T00:00:00Z"`: "",
		`"cron":"0 0 29 2 *","start":"2026-01-01T00:00:00Z","end":"2027-01-01T00:00:00Z"`:  "cron: ",
		`"every":"1d","start":"2026-01-01T00:00:00.500Z","end":"2026-01-01T00:00:00.700Z"`: "every: ",
		`"cron":"@reboot","timezone":"UTC"`:                                                "",
	} {
		_, err := ParseSchedule([]byte(`{"job":"a",` + members + `}`))
		var got []string
		for _, f := range faultsOf(err) {
			got = append(got, f.Location+": ")
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: %v", members, err)
		}
	}
}

func TestTheFaultsOfAJobsSchedulesAreToldThere(t *testing.T) {
	for members, want := range scheduleFaults {
		_, err := ParseJob([]byte(`{"script":{"source":"x"},"schedules":[{"every":"1s"},{"name":"b",` + members + `}]}`))
		switch {
		case want == "":
		case strings.HasPrefix(want, "@: "):
			want = "schedules[1]" + want[1:]
		default:
			want = "schedules[1]." + want
		}
		if got := errText(err); got != want {
			t.Errorf("%s:\n got %s\nwant %s", members, got, want)
		}
	}
}

func TestSchedulesOfAJobHaveNamesOfTheirOwn(t *testing.T) {
	many := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"name":"s%d","every":"1h"}`, i))
		}
		return strings.Join(list, ",")
	}
	for list, want := range map[string]string{
		`{"every":"1s"}`: "",
		`{"every":"1s"},{"every":"2s","name":"b"}`:       "",
		`{"every":"1s","paused":true,"next":"x"}`:        "",
		`{"every":"1s"},{"every":"2s"}`:                  "schedules[1]: want a name: without one it is called default, as schedules[0] is",
		`{"every":"1s"},{"every":"2s","name":"default"}`: "schedules[1].name: another schedule of the job, schedules[0], is called default",
		`{"name":"a","every":"1s"},{"every":"2s"},{"every":"2s","name":"a"}`: "schedules[2].name: another schedule of the job, " +
			"schedules[0], is called a",
		`{"name":"A","every":"1s"}`:   "schedules[0].name: " + errName.Error(),
		`{"name":"j:a","every":"1s"}`: "schedules[0].name: " + checkScheduleName("j:a").Error(),
		`{"job":"j","every":"1s"}`: "schedules[0].job: want none here: it makes runs of the job that it stands in. A schedule with a job " +
			"stands by itself: below schedules of a file, or at /v1/schedules/NAME",
		`"@daily"`:                  `schedules[0]: want an object such as {"cron": "0 2 * * *", "timezone": "Europe/Berlin"}, got a string`,
		many(MaxSchedulesOfJob):     "",
		many(MaxSchedulesOfJob + 1): "schedules: want at most 100 of them, got 101: others may stand by themselves",
	} {
		_, err := ParseJob([]byte(`{"name":"j","script":{"source":"x"},"schedules":[` + list + `]}`))
		if got := errText(err); got != want {
			t.Errorf("%.200s:\n got %s\nwant %s", list, got, want)
		}
	}
}

func TestAJobsDocumentHoldsItsSchedules(t *testing.T) {
	text := `{"name":"j","script":{"source":"x"},"schedules":[{"cron":"@daily","payload":{ "a": 1.0 }},` +
		`{"name":"b","every":"15m","catch_up":{"mode":"none"}}]}`
	j, err := ParseJob([]byte(strings.Replace(text, `"cron"`, `"timezone":null,"cron"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(j.Document()); got != text {
		t.Errorf("got %s", got)
	}
	kept, err := ParseDocument(j.Document())
	if err != nil || string(kept.Document()) != text {
		t.Errorf("kept it is %s, %v", kept.Document(), err)
	}
	plain := *j
	plain.Schedules = nil
	if !SameSpec(j.Spec(), plain.Spec()) {
		t.Error("schedules must make no new version")
	}
}

func TestALargePayloadOfAScheduleIsRefusedByItsSize(t *testing.T) {
	payload := `"payload":"` + strings.Repeat("x", MaxPayload) + `"`
	for text, at := range map[string]string{
		`{"job":"a","every":"1s",` + payload + `}`: "payload",
	} {
		_, err := ParseSchedule([]byte(text))
		var large *TooLargeError
		if !errors.As(err, &large) || *large != (TooLargeError{at, MaxPayload + 2, MaxPayload}) {
			t.Errorf("got %v", err)
		}
	}
	_, err := ParseJob([]byte(`{"script":{"source":"x"},"schedules":[{"every":"1s"},{"name":"b","every":"1s",` + payload + `}]}`))
	var large *TooLargeError
	if !errors.As(err, &large) || large.Location != "schedules[1].payload" {
		t.Errorf("got %v", err)
	}
}

// A hint must not send anybody to a field that does not exist, nor stand for one that does.
func TestHintsOfSchedulesNameFieldsThatExist(t *testing.T) {
	for _, hints := range []map[string]string{scheduleHints, catchUpHints} {
		for word, hint := range hints {
			if word != plainWord(word) {
				t.Errorf("%s would never be looked up", word)
			}
			if _, rest, ok := strings.Cut(hint, `want "`); ok {
				name, _, _ := strings.Cut(rest, `"`)
				members := []string{
					"name", "job", "cron", "every", "timezone", "payload", "catch_up", "overlap", "spread", "start", "end", "late_after",
					"mode", "window", "limit",
				}
				if !slices.Contains(members, name) {
					t.Errorf("%s: there is no %s", word, name)
				}
			}
			if slices.Contains(ScheduleState, word) {
				t.Errorf("%s is state", word)
			}
		}
	}
}
