package jobs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// wantZone ends the refusal of a name for which nothing better is known.
const wantZone = "want a name of the time zone database such as Europe/Berlin, or UTC"

// unknownZone says what is wrong with a name that is none, and what to write.
func unknownZone(name string) string {
	text := fmt.Sprintf("unknown time zone %q: ", clip(name, 60))
	if len(name) > 60 {
		return text + wantZone
	}
	if hint := offsetZone(name); hint != "" {
		return text + hint
	}
	plain := plainZone(name)
	if hint := zoneWords[plain]; hint != "" {
		return text + hint
	}
	if places := zoneAbbreviations[plain]; places != "" {
		return text + "an abbreviation does not say where it holds and when clocks change: " +
			"write the area and city, such as " + places
	}
	if city := zoneCities[plain[strings.LastIndexByte(plain, '/')+1:]]; city != "" {
		return text + "write " + city + ", whose clock it shares"
	}
	switch near := nearZones(plain); len(near) {
	case 0:
		if posixZone.MatchString(name) {
			return text + "a POSIX rule is not read: write the area and city, such as Europe/Berlin"
		}
		return text + wantZone
	case 1:
		return text + "did you mean " + near[0] + "?"
	default:
		last := len(near) - 1
		return text + "did you mean " + strings.Join(near[:last], ", ") + " or " + near[last] + "?"
	}
}

// posixZone is the form of TZ that holds rules: CET-1CEST,M3.5.0,M10.5.0/3.
var posixZone = regexp.MustCompile(`^<?[A-Za-z+\-0-9]{3,}>?[+-]?\d{1,2}(:\d\d)*(<?[A-Za-z+\-0-9]{3,}>?.*)?$`)

// utcOffset is UTC+2, GMT-05:30, Etc/GMT+15, +0200 and the like.
var utcOffset = regexp.MustCompile(`^(?i:(etc/)?(utc|gmt|z)?) *([+-]|\x{2212})(\d{1,2})(?::?(\d\d))?$`)

// offsetZone answers an offset from UTC: the zone that has it, whose sign is the other way round.
func offsetZone(name string) string {
	m := utcOffset.FindStringSubmatch(strings.TrimSpace(name))
	if m == nil {
		return ""
	}
	hours, _ := strconv.Atoi(m[4])
	minutes, _ := strconv.Atoi(m[5])
	ahead, side, sign := m[3] == "+", "ahead of", "-"
	if m[1] != "" {
		ahead = !ahead // who writes Etc/GMT+15 knows of the sign
	}
	if !ahead {
		side, sign = "behind", "+"
	}
	const city = "write the area and city, such as Europe/Berlin"
	switch {
	case hours == 0 && minutes == 0:
		return "write UTC"
	case minutes != 0:
		return "no zone is just an offset that is not whole hours: " + city
	case ahead && hours > 14, !ahead && hours > 12:
		return "no zone is that far from UTC: " + city
	}
	return fmt.Sprintf("%s; or Etc/GMT%s%d for always %s %s UTC, whose sign is the other way round",
		city, sign, hours, plural(hours, "hour"), side)
}

// plainZone leaves out what is written in different ways: case, blanks, and the folders in which
// some hosts keep copies.
func plainZone(name string) string {
	s := strings.Map(func(r rune) rune {
		switch r {
		case ' ', '-', '.', '_', '"', '\'', ':':
			return '_'
		case '\\':
			return '/'
		}
		return r
	}, strings.ToLower(strings.TrimSpace(name)))
	s = strings.TrimPrefix(s, "_")
	for _, folder := range []string{"usr/share/zoneinfo/", "posix/", "right/"} {
		s = strings.TrimPrefix(strings.TrimPrefix(s, "/"), folder)
	}
	return strings.Trim(s, "_/")
}

// plainZones are the names of the list, written plainly.
var plainZones = sync.OnceValue(func() (plain []string) {
	for _, name := range zoneNames() {
		plain = append(plain, plainZone(name))
	}
	return plain
})

// nearZones are up to three names that a name may have been meant for: the same but for how it is
// written, else those of that city, else those that take the fewest changes to get to.
func nearZones(plain string) []string {
	var same, city, near []string
	fewest := min(2, len(plain)/4) + 1
	for i, known := range plainZones() {
		name := zoneNames()[i]
		switch {
		case known == plain:
			same = append(same, name)
		case known[strings.LastIndexByte(known, '/')+1:] == plain[strings.LastIndexByte(plain, '/')+1:]:
			city = append(city, name)
		}
		if max(len(known)-len(plain), len(plain)-len(known)) > fewest {
			continue
		}
		if n := editDistance(known, plain); n < fewest {
			near, fewest = []string{name}, n
		} else if n == fewest && n <= 2 && near != nil {
			near = append(near, name)
		}
	}
	for _, found := range [][]string{same, city, near} {
		if len(found) > 0 {
			return slices.Compact(found[:min(3, len(found))])
		}
	}
	return nil
}

