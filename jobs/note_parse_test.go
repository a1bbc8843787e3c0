package jobs

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestALineSaysWhatItHolds(t *testing.T) {
	for text, want := range map[string]Note{
		`{}`:                                     {},
		` {"checkpoint": {"next": 1.0} } `:       {Checkpoint: Raw(`{"next": 1.0}`)},
		`{"checkpoint":null}`:                    {Checkpoint: Raw(`null`)},
		`{"progress":{"done":4,"total":10}}`:     {Progress: &Progress{Done: 4, Total: 10}},
		`{"progress":null,"error":null}`:         {},
		`{"result":[1e400]}`:                     {Said: Said{Result: Raw(`[1e400]`)}},
		`{"result":null}`:                        {Said: Said{Result: Raw(`null`)}},
		`{"error":{}}`:                           {Said: Said{Error: &SaidError{}}},
		`{"error":{"message":"a\nb","type":""}}`: {Said: Said{Error: &SaidError{Message: "a b"}}},
		`{"error":{"type":"E","stack":"x\ny","retryable":false,"retry_after":"90s"}}`: {Said: Said{Error: &SaidError{
			Type: "E", Stack: "x\ny", Retryable: new(false), RetryAfter: new(Duration(90 * time.Second)),
		}}},
		`{"error":{"retry_after":1.5,"retryable":null}}`: {Said: Said{Error: &SaidError{
			RetryAfter: new(Duration(1500 * time.Millisecond)),
		}}},
		`{"result":"` + strings.Repeat("x", MaxResult-1) + `"}`: {Said: Said{Truncated: true}},
	} {
		got, wrong := ParseNote([]byte(text), nil)
		if wrong != "" || !reflect.DeepEqual(*got, want) {
			t.Errorf("%.80s: %+v, wrong %q: want %+v", text, *got, wrong, want)
		}
	}
}

