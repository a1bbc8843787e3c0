package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"nightshift/scripts/internal/rig"
)

// seen is a group as the server tells of it when all is over.
type seen struct {
	run     rig.Run
	members listed
	merges  []rig.Run
}

// listed is what GET /v1/runs/ID/members answers.
type listed struct {
	Items []struct {
		Name, Job, Run, State string
		Missing               bool
	}
	Counts struct{ Members, Succeeded, Failed, Missing, Unfinished int }
	Merges []string
}

// judge reads every group, stops the server, looks into the file and checks all that was seen.
func (s *storm) judge(ctx context.Context) ([]string, error) {
	var faults []string
	for _, g := range s.groups {
		got, err := s.look(ctx, g)
		if err != nil {
			return nil, err
		}
		for _, f := range g.check(got) {
			faults = append(faults, fmt.Sprintf("group %s (%s): %s", g.id, g.key, f))
		}
	}
	if err := s.server.Stop(s.endWithin); err != nil {
		faults = append(faults, err.Error())
		_ = s.server.Kill()
	}
	inFile, err := s.inFile(ctx)
	if err != nil {
		return nil, err
	}
	s.receiver.mu.Lock()
	defer s.receiver.mu.Unlock()
	return append(append(s.receiver.faults, faults...), inFile...), nil
}

func (s *storm) look(ctx context.Context, g *group) (got seen, err error) {
	if got.run, err = s.server.Run(ctx, g.id); err != nil {
		return got, fmt.Errorf("read group %s: %w", g.id, err)
	}
	path := "/v1/runs/" + g.id + "/members?limit=1000"
	if _, err = s.server.Do(ctx, http.MethodGet, path, "", nil, &got.members); err != nil {
		return got, fmt.Errorf("read the members of group %s: %w", g.id, err)
	}
	for _, id := range got.members.Merges {
		merge, err := s.server.Run(ctx, id)
		if err != nil {
			return got, fmt.Errorf("read merge %s: %w", id, err)
		}
		got.merges = append(got.merges, merge)
	}
	return got, nil
}

// inFile looks for what must not be in the file when all is over.
func (s *storm) inFile(ctx context.Context) (faults []string, err error) {
	if _, err := rig.Inspect(ctx, s.server.DB()); err != nil {
		return nil, err
	}
	members := 0
	for _, g := range s.groups {
		members += g.members
	}
	for what, c := range map[string]struct {
		query string
		want  int
	}{
		"runs":                       {"SELECT COUNT(*) FROM runs", len(s.groups)*2 + members},
		"merges":                     {"SELECT COUNT(*) FROM runs WHERE place = -1", len(s.groups)},
		"groups with another number": {"SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE place = -1 GROUP BY parent HAVING COUNT(*) > 1)", 0},
		"unfinished runs":            {"SELECT COUNT(*) FROM runs WHERE state < 6", 0},
		"slots":                      {"SELECT COUNT(*) FROM slots", 0},
	} {
		rows, err := rig.Rows(ctx, s.server.DB(), c.query)
		if err != nil {
			return nil, err
		}
		if got := rows[0][0]; got != fmt.Sprint(c.want) {
			faults = append(faults, fmt.Sprintf("the file holds %s %s, want %d", got, what, c.want))
		}
	}
	return faults, nil
}

// check wants a group to have ended as its members say, and to have been merged once with all of them.
func (g *group) check(got seen) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if got.run.State != "succeeded" {
		add("ended %s: %v", got.run.State, got.run.Error)
	}
	states := make([]string, 0, g.members)
	for i, m := range got.members.Items {
		states = append(states, m.State)
		switch {
		case m.Name != name(i):
			add("member %d is %s", i, m.Name)
		case i < g.members && !slices.Contains(g.ends(i), m.State):
			add("member %s %s, want one of %v", m.Name, m.State, g.ends(i))
		case m.Missing != (m.State == "cancelled"):
			add("member %s %s, missing %t", m.Name, m.State, m.Missing)
		}
	}
	if len(states) != g.members {
		add("it has %d members, want %d", len(states), g.members)
		return faults
	}
	if len(got.merges) != 1 {
		add("it was merged %d times", len(got.merges))
		return faults
	}
	merge := &got.merges[0]
	if merge.State != "succeeded" || !bytes.Equal(compact(merge.Result), compact(got.run.Result)) {
		add("its merge %s with %s, and the group %s with %s", merge.State, merge.Result, got.run.State, got.run.Result)
	}
	return append(faults, g.checkMerged(merge, got, states)...)
}

// checkMerged wants each request of the merge to have been of its one run, with all results.
func (g *group) checkMerged(merge *rig.Run, got seen, states []string) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if len(g.merged) == 0 {
		add("its merge was never called")
	}
	for i, d := range g.merged {
		if d.run != merge.ID || d.operation != merge.OperationID {
			add("request %d of its merge was of run %s, operation %s; the merge is %s, operation %s", i+1, d.run,
				d.operation, merge.ID, merge.OperationID)
		}
		if d.payload.Group != g.id {
			add("request %d of its merge says group %s", i+1, d.payload.Group)
		}
		if (d.payload.Inlined == nil) == g.large {
			add("request %d of its merge: large %t, inlined %v", i+1, g.large, d.payload.Inlined)
		}
		for state, names := range map[string][]string{
			"succeeded": d.payload.Succeeded, "failed": d.payload.Failed, "cancelled": d.payload.Missing,
		} {
			if want := namesOf(states, state); !slices.Equal(names, want) {
				add("request %d of its merge names %v as %s, want %v", i+1, names, state, want)
			}
		}
		if len(d.payload.Results) != g.members {
			add("request %d of its merge has %d results", i+1, len(d.payload.Results))
			continue
		}
		for place, res := range d.payload.Results {
			m := got.members.Items[place]
			want := json.RawMessage("null")
			if m.State == "succeeded" {
				want = g.resultOf(place)
			}
			// A cancelled one may tell of an attempt that failed before.
			told := res.Error != nil && m.State != "cancelled"
			if res.Name != m.Name || res.Run != m.Run || res.State != m.State || !bytes.Equal(compact(res.Result), want) ||
				told != (m.State == "failed") {
				add("request %d of its merge: result %d is of %s, run %s, %s, %.80s", i+1, place, res.Name, res.Run, res.State,
					res.Result)
			}
		}
	}
	return faults
}

// namesOf are the members in a state, in their order.
func namesOf(states []string, state string) []string {
	var names []string
	for i, s := range states {
		if s == state {
			names = append(names, name(i))
		}
	}
	return names
}

func compact(text json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	return out.Bytes()
}
