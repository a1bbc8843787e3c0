package jobs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiffTellsWhatChangedAndWhere(t *testing.T) {
	tests := []struct {
		before, after string
		want          []Change
	}{
		{`{"a":1}`, `{"a":1}`, nil},
		{`{"a":1}`, `{"a":2}`, []Change{{"a", Raw("1"), Raw("2")}}},
		{`{"a":1,"b":2}`, `{"b":2,"c":3}`, []Change{{"c", nil, Raw("3")}, {"a", Raw("1"), nil}}},
		{
			`{"retry":{"rules":[{"if":"a"},{"if":"b"}]}}`,
			`{"retry":{"rules":[{"if":"a"},{"if":"c"},{"if":"d"}]}}`,
			[]Change{
				{"retry.rules[1].if", Raw(`"b"`), Raw(`"c"`)},
				{"retry.rules[2]", nil, Raw(`{"if":"d"}`)},
			},
		},
		{`{"l":[1,2,3]}`, `{"l":[1]}`, []Change{{"l[1]", Raw("2"), nil}, {"l[2]", Raw("3"), nil}}},
		{`{"p":{"x y":1}}`, `{"p":{"x y":[1]}}`, []Change{{`p["x y"]`, Raw("1"), Raw("[1]")}}},
		{`{"p":{"a":1.0}}`, `{"p":{"a":1}}`, []Change{{"p.a", Raw("1.0"), Raw("1")}}},
		// The same value, in another text.
		{`{"p":{"a":1,"b":2}}`, `{"p":{"b":2,"a":1}}`, []Change{{"p", Raw(`{"a":1,"b":2}`), Raw(`{"b":2,"a":1}`)}}},
		{`{"p":{"a":[1, 2]}}`, `{"p":{"a":[1,2]}}`, []Change{{"p.a", Raw("[1, 2]"), Raw("[1,2]")}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Diff([]byte(tt.before), []byte(tt.after))); diff != "" {
			t.Errorf("%s → %s: %s", tt.before, tt.after, diff)
		}
	}
}