func TestWhatIsWrongWithALineIsToldAndTheRestIsTaken(t *testing.T) {
	message := func(text string) Note { return Note{Said: Said{Error: &SaidError{Message: text}}} }
	for text, want := range map[string]struct {
		note  Note
		wrong string
	}{
		`{"checkpoint":1`:          {Note{}, "not JSON: line 1, column 16: want , or } after a member of an object"},
		``:                         {Note{}, "not JSON: line 1, column 1: want a value, got nothing"},
		`[1]`:                      {Note{}, "want an object, got a list"},
		`{"progres":1,"result":2}`: {Note{Said: Said{Result: Raw("2")}}, `progres: unknown field: did you mean "progress"?`},
		`{"checkpoint":1,"checkpoint":2}`: {
			Note{}, "checkpoint: this key stands twice in the same object",
		},
		`{"checkpoint":7,"progress":0.4}`: {
			Note{Checkpoint: Raw("7")},
			`progress: want an object such as {"done": 40, "total": 100}, got a number`,
		},
		`{"checkpoint":7,"progress":{"done":-1,"total":"x"}}`: {
			Note{Checkpoint: Raw("7")}, "progress.total: want a number, got a string",
		},
		`{"checkpoint":"` + strings.Repeat("x", MaxCheckpoint) + `","result":1}`: {
			Note{Said: Said{Result: Raw("1")}}, "checkpoint: want at most 262144 bytes, got 262146",
		},
		`{"error":"boom"}`: {
			message("boom"), `error: want an object such as {"message": "no such user"}, got a string`,
		},
		`{"error":true}`: {
			message("the job reported an error that cannot be read: error: want an object, got true or false"),
			"error: want an object, got true or false",
		},
		`{"error":{"message":5}}`: {
			message("the job reported an error that cannot be read: error.message: want a string, got a number: put it in double quotes"),
			"error.message: want a string, got a number: put it in double quotes",
		},
		`{"error":{"message":"m","retry":1,"retry_after":"soon"}}`: {
			message("m"),
			`error.retry: unknown field: known here are type, message, stack, retryable, retry_after; ` +
				`error.retry_after: "soon" is not a duration: want a duration such as "250ms", "90s", "1h30m" or "7d"`,
		},
		`{"error":{"message":"m"},"retryable":false}`: {message("m"), "retryable: unknown field: known here are checkpoint, progress, result, error"},
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`: {
			Note{}, strings.TrimSuffix(strings.Repeat("X: unknown field: known here are checkpoint, progress, result, error; ", 5), "; "),
		},
	} {
		got, wrong := ParseNote([]byte(text), nil)
		for _, c := range "abcde" {
			want.wrong = strings.Replace(want.wrong, "X", string(c), 1)
		}
		if wrong != want.wrong || !reflect.DeepEqual(*got, want.note) {
			t.Errorf("%.80s: %+v, wrong %q\nwant %+v, %q", text, *got, wrong, want.note, want.wrong)
		}
	}
}

func TestSecretsOfALineAreMaskedBeforeItsTextsAreCut(t *testing.T) {
	const secret = "the-secret-of-the-line"
	mask := NewMask([]string{secret})
	long := strings.Repeat("x", MaxMessage-6) + secret
	n, wrong := ParseNote([]byte(`{"error":{"message":"`+long+`","type":"`+secret+`","stack":"at `+secret+`"},`+
		`"progress":{"note":"`+secret+`"},"`+secret+`":1,"checkpoint":"`+secret+`"}`), mask)
	if n.Error.Type != "***" || n.Error.Stack != "at ***" || n.Progress.Note != "***" ||
		n.Error.Message != strings.Repeat("x", MaxMessage-6)+"***" || strings.Contains(wrong, secret) {
		t.Errorf("error %+v, progress %+v, wrong %s", n.Error, n.Progress, wrong)
	}
	if string(n.Checkpoint) != `"`+secret+`"` {
		t.Errorf("the checkpoint is %s", n.Checkpoint)
	}
}

func TestAWaitIsSecondsOrADuration(t *testing.T) {
	for raw, want := range map[string]time.Duration{
		`0`: 0, `90`: 90 * time.Second, `0.25`: 250 * time.Millisecond, `"1h30m"`: 90 * time.Minute, `1e3`: 1000 * time.Second,
	} {
		got, err := ParseWait(Raw(raw))
		if err != nil || got == nil || got.Std() != want {
			t.Errorf("%s: %v, %v: want %s", raw, got, err, want)
		}
	}
	for _, raw := range []string{"", "null"} {
		if got, err := ParseWait(Raw(raw)); got != nil || err != nil {
			t.Errorf("%q: %v, %v", raw, got, err)
		}
	}
	for raw, want := range map[string]string{
		`-1`: "it is negative", `1e400`: "it is too long", `315619201`: "it is too long",
		`true`: "want seconds", `{}`: "want seconds", `"x"`: "is not a duration",
	} {
		if got, err := ParseWait(Raw(raw)); err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v: want %s", raw, got, err, want)
		}
	}
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	for limit, check := range map[int]func(Raw) error{MaxCheckpoint: CheckCheckpoint, MaxResult: CheckResult} {
		if err := check(make(Raw, limit)); err != nil {
			t.Error(err)
		}
		var large *TooLargeError
		if err := check(make(Raw, limit+1)); !errors.As(err, &large) || large.Limit != limit || large.Size != limit+1 {
			t.Errorf("%d bytes: %v", limit+1, err)
		}
	}
}

func FuzzParseNote(f *testing.F) {
	for _, seed := range []string{`{"checkpoint":1,"progress":{"done":1},"result":2,"error":{"message":"m"}}`, `{"error":[`, `"\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, wrong := ParseNote(text, nil)
		if strings.ContainsAny(wrong, "\r\n") || len(wrong) > MaxMessage {
			t.Errorf("%q: %q", text, wrong)
		}
		for _, raw := range []Raw{n.Checkpoint, n.Result} {
			if raw != nil && ValidJSON(raw) != nil {
				t.Errorf("%q: %q is not JSON", text, raw)
			}
		}
		if ValidJSON(text) != nil && wrong == "" {
			t.Errorf("%q is taken", text)
		}
	})
}
