package jobs

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// twin is encoded alike by encoding/json, but for its escaping of & < >.
type twin struct {
	Text   string             `json:"text"`
	Empty  string             `json:"empty,omitempty"`
	Flag   bool               `json:"flag,omitempty"`
	Int    int                `json:"int"`
	Small  int8               `json:"small,omitempty"`
	Uint   uint32             `json:"uint"`
	Float  float64            `json:"float"`
	Single float32            `json:"single,omitempty"`
	Ptr    *int               `json:"ptr,omitempty"`
	Nil    *twin              `json:"nil"`
	List   []string           `json:"list"`
	Short  []float64          `json:"short,omitempty"`
	Map    map[string]int     `json:"map"`
	Few    map[string]*string `json:"few,omitempty"`
	Texts  map[string]string  `json:"texts"`
	Any    any                `json:"any"`
	State  State              `json:"state"`
	Wait   *Duration          `json:"wait,omitempty"`
	At     Time               `json:"at"`
	Zero   Retain             `json:"zero,omitzero"`
	Bytes  []byte             `json:"bytes"`
	Run    ID                 `json:"run"`
	Std    time.Time          `json:"std"`
	Skip   string             `json:"-"`
	Plain  int
	inTwin
	hidden int
}

type inTwin struct {
	Inner int `json:"inner"`
	Int   int `json:"int"`
}

func drawTwin(t *rapid.T) twin {
	return twin{
		Text: rapid.OneOf(rapid.String(),
			rapid.StringOf(rapid.RuneFrom([]rune("\x00\n\t\b\f\"\\/é\u2028\u2029<>&\x7f😀")))).Draw(t, "text"),
		Empty: rapid.StringN(0, 2, -1).Draw(t, "empty"),
		Flag:  rapid.Bool().Draw(t, "flag"),
		Int:   rapid.Int().Draw(t, "int"),
		Small: rapid.Int8Range(-1, 1).Draw(t, "small"),
		Uint:  rapid.Uint32().Draw(t, "uint"),
		Float: rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
			0, 1e-7, 1e21, 1e20,
			-1e-6, math.MaxFloat64, 5e-324,
		})).Draw(t, "float"),
		Single: rapid.Float32().Draw(t, "single"),
		Ptr:    rapid.Ptr(rapid.Int(), true).Draw(t, "ptr"),
		List:   rapid.SliceOf(rapid.String()).Draw(t, "list"),
		Short:  rapid.SliceOfN(rapid.Float64(), 0, 2).Draw(t, "short"),
		Map:    rapid.MapOf(rapid.String(), rapid.Int()).Draw(t, "map"),
		Few:    rapid.MapOfN(rapid.String(), rapid.Ptr(rapid.String(), true), 0, 2).Draw(t, "few"),
		Texts:  rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "texts"),
		Any: rapid.SampledFrom([]any{
			nil, 1, "x", 2.5,
			[]any{true, nil},
			map[string]any{"b": 1, "a": State(2)},
			&inTwin{Inner: 3},
		}).Draw(t, "any"),
		State: State(rapid.IntRange(0, 9).Draw(t, "state")),
		Wait:  rapid.Ptr(rapid.Custom(drawDuration), true).Draw(t, "wait"),
		At:    rapid.Custom(drawTime).Draw(t, "at"),
		Zero:  Retain{Failed: rapid.Ptr(rapid.Custom(drawDuration), true).Draw(t, "zero")},
		Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"),
		Run: IDOf(rapid.Int64Range(0, 1<<60-1).Draw(t, "seq"), -1<<63|rapid.Int64Range(0,
			1<<62-1).Draw(t, "tail")),
		Std:    time.UnixMilli(rapid.Int64Range(0, 1<<41).Draw(t, "std")).UTC(),
		Skip:   "x",
		Plain:  rapid.Int().Draw(t, "plain"),
		inTwin: inTwin{Inner: rapid.Int().Draw(t, "inner"), Int: 7},
		hidden: 1,
	}
}

func drawDuration(t *rapid.T) Duration {
	return Duration(rapid.OneOf(
		rapid.Int64Range(0, int64(MaxDuration)),
		rapid.Map(rapid.Int64Range(0, 10_000),
			func(n int64) int64 { return n * int64(time.Second) }),
		rapid.Int64Range(0, int64(time.Minute)),
	).Draw(t, "duration"))
}

