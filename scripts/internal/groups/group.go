package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Jobs.
const (
	memberJob = "member"
	mergeJob  = "merge"
)

// How the last member of a group ends.
const (
	byAnswer  = "answer"
	byFailure = "failure" // an answer that is not tried again
	byCancel  = "cancel"  // by a call
)

// group is one group, as it is asked for and as it was seen.
type group struct {
	key     string
	members int
	last    string // how its last member ends
	large   bool   // its results are too large to stand in the payload of its merge
	refused int    // the place of a member that fails, not the last; -1: none does
	hangs   bool   // the first request of its merge is not answered before the kill

	id       string        // of its run
	held     chan struct{} // closed when its last member is with the receiver
	open     chan struct{} // closed when that may end
	lastRun  string        // the run of its last member
	requests int           // of its merge
	merged   []delivery    // what its merge got, request by request
}

// delivery is a request of a merge.
type delivery struct {
	run, operation string
	payload        payload
}

// payload is what a merge gets.
type payload struct {
	Group     string   `json:"group"`
	Succeeded []string `json:"succeeded"`
	Failed    []string `json:"failed"`
	Missing   []string `json:"missing"`
	Results   []result `json:"results"`
	Inlined   *bool    `json:"inlined"`
}

// result is what became of a member.
type result struct {
	Name   string          `json:"name"`
	Job    string          `json:"job"`
	Run    string          `json:"run"`
	State  string          `json:"state"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Kind string `json:"kind"`
	} `json:"error"`
}

func newGroup(n int, random *rand.Rand) *group {
	g := &group{
		key: fmt.Sprintf("group-%d", n), members: 1 + random.IntN(5), refused: -1, last: byAnswer,
		held: make(chan struct{}), open: make(chan struct{}),
	}
	switch random.IntN(6) {
	case 0:
		g.last = byFailure
	case 1:
		g.last = byCancel
	}
	if random.IntN(8) == 0 {
		g.large, g.members = true, largeMembers
	}
	if g.members > 2 && random.IntN(3) == 0 {
		g.refused = random.IntN(g.members - 1)
	}
	g.hangs = random.IntN(4) == 0
	return g
}

// Groups whose results are more than 1 MiB together.
const (
	largeMembers = 20
	largeResult  = 60 << 10
)

// name is that of a member.
func name(place int) string { return fmt.Sprintf("m%d", place) }

// body is what POST /v1/groups takes.
func (g *group) body() map[string]any {
	members := make([]map[string]any, g.members)
	for i := range members {
		members[i] = map[string]any{
			"name": name(i), "job": memberJob,
			"payload": map[string]any{"key": "{{ payload.key }}", "place": i},
		}
	}
	return map[string]any{
		"members": members, "merge": map[string]any{"job": mergeJob}, "need": 0, "payload": map[string]any{"key": g.key},
	}
}

// resultOf is what a member answers, the same to each request.
func (g *group) resultOf(place int) json.RawMessage {
	fill := 0
	if g.large {
		fill = largeResult
	}
	text, err := json.Marshal(map[string]any{"key": g.key, "place": place, "fill": strings.Repeat("x", fill)})
	if err != nil {
		panic(err)
	}
	return text
}

// ends says how a member may have ended: in one of these states.
func (g *group) ends(place int) []string {
	switch {
	case place == g.refused, place == g.members-1 && g.last == byFailure:
		return []string{"failed"}
	case place == g.members-1 && g.last == byCancel:
		return []string{"succeeded", "cancelled"} // the answer may have been first
	}
	return []string{"succeeded"}
}
