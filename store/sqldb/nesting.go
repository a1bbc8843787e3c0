package sqldb

import (
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

// nesting tells how groups stand inside one another. There are no circles.
type nesting struct {
	tx             Tx
	inside, around map[string][]string // the longest way from a job, by its name
}

// within is the longest chain of groups from a job inwards, itself included; nil: it is no group, or one
// without members.
func (n *nesting) within(name string) ([]string, error) {
	return n.longest(name, n.inside, func(name string) ([]string, error) {
		return followed(n.tx, refMember, name)
	}, 1)
}

// outside is the longest chain of groups that a job stands in, the nearest first.
func (n *nesting) outside(name string) ([]string, error) {
	return n.longest(name, n.around, func(name string) ([]string, error) {
		return namers(n.tx, refMember, name)
	}, 0)
}

// longest follows each step from a job to the end. own: the job itself is part of its chain, where it goes
// on; else who it leads to is.
func (n *nesting) longest(
	name string, known map[string][]string, steps func(string) ([]string, error), own int,
) ([]string, error) {
	if way, ok := known[name]; ok {
		return way, nil
	}
	next, err := steps(name)
	if err != nil {
		return nil, err
	}
	var longest []string
	for _, to := range next {
		way, err := n.longest(to, known, steps, own)
		if err != nil {
			return nil, err
		}
		if own == 0 {
			way = append([]string{to}, way...)
		}
		if len(way) > len(longest) {
			longest = way
		}
	}
	if own == 1 && len(next) > 0 {
		longest = append([]string{name}, longest...)
	}
	known[name] = longest
	return longest, nil
}

// checkNesting adds a fault for each group by which groups stand too deep inside one another.
func (v *saving) checkNesting() error {
	n := &nesting{tx: v.tx, inside: map[string][]string{}, around: map[string][]string{}}
	for i := range v.c.Jobs {
		job := v.c.Jobs[i].Job
		if job.Group == nil || !v.out.Jobs[i].Changed {
			continue
		}
		inside, err := n.within(job.Name)
		if err != nil {
			return err
		}
		around, err := n.outside(job.Name)
		if err != nil {
			return err
		}
		if len(around)+max(len(inside), 1) <= jobs.MaxGroupDepth {
			continue
		}
		path := slices.Clone(around)
		slices.Reverse(path)
		deep := &store.NestingError{Location: jobs.KindGroup, Path: append(path, inside...)}
		v.faults = append(v.faults, &store.EntryError{Index: i, Kind: store.KindJob, Err: deep})
	}
	return nil
}
