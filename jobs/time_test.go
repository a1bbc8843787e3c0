package jobs

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDurationReadsUnitsFromLargeToSmall(t *testing.T) {
	const day = 24 * time.Hour
	tests := map[string]time.Duration{
		"0": 0, "0s": 0, "250ms": 250 * time.Millisecond, "90s": 90 * time.Second,
		"1h30m": 90 * time.Minute,
		"7d":    7 * day, "1d12h": 36 * time.Hour, "1d2h3m4s5ms": day + 2*time.Hour + 3*time.Minute +
			4005*time.Millisecond,
		"1.5h": 90 * time.Minute, "0.5d": 12 * time.Hour, "0.7d": 7 * day / 10,
		"1.1d": 11 * day / 10,
		"1.5s": 1500 * time.Millisecond, "1µs": time.Microsecond, "1ns": 1,
		"0.1ms":         100 * time.Microsecond,
		"0.0000000001s": 0, "3653d": 3653 * day, "1d1s": day + time.Second, "007s": 7 * time.Second,
		"0.999999999999999999999999999d": day - 1, "87672h": 3653 * day,
	}
	for text, want := range tests {
		if got, err := ParseDuration(text); err != nil || got.Std() != want {
			t.Errorf("%s: got %v, %v, want %v", text, got.Std(), err, want)
		}
	}
}

func TestParseDurationRefusesWhatIsNone(t *testing.T) {
	for _, text := range []string{
		"", " ", "5", "s", "d", "-1s", "+1s", "1s ", " 1s", "1 s", "1e3s", "0x1s", "1_0s", ".5s",
		"5.s", "1..5s", "infd", "nand",
		"1s1h", "1m1m", "1d0", "1d-1h", "1h1d", "1w", "1y", "1D", "1S", "1us", "1sm", "1,5s", "٣s",
		"1s\x00",
	} {
		d, err := ParseDuration(text)
		if err == nil || !strings.Contains(err.Error(),
			"is not a duration: want a duration such as") {
			t.Errorf("%q: got %v, %v", text, d, err)
		}
	}
	for _, text := range []string{
		"3653d1ns", "3654d", "999999999999999999999d", "9999999999h", "3653.5d", "1000d1000000h",
		strings.Repeat("9", 100) + "ms",
	} {
		d, err := ParseDuration(text)
		if err == nil || !strings.Contains(err.Error(),
			"is too long: want at most 3653d") || len(err.Error()) > 90 {
			t.Errorf("%q: got %v, %v", text, d, err)
		}
	}
}

func TestDurationsAreWrittenInWholeUnits(t *testing.T) {
	tests := map[time.Duration]string{
		0: "0s", 250 * time.Millisecond: "250ms", 90 * time.Second: "1m30s", time.Hour: "1h",
		24 * time.Hour: "1d",
		36 * time.Hour: "1d12h", time.Hour + 5*time.Second: "1h5s", 24*time.Hour +
			time.Millisecond: "1d1ms",
		1500 * time.Millisecond: "1.5s", 1500: "1.5µs", 1: "1ns", 168 * time.Hour: "7d",
		time.Minute:       "1m",
		-90 * time.Minute: "-1h30m", math.MinInt64: "-106751d23h47m16.854775808s",
	}
	for d, want := range tests {
		if got := Duration(d).String(); got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
}

func TestDurationsReadBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDuration(t)
		got, err := ParseDuration(d.String())
		if err != nil || got != d {
			t.Fatalf("%s: got %d, %v, want %d", d, got, err, d)
		}
		var again Duration
		text, _ := d.MarshalText()
		if err := again.UnmarshalText(text); err != nil || again != d {
			t.Fatalf("%s: got %d, %v", text, again, err)
		}
	})
}

// What the standard library reads as well, it reads all but alike.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{
		"250ms", "1h30m", "7d", "0.5d", "1.5s", "9999999999999999999s",
		"1s1s", "", "1µs", "9.9999999999999999s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			return
		}
		if d < 0 || d > Duration(MaxDuration) {
			t.Fatalf("%q: got %d", text, d)
		}
		// The standard library reckons fractions in floats: each may be off by a nanosecond.
		std, err := time.ParseDuration(text)
		if off := std - d.Std(); err == nil && (off > 5 || off < -5) {
			t.Fatalf("%q: got %d, want %d", text, d, std)
		}
		if again, err := ParseDuration(d.String()); err != nil || again != d {
			t.Fatalf("%q: written as %s: got %d, %v", text, d, again, err)
		}
	})
}

