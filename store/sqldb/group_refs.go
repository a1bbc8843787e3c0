package sqldb

import (
	"cmp"
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	selectGroupsOpen = `
SELECT DISTINCT job, version FROM runs WHERE members IS NOT NULL AND state < 6 ORDER BY job, version LIMIT 100000`
	selectGroupsOpenOf = `
SELECT seq, tail FROM runs WHERE job = $1 AND version = $2 AND members IS NOT NULL AND state < 6 ORDER BY seq LIMIT $3`
	// Of those that bring what they are made of: LIKE only narrows.
	selectGroupsBringing = `
SELECT r.seq, r.tail, g.doc FROM runs r JOIN groups g ON g.run = r.seq
WHERE r.job = $1 AND r.version = $2 AND r.members IS NOT NULL AND r.state < 6 AND g.doc LIKE $3 ESCAPE '\' ORDER BY r.seq`

	// maxGroupsNamed bounds how many groups a refusal names.
	maxGroupsNamed = 10
)

// refuseInGroups is a *store.NamedError where an unfinished group names a job that is to be deleted.
func (s *Store) refuseInGroups(tx Tx, name string) error {
	var keys []specKey
	err := tx.Query(selectGroupsOpen, func(r Row) error {
		keys = append(keys, specKey{r.Int(0), int(r.Int(1))})
		return nil
	})
	if err != nil {
		return err
	}
	var runs []jobs.ID
	for _, key := range keys {
		p, err := s.pinnedSpec(tx, key)
		if err != nil {
			return err
		}
		var found []jobs.ID
		switch {
		case p.job == jobs.GroupJob:
			found, err = bringersOf(tx, key, name)
		case namesJob(p.spec.Group, name):
			found, err = openGroupsOf(tx, key)
		}
		if err != nil {
			return err
		}
		runs = append(runs, found...)
		if len(runs) >= maxGroupsNamed {
			break
		}
	}
	if len(runs) == 0 {
		return nil
	}
	slices.SortFunc(runs, func(a, b jobs.ID) int { return cmp.Compare(a.Seq(), b.Seq()) })
	return &store.NamedError{Kind: store.KindJob, Name: name, Groups: runs[:min(len(runs), maxGroupsNamed)]}
}

func namesJob(g *jobs.Group, name string) bool {
	if g == nil {
		return false
	}
	for i := range g.Members {
		if g.Members[i].Job == name {
			return true
		}
	}
	return g.Merge != nil && g.Merge.Job == name
}

func openGroupsOf(tx Tx, key specKey) (runs []jobs.ID, err error) {
	err = tx.Query(selectGroupsOpenOf, func(r Row) error {
		runs = append(runs, jobs.IDOf(r.Int(0), r.Int(1)))
		return nil
	}, key.job, key.version, maxGroupsNamed)
	return runs, err
}

// bringersOf are the groups that no job describes and that name one.
func bringersOf(tx Tx, key specKey, name string) (runs []jobs.ID, err error) {
	err = tx.Query(selectGroupsBringing, func(r Row) error {
		id := jobs.IDOf(r.Int(0), r.Int(1))
		var doc jobs.Group
		if err := jobs.DecodeLenient(r.Bytes(2), &doc); err != nil {
			return fmt.Errorf("read what group %s is made of: %w", id, err)
		}
		if namesJob(&doc, name) && len(runs) < maxGroupsNamed {
			runs = append(runs, id)
		}
		return nil
	}, key.job, key.version, containing(`"job":"`+name+`"`))
	return runs, err
}
