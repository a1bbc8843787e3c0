package main

import (
	"fmt"
	"strings"
	"testing"
)

// expectedText writes seconds; p: paused, ?: by either text, /: paused or not.
func expectedText(list []expected) string {
	var words []string
	for _, e := range list {
		word := fmt.Sprint(e.at/1000 - day)
		if e.paused {
			word += "p"
		}
		if e.eitherText {
			word += "?"
		}
		if e.eitherPause {
			word += "/"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestExpectedTicksFollowTheChanges(t *testing.T) {
	put := func(t text, as, answered float64) change {
		return change{what: doPut, text: t, sent: at(as), answered: at(answered), at: ms(as)}
	}
	do := func(what string, as, answered float64) change {
		return change{what: what, sent: at(as), answered: at(answered), at: ms(as)}
	}
	for name, c := range map[string]struct {
		changes []change
		outages []outage
		want    string
	}{
		"from its save on":          {changes: []change{put(secondly(), 0, 0.5)}, want: "1 2 3 4 5 6 7 8 9"},
		"every, from its save on":   {changes: []change{put(every(3), 1.9, 2.1)}, want: "4 7"},
		"steps of the minute":       {changes: []change{put(stepping("1/4 * * * * *", 1, 4), 0, 0.5)}, want: "1 5 9"},
		"every, from its start on":  {changes: []change{put(text{every: 3, start: day + 5}, 1, 1.1)}, want: "5 8"},
		"up to its end":             {changes: []change{put(text{every: 2, end: day + 6}, 0, 0.1)}, want: "2 4 6"},
		"another text keeps anchor": {changes: []change{put(every(2), 1, 1.1), put(every(4), 6.5, 6.6)}, want: "3 5 9"},
		"a tick at the save is the old text's": {
			changes: []change{put(every(2), 0, 0.1), put(every(5), 4, 4.1)}, want: "2 4 5",
		},
		"a save that is kept after the tick": {
			changes: []change{put(every(2), 0, 0.1), put(every(5), 3.9, 5.1)}, want: "2 4? 5?",
		},
		"which a kill cuts short": {
			changes: []change{put(every(2), 0, 0.1), put(every(5), 3.9, 9)}, outages: []outage{{at(4.2), at(8)}},
			want: "2 4? 5",
		},
		"deleted and made again": {
			changes: []change{put(every(3), 0, 0.1), do(doDelete, 3.5, 3.6), put(every(2), 5, 6.1)}, want: "3 7 9",
		},
		"paused": {
			changes: []change{put(every(2), 0, 0.1), do(doPause, 3, 3.1), do(doResume, 6, 6.1)}, want: "2 4p 6p 8",
		},
		"paused about a tick": {
			changes: []change{put(every(2), 0, 0.1), do(doPause, 3.9, 4.1)}, want: "2 4p/ 6p 8p",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &schedule{changes: c.changes}
			if got := expectedText(s.expect(c.outages, ms(9.5))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestGapIsTheLongestTimeBetweenTicks(t *testing.T) {
	for want, text := range map[int64]text{
		1: secondly(), 3: every(3), 4: stepping("1/4 * * * * *", 1, 4), 60: stepping("* * * * *", 0, 60),
		50: {seconds: []int{5, 15}},
	} {
		if got := text.gap(); got != want {
			t.Errorf("%v: got %d, want %d", text, got, want)
		}
	}
}