func TestParseTimeReadsRFC3339WithAnyOffset(t *testing.T) {
	tests := map[string]string{
		"2026-11-29T02:00:00Z":             "2026-11-29T02:00:00.000Z",
		"2026-11-29T02:00:00.5Z":           "2026-11-29T02:00:00.500Z",
		"2026-11-29T02:00:00.123999999Z":   "2026-11-29T02:00:00.123Z",
		"2026-11-29T02:00:00+05:45":        "2026-11-28T20:15:00.000Z",
		"2026-11-29T02:00:00-00:00":        "2026-11-29T02:00:00.000Z",
		"1971-01-01T00:00:00Z":             "1971-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z":         "9999-12-31T23:59:59.999Z",
		"2028-02-29T00:00:00Z":             "2028-02-29T00:00:00.000Z",
		"1971-01-01T00:00:00.000000-01:00": "1971-01-01T01:00:00.000Z",
	}
	for text, want := range tests {
		got, err := ParseTime(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
		if js := string(AppendJSON(nil, got)); js != `"`+want+`"` {
			t.Errorf("%s: as JSON %s", text, js)
		}
	}
}

func TestParseTimeRefusesWhatIsNone(t *testing.T) {
	for _, text := range []string{
		"", "now", "2026-11-29", "2026-11-29 02:00:00Z", "2026-11-29T02:00:00",
		"2026-11-29T2:00:00Z", "2026-11-29T02:00Z",
		"2026-11-29T02:00:00,5Z", "2026-11-29T24:00:00Z", "2026-02-29T00:00:00Z",
		"2026-11-29T02:00:00+24:00",
		"2026-11-29T02:00:60Z", "1764381600", "2026-11-29T02:00:00Z ", "1970-12-31T23:59:59Z",
		"0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59-01:00", "10000-01-01T00:00:00Z", strings.Repeat("9", 1000),
	} {
		at, err := ParseTime(text)
		if err == nil || !strings.Contains(err.Error(), "want") || len(err.Error()) > 130 {
			t.Errorf("%q: got %v, %v", text, at, err)
		}
	}
}

func TestTimesReadBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := drawTime(t)
		if got, err := ParseTime(at.String()); err != nil || got != at {
			t.Fatalf("%s: got %d, %v, want %d", at, got, err, at)
		}
		if got := TimeOf(at.Std()); got != at {
			t.Fatalf("%s: got %d, want %d", at, got, at)
		}
		if got, want := string(appendTime(nil, at)),
			`"`+at.Std().Format(timeLayout)+`"`; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

func TestTimeArithmeticIsInMilliseconds(t *testing.T) {
	at := TimeOf(time.UnixMilli(1796000000123))
	if got := at.Add(1500*time.Millisecond + 999).Sub(at); got != 1500*time.Millisecond {
		t.Errorf("got %v", got)
	}
	last, _ := ParseTime("9999-12-31T23:59:59.999Z")
	if got := last.Sub(at); got != math.MaxInt64 {
		t.Errorf("got %v, want the longest there is", got)
	}
	if got := at.Sub(last); got != math.MinInt64 {
		t.Errorf("got %v, want the longest there is", got)
	}
}

func TestNoTimeIsNoTimeEverywhere(t *testing.T) {
	if got := TimeOf(time.Time{}); got != 0 {
		t.Errorf("got %d", got)
	}
	if got := Time(0).Std(); !got.IsZero() {
		t.Errorf("got %v", got)
	}
	if got := Time(0).String(); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestClipCutsOnCharacterBorders(t *testing.T) {
	tests := []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"aéb", 2, "a…"},
		{"aé", 3, "aé"},
		{"😀😀", 3, "…"},
		{"", 0, ""},
	}
	for _, tt := range tests {
		if got := clip(tt.s, tt.n); got != tt.want {
			t.Errorf("%q to %d: got %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}
