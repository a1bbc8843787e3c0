package jobs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// paces are the units of a pace.
var paces = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}

// ParsePace reads how many of something come in a second, a minute or an hour, such as 10/s, 30/m or
// 100/h, and gives the time from one to the next: whole milliseconds, and never so few that more would
// come than it says.
func ParsePace(text string) (every Duration, err error) {
	count, unit, cut := strings.Cut(text, "/")
	per, known := paces[unit]
	n, err := strconv.ParseUint(count, 10, 31)
	if !cut || !known || err != nil || strings.HasPrefix(count, "+") {
		return 0, fmt.Errorf("%q is no rate: want so many a second, minute or hour, such as 10/s, 30/m or 100/h", clip(text, 40))
	}
	if n == 0 {
		return 0, fmt.Errorf("%q would never begin: want 1 or more, such as 1/%s", clip(text, 40), unit)
	}
	if most := uint64(per / time.Millisecond); n > most {
		return 0, fmt.Errorf("%q is too fast: want at most %d/%s; left out, all come at once", clip(text, 40), most, unit)
	}
	between := (per + time.Duration(n) - 1) / time.Duration(n)
	return Duration((between + time.Millisecond - 1).Truncate(time.Millisecond)), nil
}
