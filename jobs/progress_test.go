package jobs

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestProgressIsReadAndBounded(t *testing.T) {
	long := strings.Repeat("é", 500)
	for raw, want := range map[string]Progress{
		`{"done":40,"total":100}`:                  {Done: 40, Total: 100},
		`{"done":1e3,"total":0.5,"note":"so far"}`: {Done: 1000, Total: .5, Note: "so far"},
		`{"done":7}`:                          {Done: 7},
		`{}`:                                  {},
		`{"done":3,"total":null,"note":null}`: {Done: 3},
		`{"done":9,"total":3}`:                {Done: 9, Total: 3},
		`{"done":1,"note":"two\n lines\u001b[31m"}`:   {Done: 1, Note: "two lines"},
		`{"done":1,"note":"` + long[:2*200] + `"}`:    {Done: 1, Note: long[:2*200]},
		`{"done":1,"note":"` + long + `"}`:            {Done: 1, Note: long[:2*199] + "…"},
		`{"done":1,"note":"` + long[:2*200] + `x"}`:   {Done: 1, Note: long[:2*199] + "…"},
		`{"total":1,"done":0,"note":"\ud83d\ude00 "}`: {Total: 1, Note: "😀"},
	} {
		p, err := ParseProgress(Raw(raw), nil)
		if err != nil || p == nil || *p != want {
			t.Errorf("%.60s: %+v, %v: want %+v", raw, p, err, want)
		}
	}
	if p, err := ParseProgress(Raw(" null"), nil); p != nil || err != nil {
		t.Errorf("null: %+v, %v", p, err)
	}
}

func TestWrongProgressIsRefusedWhereItIsWrong(t *testing.T) {
	for raw, want := range map[string]string{
		`{"done":-1,"total":-0.5}`:   "done: want a number, 0 or more; total: want a number, 0 or more",
		`{"done":1e400}`:             "done: want a number that a 64-bit float can hold",
		`{"done":"40","total":"x"}`:  "done: want a number, got a string: leave the quotes out; total: want a number, got a string",
		`{"done":1,"of":2}`:          "of: unknown field: known here are done, total, note",
		`{"done":1,"note":["a"]}`:    "note: want a string, got a list",
		`{"done":1,"done":2}`:        "done: this key stands twice in the same object",
		`40`:                         `want an object such as {"done": 40, "total": 100}, got a number`,
		`"40/100"`:                   `want an object such as {"done": 40, "total": 100}, got a string`,
		`{"done":1,"note":"\ud83d"}`: "note: want characters, got half of a surrogate pair",
	} {
		_, err := ParseProgress(Raw(raw), nil)
		var wrong *InvalidError
		if !errors.As(err, &wrong) || err.Error() != want {
			t.Errorf("%s: %v: want %s", raw, err, want)
		}
	}
	for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if (&Progress{Done: n}).Bound() == nil || (&Progress{Total: n}).Bound() == nil {
			t.Errorf("%v is taken", n)
		}
	}
}

func TestNoteOfAProgressIsMaskedBeforeItIsCut(t *testing.T) {
	mask := NewMask([]string{"hunter2 hunter2", "12345678"})
	raw := `{"done":12345678,"note":"` + strings.Repeat("x", 190) + ` hunter2 hunter2"}`
	p, err := ParseProgress(Raw(raw), mask)
	if err != nil || p.Done != 12345678 || p.Note != strings.Repeat("x", 190)+" ***" {
		t.Errorf("%+v, %v", p, err)
	}
}
