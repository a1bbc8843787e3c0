package sqldb

import (
	"errors"

	"nightshift/jobs"
	"nightshift/store"
)

// leftOver is what prune removes: what bears the set and is not given, jobs first.
func leftOver(tx Tx, c *store.Changes) (left []named, err error) {
	if !c.Prune || c.Set == "" {
		return nil, nil
	}
	given := givenBy(c)
	add := func(n named) {
		if _, ok := given[n]; !ok {
			left = append(left, n)
		}
	}
	err = tx.Query(selectSetJobs, func(r Row) error {
		add(named{store.KindJob, r.Text(0)})
		return nil
	}, c.Set)
	if err != nil {
		return nil, err
	}
	err = tx.Query(selectSetDocuments, func(r Row) error {
		add(named{r.Text(0), r.Text(1)})
		return nil
	}, c.Set)
	return left, err
}

// prune removes what is left over. That others name some of it is looked at once all is gone.
func (v *saving) prune() error {
	left, err := leftOver(v.tx, v.c)
	if err != nil {
		return err
	}
	by := v.by
	if by.Note == "" {
		by.Note = "pruned: the set " + v.c.Set + " does not hold it any more"
	}
	taken := map[string]bool{} // schedules that went with their jobs
	for _, n := range left {
		gone := store.Removed{Kind: n.kind, Name: n.name}
		switch {
		case n.kind == store.KindJob:
			of, err := v.pruneJob(n.name, by)
			if err != nil {
				return err
			}
			gone.Runs = of.cancelled
			v.out.Removed, v.out.Stop = append(v.out.Removed, gone), append(v.out.Stop, of.stop...)
			for _, name := range of.schedules {
				taken[name] = true
				v.out.Removed = append(v.out.Removed, store.Removed{Kind: store.KindSchedule, Name: name})
			}
			continue
		case n.kind == store.KindSchedule && taken[n.name]:
			continue
		}
		v.limits.of(n)
		if n.kind == store.KindSchedule {
			err = v.demandDecidedByName(n.name)
		}
		if err == nil {
			err = v.removeDocument(v.tx, n, by)
		}
		if err != nil {
			return err
		}
		v.out.Removed = append(v.out.Removed, gone)
	}
	return nil
}

func (v *saving) pruneJob(name string, by store.By) (goneJob, error) {
	row, err := liveJobRow(v.tx, name)
	if err != nil {
		return goneJob{}, err
	}
	return v.removeJob(v.tx, row, by)
}

func (v *saving) demandDecidedByName(name string) error {
	row, err := liveScheduleRow(v.tx, name)
	if err == nil {
		v.demandDecided(row)
	}
	return err
}

// checkRefs demands that what jobs name stands, and that no job follows itself.
func (v *saving) checkRefs() error {
	for i := range v.c.Jobs {
		for _, ref := range v.c.Jobs[i].Job.Refs() {
			ok, err := v.stands(named{ref.Kind, ref.Name})
			if err != nil {
				return err
			}
			if !ok {
				missing := &store.MissingRef{Location: ref.Location, Kind: ref.Kind, Name: ref.Name}
				v.faults = append(v.faults,
					&store.EntryError{Index: i, Kind: store.KindJob, Err: missing})
			}
		}
	}
	for _, gone := range v.out.Removed {
		by, err := namers(v.tx, gone.Kind, gone.Name)
		if err != nil {
			return err
		}
		var others []string // those given have their fault already
		for _, name := range by {
			if _, ok := v.given[named{store.KindJob, name}]; !ok {
				others = append(others, name)
			}
		}
		if len(others) > 0 {
			v.faults = append(v.faults,
				&store.NamedError{Kind: gone.Kind, Name: gone.Name, By: others})
		}
		if gone.Kind != store.KindJob {
			continue
		}
		var named *store.NamedError
		if err := v.refuseInGroups(v.tx, gone.Name); errors.As(err, &named) {
			v.faults = append(v.faults, named)
		} else if err != nil {
			return err
		}
	}
	if err := v.checkAlerts(); err != nil {
		return err
	}
	return v.checkCircles()
}

// stands reports whether a name may be used once the changes are made.
func (v *saving) stands(n named) (bool, error) {
	if _, ok := v.given[n]; ok || alwaysStands(n) {
		return true, nil
	}
	if n.kind == store.KindJob {
		row, err := v.jobRow(v.tx, n.name)
		return err == nil && row != nil && !row.deleted, err
	}
	d, err := storedDocument(v.tx, n.kind, n.name)
	return d != nil, err
}

// alwaysStands reports whether something is built in, or comes to be by being named.
func alwaysStands(n named) bool {
	return n == named{store.KindPolicy, jobs.PolicyDefault} || gateKindOf(n.kind) != 0
}
