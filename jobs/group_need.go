package jobs

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

const (
	needAll  = "all"
	wantNeed = `"all", a whole number of members, or a part of them such as "60%"`
)

// decodeJSON reads "all", a whole number or a percentage.
func (n *Need) decodeJSON(d *decoder) bool {
	*n = Need{}
	d.space()
	at := d.pos
	if c := d.peek(); c == '-' || isDigit(c) {
		count, before := 0, len(d.faults)+d.more
		if !decoderOf(reflect.TypeFor[int]())(d, reflect.ValueOf(&count).Elem()) {
			return false
		}
		if n.Count = &count; count < 0 && len(d.faults)+d.more == before {
			d.fault(at, "want "+wantNeed)
		}
		return true
	}
	text, good, ok := d.stringText(wantNeed)
	if good {
		var err error
		if *n, err = ParseNeed(string(text)); err != nil {
			d.fault(at, err.Error())
		}
	}
	return ok
}

// ParseNeed reads what need may say: all, a number, or a percentage.
func ParseNeed(s string) (Need, error) {
	if s == needAll {
		return Need{Percent: 100}, nil
	}
	number, percent := strings.CutSuffix(s, "%")
	count, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case err != nil || strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-"):
		return Need{}, fmt.Errorf("is %q: want %s", clip(s, 40), wantNeed)
	case percent && count == 0:
		return Need{}, fmt.Errorf("is %q: want 0 where no member has to be good", clip(s, 40))
	case percent && count > 100:
		return Need{}, fmt.Errorf("is %q: want at most 100%%", clip(s, 40))
	case percent:
		return Need{Percent: count}, nil
	}
	return Need{}, fmt.Errorf("is %q: leave the quotes out for a number of members, or write a part of them such as \"60%%\"",
		clip(s, 40))
}

// MarshalJSON gives all, the number or the percentage.
func (n Need) MarshalJSON() ([]byte, error) {
	if n.Percent > 0 {
		return AppendJSONString(nil, n.String()), nil
	}
	return []byte(n.String()), nil
}

// UnmarshalJSON reads what a document may say.
func (n *Need) UnmarshalJSON(b []byte) error { return DecodeJSON(b, n) }

// String is need in words: all, 2, 60%.
func (n Need) String() string {
	switch {
	case n.Count != nil:
		return strconv.Itoa(*n.Count)
	case n.Percent == 100:
		return needAll
	case n.Percent > 0:
		return strconv.Itoa(n.Percent) + "%"
	}
	return "1"
}
