package jobs

import (
	"errors"
	"strings"
	"testing"
)

// happened is an event of a failed run.
func happened(data string) *AlertEvent {
	return &AlertEvent{ID: 7, At: 1000, Type: EventRunFailed, Subject: "run/x", Job: "sync", Data: Raw(data)}
}

func TestAlertKnowsTypeSubjectAndTheMembersOfData(t *testing.T) {
	data := `{"job":"sync","labels":{"team":"data"},"error":{"kind":"timeout","type":"timeout","message":"not done"},` +
		`"attempts":3,"count":2,"in_a_row":4,"schedule":null,"test":false}`
	for _, c := range []struct {
		cond string
		want bool
	}{
		{``, true},
		{`type == "run.failed" && subject startsWith "run/"`, true},
		{`labels.team == "data"`, true},
		{`labels.team == "web"`, false},
		{`error.kind in ["timeout", "dns"] && attempts >= 3`, true},
		{`count > 1 && in_a_row == 4 && job startsWith "sy"`, true},
		{`schedule == nil && name == nil && reason == nil && missing == nil && url == nil`, true},
		{`name.of.nothing == nil`, true},
		{`test`, false},
		{`labels.nobody`, false},
	} {
		p, err := CompileAlert(&Alert{Name: "a", If: c.cond})
		if err != nil {
			t.Fatalf("%s: %v", c.cond, err)
		}
		if got, note := p.Holds(happened(data)); got != c.want || note != "" {
			t.Errorf("%s: %v %q, want %v", c.cond, got, note, c.want)
		}
	}
}

func TestAlertWithAMistakeIsRefusedWithItsPlace(t *testing.T) {
	_, err := CompileAlert(&Alert{Name: "a", If: "labels.team ==\n  nam", Key: "lables.customer"})
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Faults) != 2 {
		t.Fatal(err)
	}
	for i, want := range []string{
		"line 2, column 3: unknown name nam; known here: ", "line 1, column 1: unknown name lables; known here: ",
	} {
		f := invalid.Faults[i]
		if at := []string{"if", "key"}[i]; f.Location != at || !strings.HasPrefix(f.Message, want) ||
			!strings.Contains(f.Message, "labels") || !strings.Contains(f.Message, "fingerprint") {
			t.Errorf("%s: %s", f.Location, f.Message)
		}
	}
	for cond, want := range map[string]string{
		`data.labels.team == "x"`: "the members of data stand by themselves",
		`http.status == 500`:      "an alert sees error.kind",
		`duration("90s")`:         "want true or false",
	} {
		if _, err := CompileAlert(&Alert{If: cond}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", cond, err, want)
		}
	}
}

func TestAlertIfThatFailsCountsAsTrueAndSaysSo(t *testing.T) {
	for _, cond := range []string{`attempts / labels == 1`, `attempts`} {
		p, err := CompileAlert(&Alert{Name: "night", If: cond})
		if err != nil {
			t.Fatal(err)
		}
		ok, note := p.Holds(happened(`{"job":"sync","attempts":1,"labels":{}}`))
		if !ok || !strings.Contains(note, "the if of the alert night failed and counts as true") {
			t.Errorf("%s: %v %q", cond, ok, note)
		}
	}
}

func TestAlertCountsByItsKey(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{``, ""},
		{`labels.customer`, "a=acme"},
		{`labels.nobody`, "a"},
		{`attempts / job`, "a"},
		{`attempts`, "a=1"},
		{`labels`, `a={"customer":"acme"}`},
	} {
		p, err := CompileAlert(&Alert{Name: "a", Key: c.key})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Counts(happened(`{"job":"sync","attempts":1,"labels":{"customer":"acme"}}`)); got != c.want {
			t.Errorf("%s: %q, want %q", c.key, got, c.want)
		}
	}
}
