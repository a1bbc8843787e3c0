package jobs

import (
	"regexp"
	"strconv"
	"strings"
)

// hashed is Jenkins' H: a slot that is worked out from the job's name, H(8-16)/2 one of a range.
// https://www.jenkins.io/doc/book/pipeline/syntax/#cron-syntax
var hashed = regexp.MustCompile(`^H(?:\((\d+)-(\d+)\))?(?:/(\d+))?$`)

// random is OpenBSD's and cronie's slot that is drawn anew at each start of cron: 0~59, ~.
var random = regexp.MustCompile(`^(\d*)~(\d*)(?:/(\d+))?$`)

// jenkinsLine knows lines with an H.
func jenkinsLine(text string) *foreignLine {
	return slotLine(text, hashed,
		"H is Jenkins': a slot worked out from the job's name; here spread puts each schedule in one of its own")
}

// randomRanges knows lines with a ~.
func randomRanges(text string) *foreignLine {
	return slotLine(text, random,
		"~ is OpenBSD's and cronie's: a slot drawn by chance; here spread puts each schedule in one of its own")
}

// firstSlots and lastSlots bound the five fields. Jenkins' H is no day after the 28th.
var (
	firstSlots = [5]int{0, 0, 1, 1, 0}
	lastSlots  = [5]int{59, 23, 28, 12, 6}
)

// slotLine writes a line with the first of its slots, and a spread over the others where that can be
// said: of the minute, and of the hour where both are free.
func slotLine(text string, slot *regexp.Regexp, what string) *foreignLine {
	fields := strings.Fields(text)
	found := false
	var over [5]int // how many slots each field gives away
	for i, field := range fields {
		parts := strings.Split(field, ",")
		for j, part := range parts {
			m := slot.FindStringSubmatch(part)
			if m == nil {
				continue
			}
			found = true
			if i < 5 {
				parts[j], over[i] = plainSlot(i, m)
			}
		}
		if len(parts) > 1 && i < 5 {
			over[i] = 0
		}
		fields[i] = strings.Join(parts, ",")
	}
	if !found {
		return nil
	}
	line := plainLine{cron: plainCron(strings.Join(fields, " "))}
	if line.cron == "" || len(fields) != 5 {
		return foreign(what)
	}
	minutes := over[0]
	if minutes == 60 && over[1] > 0 && !strings.ContainsAny(fields[1], "-/,*") {
		minutes *= over[1]
	}
	if minutes > 0 {
		line.spread = minutesOf(minutes)
	}
	return foreign(what, line)
}

// plainSlot is the slot without H or ~, in crontab's way, and over how many it goes: those of its
// range, or of one step.
func plainSlot(field int, m []string) (plain string, over int) {
	first, last := firstSlots[field], lastSlots[field]
	if n, err := strconv.Atoi(m[1]); err == nil {
		first = n
	}
	if n, err := strconv.Atoi(m[2]); err == nil {
		last = n
	}
	step, _ := strconv.Atoi(m[3])
	switch {
	case step > 0 && m[1] == "" && m[2] == "":
		return "*/" + m[3], step
	case step > 0:
		return strconv.Itoa(first) + "-" + strconv.Itoa(last) + "/" + m[3], step
	}
	return strconv.Itoa(first), max(0, last-first+1)
}

// minutesOf is the text of a duration in minutes.
func minutesOf(n int) string {
	switch {
	case n%60 == 0:
		return strconv.Itoa(n/60) + "h"
	default:
		return strconv.Itoa(n) + "m"
	}
}
