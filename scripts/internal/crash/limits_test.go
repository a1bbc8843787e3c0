package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nightshift/scripts/internal/rig"
)

func TestEachLimitIsCounted(t *testing.T) {
	bodyA, bodyB := []byte(`{"lock": "a", "thing": "a"}`), []byte(`{"lock": "b", "thing": "b"}`)
	type request struct {
		job  string
		body []byte
	}
	repeat := func(n int, job string) (list []request) {
		for range n {
			list = append(list, request{job, bodyA})
		}
		return list
	}
	cases := []struct {
		name     string
		requests []request
		want     string
	}{
		{"two keys", []request{{keyed, bodyA}, {keyed, bodyB}}, ""},
		{"one key twice", repeat(2, keyed), "2 requests of the key a were in flight, the limit is 1"},
		{"a job's limit", repeat(trioLimit, trio), ""},
		{"a job past it", repeat(trioLimit+1, trio), "4 requests of the job trio"},
		{"a queue past it", append(repeat(3, trio), request{keyed, bodyA}, request{keyed, bodyB}), "5 requests of the queue"},
		{"things of a dependency", []request{{lone, bodyA}, {lone, bodyB}}, ""},
		{"a dependency past it", append(repeat(2, borrower), request{lone, bodyA}), "3 requests of the dependency"},
		{"one thing twice", repeat(2, lone), "2 requests of the thing a"},
		{"a host", repeat(hostLimit, "quick"), ""},
		{"a host past it", repeat(hostLimit+1, "quick"), "17 requests of the host"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory()
			var leave []func()
			for _, r := range c.requests {
				leave = append(leave, h.enters(0, r.job, r.body))
			}
			expect(t, h.surprises, c.want)
			for _, leaves := range leave {
				leaves()
			}
			for of, n := range h.flying {
				if n != 0 {
					t.Errorf("%d of %s are left", n, of)
				}
			}
		})
	}
}

func TestRequestsOfADeadServerAreInFlightNoMore(t *testing.T) {
	h := newHistory()
	leaves := h.enters(0, "keyed", []byte(`{"lock": "a"}`))
	h.died()
	h.enters(1, "keyed", []byte(`{"lock": "a"}`))
	leaves()                                      // its handler ends late
	h.enters(0, "keyed", []byte(`{"lock": "a"}`)) // it was sent before the death, and read after it
	expect(t, h.surprises, "")
	h.enters(1, "keyed", []byte(`{"lock": "a"}`))
	expect(t, h.surprises, "2 requests of the key a")
}

func TestRateIsAskedOfEachWindow(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(millis ...int) (all []time.Time) {
		for _, ms := range millis {
			all = append(all, begin.Add(time.Duration(ms)*time.Millisecond))
		}
		return all
	}
	cases := []struct {
		name   string
		starts []time.Time
		want   string
	}{
		{"none", nil, ""},
		{"as many as it allows", at(0, 1, 2, 1000, 1001, 1002), ""},
		{"over the border of windows", at(0, 998, 999, 1000, 1001), "4 starts of the dependency started within 3ms"},
		{"in any order", at(999, 0, 500, 1), "4 starts of the dependency started within 999ms"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { expect(t, tooMany("starts", c.starts, 3, time.Second), c.want) })
	}
}

func TestRunsOfOneThingMustNotBeActiveTogether(t *testing.T) {
	begin := time.Unix(1000, 0)
	second := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Second) }
	for _, c := range []struct {
		name         string
		seenActiveAt int
		want         string
	}{
		{"the first has ended", 2, ""},
		{"the first is active after the second was made", 5, "run b of thing "},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory()
			first, other := "k", ""
			for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "l", "m", "n", "o", "p", "q"} {
				if payloadOf(key)["thing"] == payloadOf(first)["thing"] {
					other = key
				}
			}
			for key, id := range map[string]string{first: "a", other: "b"} {
				h.intend(key, lone)
				h.answered(key, rig.Run{ID: id}, http.StatusAccepted)
			}
			h.keys[first].sentAt, h.keys[first].madeAt = second(0), second(1)
			h.keys[other].sentAt, h.keys[other].madeAt = second(3), second(4)
			h.saw(rig.Run{ID: "a", State: "running"}, second(c.seenActiveAt), second(c.seenActiveAt))
			expect(t, h.checkUnique(), c.want)
		})
	}
}

func TestScriptThatFoundAnotherOneAliveIsAViolation(t *testing.T) {
	h, file := newHistory(), filepath.Join(t.TempDir(), "overlaps")
	if err := h.readOverlaps(file); err != nil || h.surprises != nil {
		t.Fatal(err, h.surprises)
	}
	if err := os.WriteFile(file, []byte("r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.readOverlaps(file); err != nil {
		t.Fatal(err)
	}
	expect(t, h.surprises, "run r of locked began while another one's processes lived")
}
