package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// sample has a field of every sort that can be read.
type sample struct {
	Text     string            `json:"text"`
	Flag     bool              `json:"flag"`
	Count    int               `json:"count"`
	Small    int8              `json:"small"`
	Big      int64             `json:"big"`
	Ratio    float64           `json:"ratio"`
	Pointer  *int              `json:"pointer"`
	List     []string          `json:"list"`
	Things   []inner           `json:"things"`
	Labels   map[string]string `json:"labels"`
	Raws     map[string]Raw    `json:"raws"`
	Payload  Raw               `json:"payload"`
	At       Time              `json:"at"`
	Wait     Duration          `json:"wait"`
	MaybeFor *Duration         `json:"maybe_for"`
	Run      ID                `json:"run"`
	Next     *sample           `json:"next"`
	Hidden   string            `json:"-"`
	embedded
}

type inner struct {
	If          string `json:"if"`
	MaxAttempts *int   `json:"max_attempts"`
}

type embedded struct {
	Deep string `json:"deep"`
	Text string `json:"text"` // hidden by the outer one
}

func TestDecodeJSONReadsEverySortOfField(t *testing.T) {
	text := ` {
	"text": "a\u00e9\ud83d\ude00\n\/", "flag": true, "count": -12, "small": 127,
		"big": 9223372036854775807,
	"ratio": 1.5e3, "pointer": 7, "list": ["x", ""], "things": [{"if": "true", "max_attempts": 3},
		{}],
	"labels": {"a": "1", "b": null, "\u0063": "3"}, "raws": {"x": null, "y": [1.10]},
	"payload": {"b" : 1.10, "a":[ 1e400, -0, "\ud800" ] }, "at": "2026-11-29T03:00:00.1239+01:00",
	"wait": "1h30m", "maybe_for": "7d", "run": "0192e4a7-5b3c-7d1e-8f00-0123456789ab",
	"next": {"text": "inside", "next": null}, "deep": "down"
	} `
	var got sample
	if err := DecodeJSON([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	id, _ := ParseID("0192e4a7-5b3c-7d1e-8f00-0123456789ab")
	at, _ := ParseTime("2026-11-29T02:00:00.123Z")
	want := sample{
		Text: "aé😀\n/", Flag: true, Count: -12, Small: 127, Big: math.MaxInt64, Ratio: 1500,
		Pointer: new(7), List: []string{"x", ""},
		Things:  []inner{{If: "true", MaxAttempts: new(3)}, {}},
		Labels:  map[string]string{"a": "1", "c": "3"},
		Raws:    map[string]Raw{"x": Raw("null"), "y": Raw("[1.10]")},
		Payload: Raw(`{"b" : 1.10, "a":[ 1e400, -0, "\ud800" ] }`), At: at,
		Wait: Duration(90 * 60e9), MaybeFor: new(Duration(7 * 24 * 3600e9)), Run: id,
		Next: &sample{Text: "inside"}, embedded: embedded{Deep: "down"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeJSONTreatsNullAsLeftOutButInRaw(t *testing.T) {
	got := sample{Text: "kept", Count: 5, Labels: map[string]string{"a": "b"}}
	text := `{"text":null,"count":null,"labels":null,"pointer":null,"list":null,"at":null,` +
		`"wait":null,"run":null,"next":null,"payload":null}`
	if err := DecodeJSON([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := sample{
		Text: "kept", Count: 5, Labels: map[string]string{"a": "b"}, Payload: Raw("null"),
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeJSONTellsPlaceAndWhatWouldBeRight(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	tests := []struct {
		text string
		want []string
	}{
		{`[]`, []string{": want an object, got a list"}},
		{`null`, []string{": want an object, got null"}},
		{`5`, []string{": want an object, got a number"}},
		{`{"text":5}`, []string{"text: want a string, got a number: put it in double quotes"}},
		{`{"text":true}`, []string{"text: want a string, got true or false: put it in double " +
			"quotes"}},
		{`{"text":{}}`, []string{"text: want a string, got an object"}},
		{`{"text":"\ud800"}`, []string{"text: want characters, got half of a surrogate pair"}},
		{`{"text":"\udc00\ud800"}`, []string{"text: want characters, got half of a surrogate " +
			"pair"}},
		{`{"labels":{"\ud800":"x"}}`, []string{
			`labels["\xed\xa0\x80"]: want characters in the key, got half of a surrogate pair`,
		}},
		{`{"flag":"true"}`, []string{"flag: want true or false, got a string"}},
		{`{"count":"1"}`, []string{"count: want a whole number, got a string: leave the quotes out"}},
		{`{"count":1.5}`, []string{"count: want a whole number, got a fraction"}},
		{`{"count":1e-400}`, []string{"count: want a whole number, got a fraction"}},
		{`{"small":128}`, []string{"small: want a whole number from -128 to 127"}},
		{`{"big":9223372036854775808}`, []string{
			"big: want a whole number from -9223372036854775808 to 9223372036854775807",
		}},
		{`{"ratio":1e400}`, []string{"ratio: want a number that a 64-bit float can hold"}},
		{`{"ratio":"1"}`, []string{"ratio: want a number, got a string: leave the quotes out"}},
		{`{"list":["a",null,3]}`, []string{
			"list[1]: want a string, got null",
			"list[2]: want a string, got a number: put it in double quotes",
		}},
		{`{"labels":["a"]}`, []string{"labels: want an object, got a list"}},
		{`{"labels":{"a b":1}}`, []string{
			`labels["a b"]: want a string, got a number: put it in double quotes`,
		}},
		{`{"things":[{},{"if":1,"max_attempts":"x"}]}`, []string{
			"things[1].if: want a string, got a number: put it in double quotes",
			"things[1].max_attempts: want a whole number, got a string",
		}},
		{`{"at":5}`, []string{"at: want a time such as 2026-11-29T02:00:00Z, got a number"}},
		{`{"at":"yesterday"}`, []string{
			`at: "yesterday" is not a time: want RFC 3339, such as 2026-11-29T02:00:00Z`,
		}},
		{`{"wait":90}`, []string{
			`wait: want a duration such as "250ms", "90s", "1h30m" or "7d", got a number`,
		}},
		{`{"wait":"soon"}`, []string{
			`wait: "soon" is not a duration: want a duration such as "250ms", "90s", "1h30m" or ` +
				`"7d"`,
		}},
		{`{"run":"x"}`, []string{"run: " + errBadID.Error()}},
		{`{"text":"a","text":"b"}`, []string{"text: this key stands twice in the same object"}},
		{`{"text":"a","te\u0078t":"b"}`, []string{"text: this key stands twice in the same " +
			"object"}},
		{`{"payload":{"a":[0,{"b":1,"c":2,"b":3}]}}`, []string{
			"payload.a[1].b: this key stands twice in the same object",
		}},
		{`{"labels":{"x":"1","x":null}}`, []string{"labels.x: this key stands twice in the same " +
			"object"}},
		{`{"payload":` + deep + `}`, []string{
			"payload" + strings.Repeat("[0]", MaxDepth) +
				": nested too deep: want at most 64 levels",
		}},
		{`{"TEXT":"x"}`, []string{`TEXT: unknown field: want "text"`}},
		{`{"maybeFor":"1s"}`, []string{`maybeFor: unknown field: want "maybe_for"`}},
		{`{"lables":{}}`, []string{`lables: unknown field: did you mean "labels"?`}},
		{`{"Hidden":"x"}`, []string{"Hidden: unknown field"}},
		{`{"things":[{"when":1}]}`, []string{
			"things[0].when: unknown field: known here are if, max_attempts",
		}},
		{`{"zzz":1,"count":"x","yyy":{"a":1,"a":2},"flag":0}`, []string{
			"zzz: unknown field", "count: want a whole number, got a string", "yyy: unknown field",
			"yyy.a: this key stands twice in the same object",
			"flag: want true or false, got a number",
		}},
	}
	for _, tt := range tests {
		var got []string
		var invalid *InvalidError
		if err := DecodeJSON([]byte(tt.text), new(sample)); !errors.As(err, &invalid) {
			t.Errorf("%.80s: got %v, want an InvalidError", tt.text, err)
			continue
		}
		for _, f := range invalid.Faults {
			got = append(got, f.Location+": "+f.Message)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%.80s: %s", tt.text, diff)
		}
	}
}

func TestDecodeJSONRefusesWhatIsNotJSON(t *testing.T) {
	tests := []struct {
		text         string
		line, column int
		msg          string
	}{
		{"", 1, 1, "want a value, got nothing"},
		{" \n ", 2, 2, "want a value, got nothing"},
		{"\xef\xbb\xbf{}", 1, 1, "want no byte order mark"},
		{"{\"text\":\n \"é\xff\"}", 2, 4, "want UTF-8"},
		{"{\"payload\":\"\xed\xa0\x80\"}", 1, 13, "want UTF-8"},
		{"\xfe\xff\x00{\x00}", 1, 1, "want UTF-8"},
		{"{\x00}", 1, 2, "want a key in double quotes"},
		{"{} {}", 1, 4, "want nothing after the value"},
		{"{}x", 1, 3, "want nothing after the value"},
		{`{"text":"é", }`, 1, 14, "want a key in double quotes"},
		{`{"text" "x"}`, 1, 9, "want : after the key"},
		{`{"text":"x" "flag":true}`, 1, 13, "want , or } after a member of an object"},
		{`{text:1}`, 1, 2, "want a key in double quotes"},
		{`{'text':1}`, 1, 2, "want a key in double quotes"},
		{`{"list":["a",]}`, 1, 14, "want another item after the comma"},
		{`{"list":["a" "b"]}`, 1, 14, "want , or ] after an item of a list"},
		{`{"list":[,"b"]}`, 1, 10, valueWanted},
		{`{"text":"x`, 1, 11, `want " at the end of a string`},
		{`{"text":`, 1, 9, "want a value, got the end"},
		{`{"payload":[`, 1, 13, "want a value, got the end"},
		{"{\"text\":\"a\nb\"}", 1, 11, `want control characters in a string as \uXXXX`},
		{`{"text":"\x41"}`, 1, 10, `want one of \" \\ \/ \b \f \n \r \t \uXXXX`},
		{`{"text":"\u12g4"}`, 1, 10, `want one of \" \\ \/ \b \f \n \r \t \uXXXX`},
		{`{"ratio":NaN}`, 1, 10, valueWanted},
		{`{"payload":-Infinity}`, 1, 13, "want a digit"},
		{`{"ratio":01}`, 1, 10, "want a number without a leading 0"},
		{`{"ratio":.5}`, 1, 10, valueWanted},
		{`{"ratio":1.}`, 1, 12, "want a digit after the point"},
		{`{"ratio":+1}`, 1, 10, valueWanted},
		{`{"ratio":1e}`, 1, 12, "want a digit in the exponent"},
		{`{"ratio":0x10}`, 1, 11, "want , or } after a member of an object"},
		{`{"flag":tru}`, 1, 9, valueWanted},
		{`{"text":nul}`, 1, 9, valueWanted},
		{`// {}`, 1, 1, valueWanted},
		// Where it is no JSON, faults before that do not count.
		{`{"zzz":1,"text":5,`, 1, 19, "want a key in double quotes"},
	}
	for _, tt := range tests {
		err := DecodeJSON([]byte(tt.text), new(sample))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: got %v, want a SyntaxError", tt.text, err)
			continue
		}
		if syntax.Line != tt.line || syntax.Column != tt.column || syntax.Msg != tt.msg {
			t.Errorf("%q: got %v, want line %d, column %d: %s", tt.text, err, tt.line, tt.column,
				tt.msg)
		}
		if json.Valid([]byte(tt.text)) && utf8.ValidString(tt.text) {
			t.Errorf("%q: refused, though encoding/json takes it", tt.text)
		}
	}
}

func TestDecodeJSONTakesWholeNumbersInAnyForm(t *testing.T) {
	tests := map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "0e5": "0", "0e999999999999999999999": "0", "1.0": "1",
		"1e3": "1000", "-1.50e1": "-15", "120e-1": "12", "1e18": "1000000000000000000",
		"9223372036854775807.000":  "9223372036854775807",
		"-9.223372036854775808e18": "-9223372036854775808",
		"1e19":                     "range", "9.223372036854775808e18": "range", "1e99999999999999999999": "range",
		"10000000000000000000000": "range", "1e-1": "fraction",
		"1e-99999999999999999999": "fraction",
		"9007199254740992.5":      "fraction", "1.00000000000000000000001": "fraction",
	}
	for text, want := range tests {
		var n int64
		err := DecodeJSON([]byte(text), &n)
		got := strconv.FormatInt(n, 10)
		if err != nil && strings.Contains(err.Error(), "fraction") {
			got = "fraction"
		} else if err != nil {
			got = "range"
		}
		if got != want {
			t.Errorf("%s: got %s (%v), want %s", text, got, err, want)
		}
	}
}

// Reliability A4: the depth of a text may not cost the stack.
func TestDecodeJSONSurvivesAMillionLevels(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		text := []byte(strings.Repeat(open, 1_000_000))
		var invalid *InvalidError
		if err := ValidJSON(text); !errors.As(err, &invalid) {
			t.Errorf("%s: got %v, want an InvalidError", open, err)
		}
		if err := DecodeJSON([]byte(`{"payload":`+string(text)), new(sample)); !errors.As(err,
			&invalid) {
			t.Errorf("%s: got %v, want an InvalidError", open, err)
		}
	}
}

func TestDepthOfAPayloadCountsFromItself(t *testing.T) {
	payload := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	var got struct {
		Runs []struct {
			Payload Raw `json:"payload"`
		} `json:"runs"`
	}
	if err := DecodeJSON([]byte(`{"runs":[{"payload":`+payload+`}]}`), &got); err != nil {
		t.Fatal(err)
	}
	if string(got.Runs[0].Payload) != payload {
		t.Errorf("got %s", got.Runs[0].Payload)
	}
	if err := ValidJSON([]byte(payload)); err != nil {
		t.Error(err)
	}
}

func TestDuplicateKeysAreFoundAmongMany(t *testing.T) {
	for _, n := range []int{2, fewKeys - 1, fewKeys, fewKeys + 1, 33, 1000, 100_000} {
		var b strings.Builder
		b.WriteString("{")
		for i := range n {
			// Objects within, so that tables are stacked.
			fmt.Fprintf(&b, `"k%d":{"x":1,"y":2},`, i)
		}
		many := b.String()
		if err := ValidJSON([]byte(many + `"last":0}`)); err != nil {
			t.Fatalf("%d keys: %v", n, err)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			key := fmt.Sprintf(`"\u006b%d"`, i)
			err := ValidJSON([]byte(many + key + `:0}`))
			want := fmt.Sprintf("k%d: this key stands twice in the same object", i)
			if err == nil || err.Error() != want {
				t.Errorf("%d keys, %s again: got %v, want %s", n, key, err, want)
			}
		}
	}
}

func TestDuplicateKeysOfInnerObjectsWithManyKeysAreFound(t *testing.T) {
	var big, text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&big, `"i%d":%d,`, i, i)
	}
	text.WriteString("{")
	for i := range 40 {
		fmt.Fprintf(&text, `"o%d":{%s"z":0},`, i, big.String())
	}
	if err := ValidJSON([]byte(text.String() + `"z":0}`)); err != nil {
		t.Fatal(err)
	}
	err := ValidJSON([]byte(text.String() + `"z":{` + big.String() + `"i3":0},"o5":0}`))
	want := "z.i3: this key stands twice in the same object; o5: this key stands twice in the " +
		"same object"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFaultsAreListedUpToABound(t *testing.T) {
	text := []byte("[" + strings.Repeat(`{"x":1},`, MaxFaults+5) + "{}]")
	var invalid *InvalidError
	if err := DecodeJSON(text, new([]inner)); !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	last := invalid.Faults[len(invalid.Faults)-1]
	if len(invalid.Faults) != MaxFaults+1 || last.Message != "and 5 more faults" {
		t.Errorf("got %d, the last %v", len(invalid.Faults), last)
	}
}

func TestListsAreReadUpToTheirBound(t *testing.T) {
	var got struct {
		Runs []inner  `json:"runs" max:"2"`
		Tags []string `json:"tags"`
	}
	if err := DecodeJSON([]byte(`{"runs":[{},{"if":"a"}],"tags":["a","b","c"]}`), &got); err != nil {
		t.Fatal(err)
	}
	err := DecodeJSON([]byte(`{"runs":[{},{},{"zzz":1},5],"tags":[1]}`), &got)
	want := "runs[2]: want at most 2 of them; " +
		"tags[0]: want a string, got a number: put it in double quotes"
	if err == nil || err.Error() != want || len(got.Runs) != 2 {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestMessagesDoNotQuoteValues(t *testing.T) {
	secret := "hunter2-hunter2-hunter2-hunter2-hunter2-hunter2"
	for _, text := range []string{
		`{"count":"` + secret + `"}`, `{"list":"` + secret + `"}`, `{"labels":{"a":["` + secret +
			`"]}}`,
		`{"zzz":"` + secret + `"}`, `{"text":"` + secret, `{"run":"` + secret + `"}`,
		`{"payload":"` + secret + `" x}`, `{"text":` + secret + `}`,
	} {
		if err := DecodeJSON([]byte(text),
			new(sample)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", text, err)
		}
	}
	for _, text := range []string{`{"wait":"` + secret + `"}`, `{"at":"` + secret + `"}`, `{"` +
		secret + `":1}`} {
		if err := DecodeJSON([]byte(text),
			new(sample)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v, want it clipped", text, err)
		}
	}
}

func TestRawIsACopy(t *testing.T) {
	data := []byte(`{"payload":{"a":1}}`)
	var got sample
	if err := DecodeJSON(data, &got); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if string(got.Payload) != `{"a":1}` {
		t.Errorf("got %q", got.Payload)
	}
}

func TestDecodeLenientPassesUnknownFieldsOver(t *testing.T) {
	var got inner
	if err := DecodeLenient([]byte(`{"new":{"x":[]},"if":"a"}`),
		&got); err != nil || got.If != "a" {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := DecodeLenient([]byte(`{"if":1}`), &got); err == nil {
		t.Error("a wrong type was taken")
	}
}

func TestEditDistanceCountsChanges(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"", "ab", 2},
		{"queue", "queue", 0},
		{"queue", "qeuue", 1},
		{"retry", "retries", 3},
	} {
		if got := editDistance(tt.a, tt.b); got != tt.want {
			t.Errorf("%s, %s: got %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// The text that is valid UTF-8, without duplicate keys, of moderate depth and without a lone
// surrogate is JSON to both or to neither, and then it means the same.
func FuzzDecodeJSONAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a","count":1,"list":["x"],"payload":{"a":[1,2.5e3,null]}}`, `[`,
		`{"a":{"a":1,"a":2}}`,
		`"\ud800"`, `{"at":"2026-11-29T02:00:00Z","wait":"1s"}`, `-0`, `1e400`, ` {} x`, "\xff",
		`{"":""}`,
		`{"labels":{"a":null},"raws":{"x":null}}`, `[[[[1]]]]`, `{"text":"\u0000\ud83d\ude00"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got sample
		err := DecodeJSON(data, &got)
		var syntax *SyntaxError
		isJSON := !errors.As(err, &syntax)
		if want := json.Valid(data) && utf8.Valid(data); isJSON != want {
			var invalid *InvalidError
			if errors.As(err, &invalid) && strings.Contains(err.Error(), "too deep") {
				return // what comes after that is not read
			}
			t.Fatalf("%q: got %v, encoding/json %v", data, err, want)
		}
		if err != nil {
			return
		}
		var want map[string]any
		if json.Unmarshal(data, &want) != nil {
			t.Fatalf("%q: taken, though it is no object", data)
		}
		if text, ok := want["text"].(string); ok && text != got.Text {
			t.Errorf("%q: text is %q, want %q", data, got.Text, text)
		}
		if got.Payload != nil && !json.Valid(got.Payload) {
			t.Errorf("%q: payload is %q", data, got.Payload)
		}
		var again sample
		if err := DecodeJSON(AppendJSON(nil, &got), &again); err != nil {
			t.Fatalf("%q: written as %s: %v", data, AppendJSON(nil, &got), err)
		}
		if !reflect.DeepEqual(normal(got), normal(again)) {
			t.Errorf("%q: read %+v, read again %+v", data, got, again)
		}
	})
}

// normal drops what writing does not keep: a payload left out is null afterwards.
func normal(s sample) sample {
	if s.Payload == nil {
		s.Payload = Raw("null")
	}
	if s.Next != nil {
		s.Next = new(normal(*s.Next))
	}
	return s
}
