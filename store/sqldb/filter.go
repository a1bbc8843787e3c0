package sqldb

import (
	"encoding/json"
	"math"
	"path"
	"strconv"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

// keeps judges what LIKE only narrows: it ignores the case of letters.
func keeps(f store.RunFilter, run *jobs.Run) bool {
	own := run.Job == jobs.GroupJob && f.Own != "" && run.CreatedBy == f.Own
	if f.Allowed != nil && !own && !allowed(f.Allowed, run.Job) {
		return false
	}
	if f.Schedule != "" && run.Schedule != f.Schedule {
		return false
	}
	if f.LabelKey != "" {
		v, ok := run.Labels[f.LabelKey]
		if !ok || f.LabelValue != nil && v != *f.LabelValue {
			return false
		}
	}
	if f.CorrelationID != "" && run.CorrelationID != f.CorrelationID {
		return false
	}
	if f.Q == "" {
		return true
	}
	q := strings.ToLower(f.Q)
	return beginsSo(run.ID, q) || strings.HasPrefix(strings.ToLower(run.CorrelationID), q) ||
		run.Error != nil && (strings.Contains(strings.ToLower(run.Error.Type), q) ||
			strings.Contains(strings.ToLower(run.Error.Message), q))
}

// beginsSo reports whether an id begins with q, written with its dashes or without.
func beginsSo(id jobs.ID, q string) bool {
	text := id.String()
	return strings.HasPrefix(text, q) ||
		strings.HasPrefix(strings.ReplaceAll(text, "-", ""), strings.ReplaceAll(q, "-", "")) &&
			hexDigits(q)
}

// hexDigits reports whether q is hexadecimal digits and dashes.
func hexDigits(q string) bool {
	digits := strings.ReplaceAll(q, "-", "")
	return digits != "" && strings.Trim(digits, "0123456789abcdef") == ""
}

// allowed reports whether a name matches one of the patterns of a token, such as mail-*.
func allowed(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

// idRange turns the start of an id into a range of numbers. It is narrow from 8 digits on: before,
// they say no more than the month.
func idRange(q string) (lo, hi int64, narrow bool) {
	lo, hi = -1, -1
	digits := strings.ReplaceAll(strings.ToLower(q), "-", "")
	if len(digits) > 32 || !hexDigits(digits) {
		return lo, hi, false
	}
	if len(digits) > 12 {
		if digits[12] != '7' {
			return lo, hi, false
		}
		digits = digits[:12] + digits[13:min(16, len(digits))]
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || n > math.MaxInt64>>4 {
		return lo, hi, false
	}
	shift := 4 * (15 - len(digits))
	return int64(n) << shift, (int64(n)+1)<<shift - 1, len(digits) >= 8
}

func labelPattern(f store.RunFilter) string {
	if f.LabelKey == "" {
		return ""
	}
	key, _ := json.Marshal(f.LabelKey)
	text := string(key) + ":"
	if f.LabelValue != nil {
		value, _ := json.Marshal(*f.LabelValue)
		text += string(value)
	}
	return containing(text)
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func containing(s string) string {
	if s == "" {
		return ""
	}
	return "%" + likeEscaper.Replace(s) + "%"
}

func starting(s string) string { return likeEscaper.Replace(s) + "%" }
