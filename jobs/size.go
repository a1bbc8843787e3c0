package jobs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Size is a number of bytes, written "512MiB", "1.5GiB", "64kB", "1000B".
type Size int64

// MaxSize is the largest size that is read: up to here a float holds each.
const MaxSize Size = 1 << 53

type sizeUnit struct {
	name string
	size float64
}

// sizeUnits, largest first.
var sizeUnits = []sizeUnit{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"B", 1},
}

// ParseSize reads a number with a unit: B, KiB, MiB, GiB, TiB, or kB, MB, GB, TB of thousands. Case
// counts for nothing, a space may stand between. Parts of a byte are cut off.
func ParseSize(s string) (Size, error) {
	number := strings.TrimRight(s, "BKMGTbkmgti")
	unit := s[len(number):]
	at := slices.IndexFunc(sizeUnits, func(u sizeUnit) bool { return strings.EqualFold(u.name, unit) })
	number = strings.TrimSuffix(number, " ")
	n, err := strconv.ParseFloat(number, 64)
	if at < 0 || err != nil || strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("%q is not a size: want one such as \"512MiB\" or \"2GiB\"", clip(s, 40))
	}
	if n *= sizeUnits[at].size; n > float64(MaxSize) {
		return 0, fmt.Errorf("%q is too large: want at most %s", clip(s, 40), MaxSize)
	}
	return Size(n), nil
}

// String is the text in the largest unit of 1024 that gives it exactly.
func (s Size) String() string {
	for _, u := range sizeUnits[:4] {
		if unit := Size(u.size); s != 0 && s%unit == 0 {
			return strconv.FormatInt(int64(s/unit), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// MarshalText gives String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSize reads.
func (s *Size) UnmarshalText(b []byte) error {
	parsed, err := ParseSize(string(b))
	if err == nil {
		*s = parsed
	}
	return err
}
