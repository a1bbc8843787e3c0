package jobs

import (
	"bytes"
	"strconv"
)

// Change is a difference between two documents.
type Change struct {
	Location string `json:"location"`         // such as retry.rules[1].if
	Before   Raw    `json:"before,omitempty"` // nil: it was not there
	After    Raw    `json:"after,omitempty"`  // nil: it is there no more
}

// Diff gives the differences of two documents in the order of the second, those that it does not have
// any more at their end. Members of objects and items of lists are compared one by one. What is
// the same value in another text, such as a payload with other spaces, is one difference.
func Diff(before, after []byte) []Change { return diff(nil, "", before, after) }

func diff(changes []Change, at string, before, after []byte) []Change {
	if bytes.Equal(before, after) {
		return changes
	}
	n := len(changes)
	old, oldList, ok := partsOf(before)
	now, list, both := partsOf(after)
	if ok && both && list == oldList {
		if changes = diffParts(changes, at, old, now, list); len(changes) > n {
			return changes
		}
	}
	return append(changes, Change{at, before, after})
}

func diffParts(changes []Change, at string, old, now []jsonItem, list bool) []Change {
	if list {
		for i := range max(len(old), len(now)) {
			place := at + "[" + strconv.Itoa(i) + "]"
			switch {
			case i >= len(old):
				changes = append(changes, Change{Location: place, After: now[i].text})
			case i >= len(now):
				changes = append(changes, Change{Location: place, Before: old[i].text})
			default:
				changes = diff(changes, place, old[i].text, now[i].text)
			}
		}
		return changes
	}
	was := make(map[string]Raw, len(old))
	for _, p := range old {
		was[p.key] = p.text
	}
	for _, p := range now {
		place := memberLocation(at, p.key)
		if text, stood := was[p.key]; stood {
			changes = diff(changes, place, text, p.text)
		} else {
			changes = append(changes, Change{Location: place, After: p.text})
		}
		delete(was, p.key)
	}
	for _, p := range old {
		if text, gone := was[p.key]; gone {
			changes = append(changes, Change{Location: memberLocation(at, p.key), Before: text})
		}
	}
	return changes
}
