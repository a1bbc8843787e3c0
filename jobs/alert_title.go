package jobs

import (
	"strings"
)

// noticeMark shows how bad an event is.
func noticeMark(typ string) string {
	switch typ {
	case EventRunFailed, EventAlertUndelivered, EventQueueStuck, EventDiskLow, EventBackupFailed:
		return markBad
	case EventRunRecovered, EventRunSucceeded, EventDependencyClosed:
		return markGood
	}
	return markOdd
}

// noticeTitle says in one line what has happened.
func noticeTitle(typ, subject string, data map[string]any) string {
	count, _ := toFloat(data["count"])
	times := ""
	if count > 1 {
		times = " " + plainNumber(count) + " times"
	}
	_, about, _ := strings.Cut(subject, "/")
	job := firstText(textIn(data, "job"), about, "a job")
	title := ""
	switch typ {
	case EventRunFailed:
		title = job + " failed" + times
	case EventRunRecovered:
		title = job + " is well again"
	case EventRunSucceeded:
		title = job + " succeeded" + times
	case EventRunLong:
		title = job + " takes long" + times
	case EventRunInterrupted:
		title = job + " is interrupted again and again"
	case EventScheduleLate:
		title = firstText(textIn(data, "schedule"), about, "a schedule") + " is late" + times
	case EventScheduleMissed:
		title = firstText(textIn(data, "schedule"), about, "a schedule") + " missed " + countOr(count, "some") + " of its ticks"
	case EventGroupPartial:
		title = job + " is only partly done" + times
	case EventQueueStuck:
		title = "queue " + firstText(textIn(data, "queue"), about, "?") + " is stuck"
	case EventFailuresMany:
		title = countOr(count, "many") + " failures are open"
	case EventDependencyOpened:
		title = "dependency " + firstText(textIn(data, "name"), about, "?") + " is held" + times
	case EventDependencyClosed:
		title = "dependency " + firstText(textIn(data, "name"), about, "?") + " works again"
	case EventAlertUndelivered:
		title = "alert " + firstText(textIn(data, "alert"), about, "?") + " could not be delivered" + times
	case EventDiskLow:
		title = "the disk is nearly full"
	case EventKeepExceeded:
		title = "more " + firstText(about, "data") + " than may be kept"
	case EventBackupFailed:
		title = "a backup failed" + times
	case EventBackupStale:
		title = "the backup is old"
	case EventAlertDigest:
		title = countOr(count, "more") + " more events in one message"
	case "":
		title = firstText(textIn(data, "job"), subject, "something happened") + times
	default:
		title = strings.TrimSpace(typ+" "+subject) + times
	}
	return clipEnd(oneLine(title), maxNoticeTitle)
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text = oneLine(text); text != "" {
			return text
		}
	}
	return ""
}

func countOr(count float64, word string) string {
	if count > 0 {
		return plainNumber(count)
	}
	return word
}
