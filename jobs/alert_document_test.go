package jobs

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatIsWrongWithAnAlertIsSaidWhereItStands(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{}`, "on: is missing: want a list of the events that are told, such as [run.failed, run.recovered]; " +
			"run: is missing: want the name of the job that tells people"},
		{`{"on":["run.faild"],"run":"x"}`, `on[0]: "run.faild" is no event: did you mean "run.failed"?`},
		{`{"on":["run_failed","recovered"],"run":"x"}`, `on[0]: "run_failed" is no event: did you mean "run.failed"?` + "; " +
			`on[1]: "recovered" is no event: did you mean "run.recovered"?`},
		{`{"on":["zebra"],"run":"x"}`, `on[0]: "zebra" is no event: want one of ` + strings.Join(EventTypes, ", ")},
		{`{"on":["run.failed","run.failed"],"run":"x"}`, "on[1]: run.failed stands there twice"},
		{
			`{"on":["run.recovered"],"run":"x"}`,
			"on[0]: run.recovered is told only where the failure was: want run.failed beside it",
		},
		{`{"on":["disk.low"],"run":"x","after":2,"key":"labels.x"}`, "after: counts failed runs in a row, and on does not have run.failed; " +
			"key: says which failed runs in a row are counted together, and on does not have run.failed"},
		{`{"on":["run.failed"],"run":"No"}`, "run: " + errName.Error()},
		{`{"on":["run.failed"],"run":"x","after":-1,"throttle":"8d"}`, "throttle: is 8d: want a duration from 0s to 7d; with 0s " +
			"each one is told, up to 10 a minute; after: is -1: want a whole number from 1 to 1000; left out: 1, the first failure is told"},
		{`{"on":["run.failed"],"run":"x","job":"a"}`, `job: unknown field: want "run", the job that tells; which jobs' failures are ` +
			`told says if: job == "NAME"`},
		{`{"on":["run.failed"],"run":"x","mail":{}}`, "mail: unknown field: an alert runs a job, which has it: name that job in run"},
		{`{"on":"run.failed","run":"x"}`, "on: want a list, got a string: put it in [ ]"},
	} {
		_, err := ParseAlert([]byte(tt.text))
		if got := errText(err); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestAnAlertIsKeptAsItsDocumentSaidIt(t *testing.T) {
	for _, text := range []string{
		`{"name":"failures","on":["run.failed","run.recovered"],"run":"alert-slack"}`,
		`{"name":"all","on":["run.failed"],"if":"labels.team == \"data\"","run":"tell","throttle":"10m","after":3,"key":"labels.x"}`,
		`{"name":"each","on":["run.failed"],"run":"tell","throttle":"0s"}`,
	} {
		a, err := ParseAlert([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := ParseAlertDocument("other", a.Document())
		if err != nil || again.Name != "other" {
			t.Fatalf("%s: %v", text, err)
		}
		again.Name = a.Name
		if string(again.Document()) != string(a.Document()) {
			t.Errorf("%s comes back as %s", text, again.Document())
		}
	}
}

func TestStateInTheDocumentOfAnAlertIsPassedOver(t *testing.T) {
	a, err := ParseAlert([]byte(`{"name":"a","on":["run.failed"],"run":"x","if":null,"throttle":null,"after":null,"key":null,
		"set":"other","created_at":"2026-01-01T00:00:00Z","updated_at":null,"revision":7,"last":{"x":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(a.Document()), `{"name":"a","on":["run.failed"],"run":"x"}`; got != want {
		t.Errorf("is %s, want %s", got, want)
	}
}

func TestFilesHoldAlertsAsAListOrAMap(t *testing.T) {
	const job = "jobs: {tell: {script: x}}\n"
	for _, text := range []string{
		job + "alerts:\n  failures: {on: [run.failed], run: tell}\n",
		job + "alerts:\n- name: failures\n  on: [run.failed]\n  run: tell\n",
	} {
		f, err := ParseFile("f", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if names := f.Names(RefAlert); !slices.Equal(names, []string{"failures"}) || f.Alerts[0].Run != "tell" {
			t.Errorf("%s: alerts are %v", text, names)
		}
	}
	_, err := ParseFile("f", []byte("alerts:\n  failures: {on: [run.failed, run.oops], run: tell}\n"))
	if got, want := errText(err), `f:2:31: alerts.failures.on[1]: "run.oops" is no event: want one of `; !strings.HasPrefix(got, want) {
		t.Errorf("is %s, want %s...", got, want)
	}
	_, err = ParseFile("f", []byte("alert: {}\njobs: []\n"))
	if got, want := errText(err), `f:1:1: alert: unknown field: did you mean "alerts"?`; got != want {
		t.Errorf("is %s, want %s", got, want)
	}
}
