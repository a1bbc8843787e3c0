package jobs

import (
	"strconv"
	"strings"
)

// wholeNumber reads the text of a JSON number that is a whole one whatever its form, such as 1.0
// or 1e3, exactly. whole is false for fractions; the error says that an int64 cannot hold it.
func wholeNumber(text string) (n int64, whole bool, err error) {
	mantissa, exp, _ := strings.Cut(strings.ToLower(text), "e")
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	before, after, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+after, "0")
	if digits == "" {
		return 0, true, nil
	}
	trimmed := strings.TrimRight(digits, "0")

	power := 0
	if exp != "" {
		if power, err = strconv.Atoi(exp); err != nil { // beyond all int64, up or down
			return 0, !strings.HasPrefix(exp, "-"), strconv.ErrRange
		}
	}
	zeros := power - len(after) + len(digits) - len(trimmed)
	switch {
	case zeros < 0:
		return 0, false, nil
	case zeros+len(trimmed) > 19:
		return 0, true, strconv.ErrRange
	}
	n, err = strconv.ParseInt(sign+trimmed+strings.Repeat("0", zeros), 10, 64)
	return n, true, err
}
