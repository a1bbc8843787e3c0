package jobs

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Raw is JSON text kept byte for byte. Nil is none.
type Raw []byte

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

// Add moves the instant.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub is the time from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

const timeLayout = "2006-01-02T15:04:05.000Z"

func (t Time) String() string {
	if t == 0 {
		return ""
	}
	return t.Std().Format(timeLayout)
}

// ParseTime reads RFC 3339 with any offset; parts of a millisecond are cut off.
func ParseTime(s string) (Time, error) {
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time: want RFC 3339, such as 2026-11-29T02:00:00Z", clip(s, 40))
	}
	if y := at.UTC().Year(); y < 1971 || y > 9999 {
		return 0, fmt.Errorf("%q is out of range: want a year from 1971 to 9999", clip(s, 40))
	}
	return TimeOf(at), nil
}

// Duration is a length of time, written "250ms", "90s", "1h30m", "7d".
type Duration time.Duration

// MaxDuration bounds every duration a document may hold: ten years.
const MaxDuration = 3653 * 24 * time.Hour

var errBadDuration = errors.New(`want a duration such as "250ms", "90s", "1h30m" or "7d"`)

// ParseDuration reads numbers with units d, h, m, s, ms, in that order of Go's
// time.ParseDuration with days added. Negative ones are refused.
func ParseDuration(s string) (Duration, error) {
	days, rest := time.Duration(0), s
	if i := strings.IndexByte(s, 'd'); i > 0 {
		n, err := strconv.ParseFloat(s[:i], 64)
		if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) || strings.ContainsAny(s[:i], "eExX_+-") {
			return 0, fmt.Errorf("%q is not a duration: %w", clip(s, 40), errBadDuration)
		}
		if n > MaxDuration.Hours()/24 {
			return 0, fmt.Errorf("%q is too long: at most 3653d", clip(s, 40))
		}
		days, rest = time.Duration(n*float64(24*time.Hour)), s[i+1:]
	}
	var d time.Duration
	if rest != "" || s == "" {
		var err error
		if d, err = time.ParseDuration(rest); err != nil || d < 0 || strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "-") {
			return 0, fmt.Errorf("%q is not a duration: %w", clip(s, 40), errBadDuration)
		}
	}
	if d > MaxDuration || days+d > MaxDuration {
		return 0, fmt.Errorf("%q is too long: at most 3653d", clip(s, 40))
	}
	return Duration(days + d), nil
}

// Std is the duration as Go has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String is the shortest text that ParseDuration reads back: "1d12h", "1h30m", "90s" is "1m30s".
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	left := time.Duration(d)
	if left < 0 {
		b.WriteByte('-')
		left = -left
	}
	if days := left / (24 * time.Hour); days > 0 {
		b.WriteString(strconv.FormatInt(int64(days), 10) + "d")
		left -= days * 24 * time.Hour
	}
	if left == 0 {
		return b.String()
	}
	s := left.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	b.WriteString(s)
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
