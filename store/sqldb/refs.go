package sqldb

import (
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	insertRef = `
INSERT INTO refs (job, kind, name) VALUES ($1, $2, $3) ON CONFLICT (job, kind, name) DO NOTHING`
	deleteRefs   = `DELETE FROM refs WHERE job = $1`
	selectNamers = `
SELECT j.name FROM refs r JOIN jobs j ON j.id = r.job WHERE r.kind = $1 AND r.name = $2 ORDER BY r.job LIMIT 100`
	selectFollowed = `
SELECT name FROM refs WHERE job = (SELECT id FROM jobs WHERE name = $1) AND kind = $2
ORDER BY name LIMIT 20000`
)

// refMember is the kind of ref that a group has to the jobs of its members and its merge, besides those
// that each job has to what it names.
const refMember = "member"

// refsOf is what a job names, each once.
func refsOf(j *jobs.Job) []named {
	var refs []named
	seen := map[named]bool{}
	note := func(kind, name string) {
		if n := (named{kind, name}); !seen[n] {
			seen[n], refs = true, append(refs, n)
		}
	}
	for _, ref := range append(j.Refs(), j.Shares()...) {
		note(ref.Kind, ref.Name)
	}
	if j.Group != nil {
		for _, ref := range j.Group.Jobs("") {
			note(refMember, ref.Name)
		}
	}
	return refs
}

// keepRefs notes what a job names. Queues and dependencies come to be by that.
func (v *saving) keepRefs(job int64, j *jobs.Job) error {
	for _, ref := range refsOf(j) {
		if _, err := v.tx.Exec(insertRef, job, ref.kind, ref.name); err != nil {
			return err
		}
		if kind := gateKindOf(ref.kind); kind != 0 {
			if _, err := v.makeGate(v.tx, gateKey{kind, 0, ref.name}, v.by.Now); err != nil {
				return err
			}
		}
	}
	return nil
}

// gateKindOf is the sort of gate that a kind of document is about; 0: of none.
func gateKindOf(kind string) jobs.GateKind {
	switch kind {
	case store.KindQueue:
		return jobs.GateQueue
	case store.KindDependency:
		return jobs.GateDependency
	}
	return 0
}

// namers are the jobs that name something, sorted.
func namers(tx Tx, kind, name string) (by []string, err error) {
	if alwaysStands(named{kind, name}) {
		return nil, nil
	}
	err = tx.Query(selectNamers, func(r Row) error {
		by = append(by, r.Text(0))
		return nil
	}, kind, name)
	slices.Sort(by)
	return by, err
}

// refuseNamed is a *store.NamedError where a job or an alert names what is to be deleted.
func refuseNamed(tx Tx, kind, name string) error {
	e := &store.NamedError{Kind: kind, Name: name}
	var err error
	if e.By, err = namers(tx, kind, name); err == nil && kind == store.KindJob {
		var alerts []*jobs.Alert
		alerts, err = standingAlerts(tx)
		e.Alerts = alertsRunning(alerts, name)
	}
	if err == nil && len(e.By)+len(e.Alerts) > 0 {
		err = e
	}
	return err
}

// circles looks for jobs whose run makes a run of themselves in the end.
type circles struct {
	tx    Tx
	seen  map[string]bool // true: all that follows it is free of circles, or was told
	path  []string
	found [][]string // each from a job to itself
}

// from follows a job's on_success, members and merge. No job is followed twice.
func (c *circles) from(name string) error {
	if over, ok := c.seen[name]; ok {
		if !over {
			at := slices.Index(c.path, name)
			c.found = append(c.found, append(slices.Clone(c.path[at:]), name))
		}
		return nil
	}
	c.seen[name] = false
	c.path = append(c.path, name)
	next, err := followed(c.tx, store.KindJob, name)
	for i := 0; err == nil && i < len(next); i++ {
		err = c.from(next[i])
	}
	c.seen[name] = true
	c.path = c.path[:len(c.path)-1]
	return err
}

// followed are the names that a job has refs of a kind to.
func followed(tx Tx, kind, name string) (next []string, err error) {
	err = tx.Query(selectFollowed, func(r Row) error {
		next = append(next, r.Text(0))
		return nil
	}, name, kind)
	return next, err
}

// checkCircles adds a fault for each circle, at the first entry that is part of it.
func (v *saving) checkCircles() error {
	c := circles{tx: v.tx, seen: map[string]bool{}}
	for i := range v.c.Jobs {
		if job := v.c.Jobs[i].Job; v.out.Jobs[i].Changed && (len(job.OnSuccess) > 0 || job.Group != nil) {
			if err := c.from(v.c.Jobs[i].Job.Name); err != nil {
				return err
			}
		}
	}
	for _, path := range c.found {
		// It was free of circles before, so one of its jobs is given and changed.
		at := slices.IndexFunc(path, func(name string) bool {
			i, ok := v.given[named{store.KindJob, name}]
			return ok && v.out.Jobs[i].Changed
		})
		round := slices.Concat(path[at:len(path)-1], path[:at+1])
		i := v.given[named{store.KindJob, round[0]}]
		circle := &store.CircleError{Path: round}
		for _, ref := range v.c.Jobs[i].Job.Refs() {
			if ref.Kind == store.KindJob && ref.Name == round[1] {
				circle.Location = ref.Location
				break
			}
		}
		v.faults = append(v.faults,
			&store.EntryError{Index: i, Kind: store.KindJob, Err: circle})
	}
	if len(c.found) > 0 {
		return nil
	}
	return v.checkNesting()
}
