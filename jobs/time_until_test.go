package jobs

import "testing"

func TestAnOpenUntilIsNotOneThatIsLeftOut(t *testing.T) {
	type answer struct {
		Until Until `json:"until,omitzero"`
	}
	for text, want := range map[string]Until{
		`{}`:                                   {},
		`{"until":null}`:                       UntilOf(0),
		`{"until":"2026-11-30T02:00:00.000Z"}`: UntilOf(1_796_004_000_000),
	} {
		var got answer
		if err := DecodeJSON([]byte(text), &got); err != nil {
			t.Fatal(text, err)
		}
		if got.Until.Told() != want.Told() || got.Until.At() != want.At() {
			t.Errorf("%s is read as %v, want %v", text, got.Until, want)
		}
		if again := string(AppendJSON(nil, &got)); again != text {
			t.Errorf("%s is written as %s", text, again)
		}
	}
}
