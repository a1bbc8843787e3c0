package jobs

import (
	"regexp"
	"strings"
)

// zoneBefore is a zone in front of a line, as crontabs and robfig's parser have it.
var zoneBefore = regexp.MustCompile(`(?s)^(CRON_TZ|TZ)\s*=\s*["']?:?([^\s"']*)["']?\s*(.*)$`)

// zonedLine knows CRON_TZ=ZONE and TZ=ZONE before a line.
func zonedLine(text string) *foreignLine {
	m := zoneBefore.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	what := m[1] + "= before a line is crontab's variable: here the zone is in timezone"
	if _, err := LoadZone(m[2]); err != nil {
		return foreign(what + "; " + err.Error())
	}
	return inZone(what, m[2], m[3])
}

// inZone is a line, which may be foreign for its own reasons too, with a zone.
func inZone(what, zone, line string) *foreignLine {
	f := foreignForm(line)
	if f == nil {
		f = foreign("", plainLine{cron: plainCronOrWord(line)})
	}
	if f.what != "" {
		what += "; " + f.what
	}
	for i := range f.write {
		if f.write[i].every == "" && f.write[i].timezone == "" {
			f.write[i].timezone = zone
		}
	}
	return foreign(what, f.write...)
}

// plainCronOrWord is plainCron, and crontab's own @ words too.
func plainCronOrWord(line string) string {
	word := strings.ToLower(strings.TrimSpace(line))
	if cronWords[word] != "" || word == cronReboot {
		return word
	}
	return plainCron(line)
}
