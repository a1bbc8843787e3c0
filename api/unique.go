package api

import (
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// uniqueUntil is until when a run stands by its unique key; left out where it does not for that.
func uniqueUntil(sub *store.Submitted) (until jobs.Until) {
	if sub.Unique {
		until = jobs.UntilOf(sub.UniqueUntil)
	}
	return until
}

// standsFault is a conflict of an entry with a run that stands, or with an earlier entry.
func standsFault(i int, c *store.UniqueConflict) jobs.Fault {
	text := c.Error()
	if c.Entry != nil {
		text = fmt.Sprintf("the run of runs[%d] stands for it %s", *c.Entry, store.StandsUntil(c.While, c.Until))
	}
	return jobs.Fault{Location: fmt.Sprintf("body.runs[%d]", i), Message: text}
}
