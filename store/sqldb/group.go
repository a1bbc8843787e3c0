package sqldb

import (
	"encoding/json"
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// See Groups in doc.go.

const (
	selectGroup = `
SELECT g.phase, g.depth, g.need, g.rest, g.merge, g.deadline, r.tail, r.cancel_at, r.state, j.name
FROM groups g JOIN runs r ON r.seq = g.run JOIN jobs j ON j.id = r.job WHERE g.run = $1`
	selectGroupDoc   = `SELECT doc, keep_of, draft FROM groups WHERE run = $1`
	selectGroupDepth = `SELECT depth FROM groups WHERE run = $1`
	insertGroup      = `
INSERT INTO groups (run, doc, keep_of, depth, phase, need, rest) VALUES ($1, $2, $3, $4, 0, 0, 0)`
	updateGroupPhase = `UPDATE groups SET phase = $2, deadline = NULL WHERE run = $1`
	// Whether something of a group has not ended.
	selectOpenOf = `SELECT seq, tail FROM runs WHERE parent = $1 AND parent IS NOT NULL AND state < 6 LIMIT 1`
	// Of a group that has ended, also where a newer run of the group has taken it over.
	selectOpenMember = `
SELECT r.seq, r.tail FROM members m JOIN runs r ON r.seq = m.run AND r.tail = m.tail
WHERE m.parent = $1 AND r.state < 6 ORDER BY m.place LIMIT 1`
	selectPlace = `SELECT parent, place FROM runs WHERE seq = $1`
)

// What a bad member does to the rest (groups.rest).
const (
	restWaits   = 0
	restCancels = 1
	restGone    = 2 // it has been cancelled
)

// groupRow is how a group stands.
type groupRow struct {
	run       jobs.ID
	job       string
	phase     store.GroupPhase
	depth     int
	need      int
	rest      int
	merge     int64 // 0: none was made
	deadline  jobs.Time
	cancelled bool // its cancel was acknowledged
	state     jobs.State
}

// readGroup gives nil where a run is no group that has started, or brings what it is made of.
func readGroup(tx Tx, run jobs.ID) (*groupRow, error) {
	var g *groupRow
	_, err := one(tx, selectGroup, func(r Row) {
		if r.Int(6) != run.Tail() {
			return
		}
		g = &groupRow{
			run: run, phase: store.GroupPhase(r.Int(0)), depth: int(r.Int(1)), need: int(r.Int(2)), rest: int(r.Int(3)),
			merge: r.Int(4), deadline: r.Time(5), cancelled: !r.Null(7), state: jobs.State(r.Int(8)), job: r.Text(9),
		}
	}, run.Seq())
	return g, err
}

// groupDoc is what is kept of what a group is made of.
type groupDoc struct {
	doc   *jobs.Group // nil: its job says it
	keep  int64       // 0: none
	draft *jobs.Run   // nil: it merges nothing, or has not started
}

func readGroupDoc(tx Tx, run int64) (d groupDoc, err error) {
	var bad error
	_, err = one(tx, selectGroupDoc, func(r Row) {
		d.keep = r.Int(1)
		if !r.Null(0) {
			d.doc = &jobs.Group{}
			bad = jobs.DecodeLenient(r.Bytes(0), d.doc)
		}
		if !r.Null(2) && bad == nil {
			d.draft, bad = parseDraft(r.Bytes(2))
		}
	}, run)
	if err = errors.Join(err, bad); err != nil {
		err = fmt.Errorf("read what group %d is made of: %w", run, err)
	}
	return d, err
}

// mergeDraft is what a merge is made from, as it is kept.
type mergeDraft struct {
	Job         string            `json:"job"`
	Priority    int               `json:"priority,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Correlation string            `json:"correlation,omitempty"`
	Traceparent string            `json:"traceparent,omitempty"`
	CreatedBy   string            `json:"created_by,omitempty"`
	MaxAttempts int               `json:"max_attempts,omitempty"`
	Timeout     int64             `json:"timeout,omitempty"`
	Keys        jobs.Keys         `json:"keys"`
	// Error is why it is born failed.
	Error *jobs.Failure `json:"error,omitempty"`
}

// draftText is NULL where a group merges nothing.
func draftText(run *jobs.Run) (any, error) {
	if run == nil {
		return nil, nil
	}
	d := mergeDraft{
		Job: run.Job, Priority: run.Priority, Labels: run.Labels, Correlation: run.CorrelationID,
		Traceparent: run.Traceparent, CreatedBy: run.CreatedBy, MaxAttempts: run.MaxAttempts,
		Timeout: int64(run.Timeout), Keys: run.Keys,
	}
	if run.State == jobs.Failed {
		d.Error = run.Error
	}
	text, err := json.Marshal(&d)
	return string(text), err
}

func parseDraft(text []byte) (*jobs.Run, error) {
	var d mergeDraft
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read the draft of its merge: %w", err)
	}
	run := &jobs.Run{
		Job: d.Job, Priority: d.Priority, Labels: d.Labels, CorrelationID: d.Correlation, Traceparent: d.Traceparent,
		CreatedBy: d.CreatedBy, MaxAttempts: d.MaxAttempts, Timeout: jobs.Duration(d.Timeout), Keys: d.Keys,
		State: jobs.Queued, Trigger: jobs.TriggerGroup, Place: mergePlace,
	}
	if d.Error != nil {
		run.State, run.Error = jobs.Failed, d.Error
	}
	return run, nil
}

// mergePlace is the place of what merges the members.
const mergePlace = -1

// groupLease is what a group's run is made of when it is to start, or was when it has.
func groupLease(tx Tx, run *jobs.Run, spec *jobs.Spec) (*store.GroupLease, error) {
	d, err := readGroupDoc(tx, run.ID.Seq())
	if err != nil {
		return nil, err
	}
	l := &store.GroupLease{Doc: *spec.Group}
	if d.doc != nil {
		l.Doc = *d.doc
	}
	if d.keep != 0 {
		_, err = one(tx, selectEnded, func(r Row) { l.KeepOf = jobs.IDOf(r.Int(0), r.Int(1)) }, d.keep)
	}
	if err == nil {
		l.Depth, err = depthOf(tx, run.Group)
	}
	return l, err
}

// depthOf is how deep the group of a run lies that is in another one, or in none.
func depthOf(tx Tx, in jobs.ID) (depth int, err error) {
	if !in.IsNil() {
		_, err = one(tx, selectGroupDepth, func(r Row) { depth = int(r.Int(0)) }, in.Seq())
	}
	return depth + 1, err
}

// quietly does something to the members of a group whose ends are taken in at once when it is done.
func (s *Store) quietly(group jobs.ID, fn func() error) error {
	if _, ok := s.quiet[group.Seq()]; ok {
		return fn()
	}
	s.quiet[group.Seq()] = struct{}{}
	defer delete(s.quiet, group.Seq())
	return fn()
}

// setPhase has a group that is over be given to the process.
func (s *Store) setPhase(tx Tx, group jobs.ID, phase store.GroupPhase) error {
	if phase == store.GroupEnding {
		s.groups.ending = true
		tx.Wake()
	}
	_, err := tx.Exec(updateGroupPhase, group.Seq(), int(phase))
	return err
}

// groupSight is what the process knows of groups without asking: most stores have none that wait.
type groupSight struct {
	known    bool
	ending   bool      // some may have to be ended
	deadline jobs.Time // the next may come then; zero: none
}

// sight reads what is not known.
func (s *Store) sight(tx Tx) (*groupSight, error) {
	if s.groups.known {
		return &s.groups, nil
	}
	s.groups = groupSight{}
	_, err := one(tx, selectGroupsEnding, func(Row) { s.groups.ending = true }, 1)
	if err == nil {
		_, err = one(tx, selectNextDeadline, func(r Row) { s.groups.deadline = r.Time(0) })
	}
	s.groups.known = err == nil
	return &s.groups, err
}
