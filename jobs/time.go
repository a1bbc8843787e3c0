package jobs

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Raw is JSON text kept byte for byte. Nil is none.
type Raw []byte

// MarshalJSON gives the text, null for none. (AppendJSON writes it verbatim; encoding/json
// takes the white space out.)
func (r Raw) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps a copy of the text.
func (r *Raw) UnmarshalJSON(b []byte) error {
	*r = slices.Clone(b)
	return nil
}

// Time is an instant as it is stored: milliseconds since 1970 UTC. Zero is none, null in JSON.
type Time int64

// TimeOf cuts an instant to milliseconds; the zero time gives zero.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Std is the instant in UTC; the zero time for none.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// Add moves the instant; parts of a millisecond are cut off.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub is the time from u to t, the longest there is where a time.Duration cannot hold it.
func (t Time) Sub(u Time) time.Duration {
	return time.UnixMilli(int64(t)).Sub(time.UnixMilli(int64(u)))
}

const timeLayout = "2006-01-02T15:04:05.000Z"

func (t Time) String() string {
	if t == 0 {
		return ""
	}
	return t.Std().Format(timeLayout)
}

// ParseTime reads RFC 3339 with any offset; parts of a millisecond are cut off.
func ParseTime(s string) (Time, error) {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil || !strictTime(s) {
		return 0, fmt.Errorf("%q is not a time: want RFC 3339, such as 2026-11-29T02:00:00Z",
			clip(s, 40))
	}
	if y := at.UTC().Year(); y < 1971 || y > 9999 {
		return 0, fmt.Errorf("%q is out of range: want a year from 1971 to 9999", clip(s, 40))
	}
	return TimeOf(at), nil
}

// strictTime refuses what time.Parse takes beyond RFC 3339: 2:00 for 02:00, a comma for a
// point, offsets of a day and more (golang.org/issue/54580).
func strictTime(s string) bool {
	const date = len("2026-11-29T02")
	if s[date] != ':' || strings.Contains(s, ",") {
		return false
	}
	if strings.HasSuffix(s, "Z") {
		return true
	}
	offset := s[len(s)-len("05:45"):]
	return offset[:2] < "24" && offset[3:] < "60"
}

// MarshalJSON gives a string in RFC 3339, null for none.
func (t Time) MarshalJSON() ([]byte, error) { return appendTime(nil, t), nil }

// UnmarshalJSON reads what ParseTime reads; null changes nothing.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	return DecodeJSON(b, t)
}

// Duration is a length of time, written "250ms", "90s", "1h30m", "7d".
type Duration time.Duration

// ParseSince reads a time, or a duration that counts back from now.
func ParseSince(text string, now Time) (Time, error) {
	if d, err := ParseDuration(text); err == nil {
		return now.Add(-d.Std()), nil
	}
	return ParseTime(text)
}

// MaxDuration bounds every duration a document may hold: ten years.
const MaxDuration = 3653 * 24 * time.Hour

const durationForm = `a duration such as "250ms", "90s", "1h30m" or "7d"`

// unit of durations.
type unit struct {
	name string
	size uint64 // in nanoseconds
}

// The units, largest first. Nobody writes the last two, but String may give them.
var units = []unit{
	{"d", uint64(24 * time.Hour)},
	{"h", uint64(time.Hour)},
	{"m", uint64(time.Minute)},
	{"s", uint64(time.Second)},
	{"ms", uint64(time.Millisecond)},
	{"µs", uint64(time.Microsecond)},
	{"ns", 1},
}

// ParseDuration reads one or more numbers with units, each unit once and larger ones first: d, h,
// m, s, ms (µs, ns). A number may have a fraction; what is below a nanosecond is cut off. "0"
// needs no unit. Signs are refused, and what is longer than MaxDuration.
func ParseDuration(s string) (Duration, error) {
	if s == "0" {
		return 0, nil
	}
	bad := func() (Duration, error) {
		return 0, fmt.Errorf("%q is not a duration: %w", clip(s, 40), errors.New("want "+durationForm))
	}
	if s == "" {
		return bad()
	}
	var sum uint64
	left := units
	for rest := s; rest != ""; {
		whole, fraction, after, ok := cutNumber(rest)
		if !ok {
			return bad()
		}
		name := after[:len(after)-len(strings.TrimLeft(after, "dhmsµn"))]
		at := slices.IndexFunc(left, func(u unit) bool { return u.name == name })
		if at < 0 {
			return bad()
		}
		size := left[at].size
		n, err := strconv.ParseUint(whole, 10, 64)
		if err != nil || n > uint64(MaxDuration)/size {
			return 0, fmt.Errorf("%q is too long: want at most 3653d", clip(s, 40))
		}
		sum += n*size + fractionOf(fraction, size)
		left, rest = left[at+1:], after[len(name):]
	}
	if sum > uint64(MaxDuration) {
		return 0, fmt.Errorf("%q is too long: want at most 3653d", clip(s, 40))
	}
	return Duration(sum), nil
}

// cutNumber takes digits with or without a fraction off the front of s.
func cutNumber(s string) (whole, fraction, rest string, ok bool) {
	rest = strings.TrimLeft(s, "0123456789")
	if whole = s[:len(s)-len(rest)]; whole == "" {
		return "", "", "", false
	}
	if strings.HasPrefix(rest, ".") {
		after := strings.TrimLeft(rest[1:], "0123456789")
		if fraction = rest[1 : len(rest)-len(after)]; fraction == "" {
			return "", "", "", false
		}
		rest = after
	}
	return whole, fraction, rest, true
}

// fractionOf is the part 0.digits of size.
func fractionOf(digits string, size uint64) (part uint64) {
	// A day has under 10^14 ns: past 18 digits nothing is left of it.
	digits = digits[:min(len(digits), 18)]
	num, den := uint64(0), uint64(1)
	for i := range len(digits) {
		num, den = num*10+uint64(digits[i]-'0'), den*10
	}
	hi, lo := bits.Mul64(num, size)
	part, _ = bits.Div64(hi, lo, den)
	return part
}

// Std is the duration as Go has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String is the text of whole units from the largest to the smallest that ParseDuration reads back:
// "1d12h", "1m30s", "1h5s", "1.5s", "250ms".
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	left := uint64(d)
	if d < 0 {
		b.WriteByte('-')
		left = -left
	}
	for _, u := range units[:3] {
		if n := left / u.size; n > 0 {
			b.WriteString(strconv.FormatUint(n, 10) + u.name)
			left %= u.size
		}
	}
	if left > 0 {
		b.WriteString(time.Duration(left).String())
	}
	return b.String()
}

// MarshalText gives String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	parsed, err := ParseDuration(string(b))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// clip bounds a text that is quoted in a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