// zoneWords are names that mean a zone elsewhere, and what to write here.
var zoneWords = map[string]string{
	"local":     "the host's zone must not decide: write the name, such as Europe/Berlin, or UTC",
	"localtime": "the host's zone must not decide: write the name, such as Europe/Berlin, or UTC",
	"system":    "the host's zone must not decide: write the name, such as Europe/Berlin, or UTC",
	"z":         "write UTC",
	"none":      "leave it out for UTC",
	"null":      "leave it out for UTC",
	"default":   "leave it out for UTC",

	"coordinated_universal_time": "write UTC",
	"utc_standard_time":          "write UTC",
	"pacific_standard_time":      windowsZone + "America/Los_Angeles",
	"mountain_standard_time":     windowsZone + "America/Denver",
	"central_standard_time":      windowsZone + "America/Chicago",
	"eastern_standard_time":      windowsZone + "America/New_York",
	"gmt_standard_time":          windowsZone + "Europe/London",
	"w__europe_standard_time":    windowsZone + "Europe/Berlin",
	"romance_standard_time":      windowsZone + "Europe/Paris",
	"central_europe_standard_time": windowsZone +
		"Europe/Budapest",
	"e__south_america_standard_time": windowsZone + "America/Sao_Paulo",
	"russian_standard_time":          windowsZone + "Europe/Moscow",
	"india_standard_time":            windowsZone + "Asia/Kolkata",
	"china_standard_time":            windowsZone + "Asia/Shanghai",
	"tokyo_standard_time":            windowsZone + "Asia/Tokyo",
	"aus_eastern_standard_time":      windowsZone + "Australia/Sydney",
	"new_zealand_standard_time":      windowsZone + "Pacific/Auckland",
	"pacific_time_(us_&_canada)":     "write America/Los_Angeles",
	"mountain_time_(us_&_canada)":    "write America/Denver",
	"central_time_(us_&_canada)":     "write America/Chicago",
	"eastern_time_(us_&_canada)":     "write America/New_York",
}

const windowsZone = "that is Windows' name: write "

// zoneAbbreviations are letters that clocks show, and where.
var zoneAbbreviations = map[string]string{
	"acdt": "Australia/Adelaide", "acst": "Australia/Adelaide or Australia/Darwin",
	"aedt": "Australia/Sydney", "aest": "Australia/Sydney or Australia/Brisbane",
	"akdt": "America/Anchorage", "akst": "America/Anchorage", "art": "America/Argentina/Buenos_Aires",
	"ast": "America/Halifax or Asia/Riyadh", "adt": "America/Halifax", "awst": "Australia/Perth",
	"brt": "America/Sao_Paulo", "bst": "Europe/London or Asia/Dhaka", "cat": "Africa/Maputo",
	"cdt": "America/Chicago", "cest": "Europe/Berlin or Europe/Paris",
	"cst": "America/Chicago or Asia/Shanghai", "eat": "Africa/Nairobi", "edt": "America/New_York",
	"eest": "Europe/Athens or Europe/Kyiv", "gst": "Asia/Dubai", "hkt": "Asia/Hong_Kong",
	"hdt": "America/Adak", "ist": "Asia/Kolkata, Europe/Dublin or Asia/Jerusalem",
	"idt": "Asia/Jerusalem", "jst": "Asia/Tokyo", "kst": "Asia/Seoul", "mdt": "America/Denver",
	"mest": "Europe/Berlin or Europe/Paris", "mez": "Europe/Berlin", "mesz": "Europe/Berlin",
	"msk": "Europe/Moscow", "ndt": "America/St_Johns", "nst": "America/St_Johns",
	"nzdt": "Pacific/Auckland", "nzst": "Pacific/Auckland", "pdt": "America/Los_Angeles",
	"pht": "Asia/Manila", "pkt": "Asia/Karachi", "pst": "America/Los_Angeles or Asia/Manila",
	"sast": "Africa/Johannesburg", "sgt": "Asia/Singapore", "sst": "Pacific/Pago_Pago",
	"trt": "Europe/Istanbul", "wast": "Africa/Lagos", "wat": "Africa/Lagos", "west": "Europe/Lisbon",
	"wib": "Asia/Jakarta",
}

// zoneCities are cities that the database does not name, under the one whose clock they share.
var zoneCities = map[string]string{
	"amritsar": "Asia/Kolkata", "atlanta": "America/New_York", "austin": "America/Chicago",
	"bangalore": "Asia/Kolkata", "barcelona": "Europe/Madrid", "basel": "Europe/Zurich",
	"beijing": "Asia/Shanghai", "bengaluru": "Asia/Kolkata", "bern": "Europe/Zurich",
	"boston": "America/New_York", "calgary": "America/Edmonton", "canberra": "Australia/Sydney",
	"cape_town": "Africa/Johannesburg", "chennai": "Asia/Kolkata", "cologne": "Europe/Berlin",
	"dallas": "America/Chicago", "delhi": "Asia/Kolkata", "edinburgh": "Europe/London",
	"frankfurt": "Europe/Berlin", "geneva": "Europe/Zurich", "guangzhou": "Asia/Shanghai",
	"hamburg": "Europe/Berlin", "hanoi": "Asia/Ho_Chi_Minh", "houston": "America/Chicago",
	"hyderabad": "Asia/Kolkata", "islamabad": "Asia/Karachi", "las_vegas": "America/Los_Angeles",
	"lyon": "Europe/Paris", "manchester": "Europe/London", "miami": "America/New_York",
	"milan": "Europe/Rome", "montreal": "America/Toronto", "mumbai": "Asia/Kolkata",
	"munich": "Europe/Berlin", "new_delhi": "Asia/Kolkata", "new_york_city": "America/New_York",
	"nyc": "America/New_York", "osaka": "Asia/Tokyo", "ottawa": "America/Toronto",
	"philadelphia": "America/New_York", "porto": "Europe/Lisbon", "rio_de_janeiro": "America/Sao_Paulo",
	"san_diego": "America/Los_Angeles", "san_francisco": "America/Los_Angeles",
	"seattle": "America/Los_Angeles", "shenzhen": "Asia/Shanghai",
	"stuttgart": "Europe/Berlin", "washington": "America/New_York", "wellington": "Pacific/Auckland",
}
