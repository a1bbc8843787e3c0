package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nightshift/scripts/internal/rig"
)

// good is a group of three whose second member failed, as it should be seen.
func good() (*group, seen) {
	g := &group{key: "g", id: "G", members: 3, refused: 1, last: byCancel}
	var got seen
	states := []string{"succeeded", "failed", "cancelled"}
	p := payload{Group: "G", Succeeded: []string{"m0"}, Failed: []string{"m1"}, Missing: []string{"m2"}}
	for i, state := range states {
		got.members.Items = append(got.members.Items, struct {
			Name, Job, Run, State string
			Missing               bool
		}{name(i), memberJob, fmt.Sprint("r", i), state, state == "cancelled"})
		res := result{Name: name(i), Job: memberJob, Run: fmt.Sprint("r", i), State: state, Result: json.RawMessage("null")}
		if state == "succeeded" {
			res.Result = g.resultOf(i)
		}
		if state == "failed" {
			res.Error = &struct {
				Kind string `json:"kind"`
			}{"http"}
		}
		p.Results = append(p.Results, res)
	}
	got.run = rig.Run{State: "succeeded", Result: json.RawMessage(`{"merged": 3}`)}
	got.merges = []rig.Run{{ID: "M", OperationID: "M", State: "succeeded", Result: json.RawMessage(`{"merged":3}`)}}
	g.merged = []delivery{{run: "M", operation: "M", payload: p}}
	return g, got
}

func TestAGroupThatIsAsItShouldBeIsNoViolation(t *testing.T) {
	g, got := good()
	if faults := g.check(got); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
	g.merged = append(g.merged, g.merged[0]) // an attempt that was lost
	if faults := g.check(got); len(faults) > 0 {
		t.Errorf("called twice: %q", faults)
	}
}

func TestEachWayToMergeWronglyIsSeen(t *testing.T) {
	for want, spoil := range map[string]func(*group, *seen){
		"it was merged 2 times":         func(_ *group, s *seen) { s.merges = append(s.merges, s.merges[0]) },
		"it was merged 0 times":         func(_ *group, s *seen) { s.merges = nil },
		"its merge was never called":    func(g *group, _ *seen) { g.merged = nil },
		"of run N, operation M":         func(g *group, _ *seen) { g.merged[0].run = "N" },
		"has 2 results":                 func(g *group, _ *seen) { g.merged[0].payload.Results = g.merged[0].payload.Results[:2] },
		"result 0 is of m1":             func(g *group, _ *seen) { r := g.merged[0].payload.Results; r[0], r[1] = r[1], r[0] },
		"names [] as failed, want [m1]": func(g *group, _ *seen) { g.merged[0].payload.Failed = nil },
		"result 0 is of m0, run r0, succeeded, null": func(g *group, _ *seen) {
			g.merged[0].payload.Results[0].Result = json.RawMessage("null")
		},
		"member m0 cancelled, want one of [succeeded]": func(_ *group, s *seen) {
			s.members.Items[0].State, s.members.Items[0].Missing = "cancelled", true
		},
		"ended failed":        func(_ *group, s *seen) { s.run.State = "failed" },
		"and the group":       func(_ *group, s *seen) { s.run.Result = json.RawMessage("1") },
		"it has 2 members":    func(_ *group, s *seen) { s.members.Items = s.members.Items[:2] },
		"inlined":             func(g *group, _ *seen) { g.merged[0].payload.Inlined = new(false) },
		"says group another":  func(g *group, _ *seen) { g.merged[0].payload.Group = "another" },
		"missing false":       func(_ *group, s *seen) { s.members.Items[2].Missing = false },
		"member 1 is another": func(_ *group, s *seen) { s.members.Items[1].Name = "another" },
	} {
		g, got := good()
		spoil(g, &got)
		if faults := strings.Join(g.check(got), "\n"); !strings.Contains(faults, want) {
			t.Errorf("want %q, got %q", want, faults)
		}
	}
}

func TestGroupsOfAllSortsAreDrawn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for i := range 100 {
		g := newGroup(i, random)
		seen[g.last] = true
		seen["large"] = seen["large"] || g.large
		seen["one fails"] = seen["one fails"] || g.refused >= 0
		seen["hangs"] = seen["hangs"] || g.hangs
		seen["of one"] = seen["of one"] || g.members == 1
		if g.refused >= g.members-1 && g.refused >= 0 {
			t.Errorf("the last of %d members is refused", g.members)
		}
	}
	for _, sort := range []string{byAnswer, byFailure, byCancel, "large", "one fails", "hangs", "of one"} {
		if !seen[sort] {
			t.Errorf("none: %s", sort)
		}
	}
}