func drawTime(t *rapid.T) Time {
	return Time(rapid.Int64Range(365*24*3600*1000, 253402300799999).Draw(t, "time"))
}

func TestAppendJSONWritesWhatEncodingJSONWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawTwin(t)
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		wanted := string(bytes.TrimSuffix(want.Bytes(), []byte("\n")))
		if got := string(AppendJSON(nil, v)); got != wanted {
			t.Fatalf("got  %s\nwant %s", got, wanted)
		}
		if got := string(AppendJSON([]byte("x"), &v)); got != "x"+wanted {
			t.Fatalf("by pointer: got  %s\nwant %s", got, wanted)
		}
	})
}

func TestDecodeJSONReadsWhatAppendJSONWrote(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?`)
	rapid.Check(t, func(t *rapid.T) {
		v := sample{
			Text: rapid.String().Draw(t, "text"), Flag: rapid.Bool().Draw(t, "flag"),
			Count: rapid.Int().Draw(t, "count"), Small: rapid.Int8().Draw(t, "small"),
			Big: rapid.Int64().Draw(t, "big"), Ratio: rapid.Float64().Draw(t, "ratio"),
			Pointer: rapid.Ptr(rapid.Int(), true).Draw(t, "pointer"),
			List:    rapid.SliceOf(rapid.String()).Draw(t, "list"),
			Labels:  rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "labels"),
			Payload: Raw(`{"n" : [ ` + number.Draw(t, "number") + ` ]}`),
			At:      rapid.Custom(drawTime).Draw(t, "at"), Wait: rapid.Custom(drawDuration).Draw(t,
				"wait"),
			Run: IDOf(rapid.Int64Range(0, 1<<60-1).Draw(t, "seq"), -1<<63),
		}
		text := AppendJSON(nil, v)
		var got sample
		if err := DecodeJSON(text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(v, got, cmp.AllowUnexported(sample{})); diff != "" {
			t.Fatalf("%s: %s", text, diff)
		}
	})
}

func TestAppendJSONWritesRawByteForByte(t *testing.T) {
	payload := Raw("{\n  \"id\": 9007199254740993, \"a\" " +
		":1.10,\"b\":1e400,\"c\":\"\\u003c\\ud800<\" }")
	v := struct {
		P Raw            `json:"p"`
		N Raw            `json:"n"`
		O Raw            `json:"o,omitempty"`
		M map[string]Raw `json:"m"`
		A any            `json:"a"`
	}{P: payload, M: map[string]Raw{"x": payload}, A: payload}
	want := `{"p":` + string(payload) + `,"n":null,"m":{"x":` + string(payload) + `},"a":` +
		string(payload) + `}`
	if got := string(AppendJSON(nil, v)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAppendJSONWritesNullForNone(t *testing.T) {
	tests := map[string]any{
		`{"t":null,"i":null}`: struct {
			T Time `json:"t"`
			I ID   `json:"i"`
		}{},
		`null`:        nil,
		`[null,null]`: []float64{math.NaN(), math.Inf(1)},
		`{"a":null}`:  map[string]*int{"a": nil},
	}
	for want, v := range tests {
		if got := string(AppendJSON(nil, v)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestEncodingJSONReadsAndWritesTheTypesToo(t *testing.T) {
	type view struct {
		P  Raw      `json:"p"`
		T  Time     `json:"t"`
		D  Duration `json:"d"`
		ID ID       `json:"id"`
	}
	id := IDOf(1<<40, -1<<63)
	for _, v := range []view{{P: Raw("null")}, {
		P: Raw(`{"a":[1.10]}`), T: 1796000000123, D: 90e9,
		ID: id,
	}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if want := AppendJSON(nil, v); !bytes.Equal(text, want) {
			t.Errorf("got %s, want %s", text, want)
		}
		var got view
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}

func TestUnreadableUTF8IsReplacedWhenWritten(t *testing.T) {
	if got, want := string(AppendJSONString(nil, "a\xffb\xc3")), `"a\ufffdb\ufffd"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
