package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	memberColumns = `, m.place, m.name, m.job, m.run, m.tail`
	selectMembers = `
SELECT ` + runColumns + listedColumns + memberColumns + `
FROM members m LEFT JOIN runs r ON r.seq = m.run AND r.tail = m.tail LEFT JOIN jobs j ON j.id = r.job
WHERE m.parent = $1 AND m.place > $2 ORDER BY m.place LIMIT $3`
	// The attempt that counts is the last.
	selectResults = `
SELECT ` + runColumns + listedColumns + memberColumns + `, a.result, a.truncated
FROM members m LEFT JOIN runs r ON r.seq = m.run AND r.tail = m.tail LEFT JOIN jobs j ON j.id = r.job
    LEFT JOIN attempts a ON a.run = r.seq AND a.number = r.number AND a.outcome = 1
WHERE m.parent = $1 AND m.place > $2 ORDER BY m.place LIMIT $3`
	selectResultOf = `
SELECT ` + runColumns + listedColumns + `, a.result, a.truncated
FROM runs r JOIN jobs j ON j.id = r.job LEFT JOIN attempts a ON a.run = r.seq AND a.number = r.number AND a.outcome = 1
WHERE r.seq = $1`
	selectMerges = `
SELECT ` + runColumns + listedColumns + `
FROM runs r JOIN jobs j ON j.id = r.job
WHERE r.parent = $1 AND r.place = -1 AND r.parent IS NOT NULL ORDER BY r.seq LIMIT 10000`
	selectGroupRun   = `SELECT tail, job, version, members, parent FROM runs WHERE seq = $1`
	selectMemberName = `SELECT name FROM members WHERE parent = $1 AND place = $2`
	insertKept       = `INSERT INTO payloads (run, body) VALUES ($1, $2) ON CONFLICT (run) DO NOTHING`

	// Members are read so many at a time, and about so many bytes of results.
	membersAtOnce = 200
	resultsChunk  = 1 << 20
)

// groupRun is the run of a group, started or not.
type groupRun struct {
	key     specKey
	started bool
	parent  jobs.ID
}

func readGroupRun(tx Tx, run jobs.ID) (g groupRun, err error) {
	found, err := one(tx, selectGroupRun, func(r Row) {
		if r.Int(0) == run.Tail() && !r.Null(3) {
			g = groupRun{specKey{r.Int(1), int(r.Int(2))}, r.Int(3) >= 0, r.ID(4)}
		}
	}, run.Seq())
	if err == nil && (!found || g.key.job == 0) {
		err = fmt.Errorf("group %s: %w", run, store.ErrNotFound)
	}
	return g, err
}

// Group implements store.Groups.
func (s *Store) Group(ctx context.Context, run jobs.ID) (*store.GroupInfo, error) {
	info := &store.GroupInfo{}
	err := s.db.Read(ctx, func(tx Tx) error {
		*info = store.GroupInfo{}
		of, err := readGroupRun(tx, run)
		if err != nil {
			return err
		}
		if !of.started {
			return unstarted(tx, run, of, info)
		}
		g, err := readGroup(tx, run)
		if err == nil && g == nil {
			err = fmt.Errorf("group %s has no row", run)
		}
		if err != nil {
			return err
		}
		d, err := readGroupDoc(tx, run.Seq())
		if err != nil {
			return err
		}
		t, err := tallyOf(tx, run)
		if err != nil {
			return err
		}
		info.Doc, info.Draft = withoutPayloads(d.doc), d.draft
		info.Phase, info.Depth, info.Deadline, info.Tally = g.phase, g.depth, g.deadline, t.GroupTally
		info.Merges, err = mergesOf(tx, run)
		return err
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

// unstarted describes a group that has no members yet.
func unstarted(tx Tx, run jobs.ID, of groupRun, info *store.GroupInfo) error {
	p, err := readPinned(tx, of.key)
	if err != nil {
		return err
	}
	d, err := readGroupDoc(tx, run.Seq())
	if err != nil {
		return err
	}
	if p.spec.Group != nil {
		info.Doc = *p.spec.Group
	}
	if d.doc != nil {
		info.Doc = *d.doc
	}
	g, err := readGroup(tx, run)
	if err == nil && g != nil {
		info.Phase = g.phase
	}
	if err == nil {
		info.Depth, err = depthOf(tx, of.parent)
	}
	return err
}

func withoutPayloads(doc *jobs.Group) jobs.Group {
	out := *doc
	out.Members = slices.Clone(doc.Members)
	for i := range out.Members {
		out.Members[i].Payload = nil
	}
	return out
}

func mergesOf(tx Tx, group jobs.ID) (list []*jobs.Run, err error) {
	err = tx.Query(selectMerges, func(r Row) error {
		run, err := scanListed(r)
		list = append(list, run)
		return err
	}, group[:])
	return list, err
}

// Members implements store.Groups.
func (s *Store) Members(ctx context.Context, run jobs.ID, p store.Page) ([]store.GroupMember, string, error) {
	after := int64(-1)
	if p.Cursor != "" {
		n, err := strconv.ParseInt(p.Cursor, 10, 64)
		if err != nil || n < 0 {
			return nil, "", errCursor
		}
		after = n
	}
	var list []store.GroupMember
	next := ""
	err := s.db.Read(ctx, func(tx Tx) error {
		list, next = nil, ""
		if _, err := readGroupRun(tx, run); err != nil {
			return err
		}
		return tx.Query(selectMembers, func(r Row) error {
			if len(list) == sizeOf(p) {
				next = strconv.Itoa(list[len(list)-1].Place)
				return nil
			}
			m, err := scanMember(r)
			list = append(list, m)
			return err
		}, run.Seq(), after, sizeOf(p)+1)
	})
	return list, next, err
}

// scanMember reads runColumns, listedColumns and memberColumns.
func scanMember(r Row) (m store.GroupMember, err error) {
	m = store.GroupMember{Place: int(r.Int(listedCount)), Name: r.Text(listedCount + 1), Job: r.Text(listedCount + 2)}
	if !r.Null(listedCount + 3) {
		m.ID = jobs.IDOf(r.Int(listedCount+3), r.Int(listedCount+4))
	}
	if !r.Null(0) {
		if m.Run, err = scanListed(r); err == nil {
			m.Run.Member = m.Name
		}
	}
	m.Missing = m.Run == nil || m.Run.State == jobs.Cancelled
	return m, err
}

// Results implements store.Groups. Of a member that was requeued since, and has not ended, it gives the run
// before.
func (s *Store) Results(ctx context.Context, run jobs.ID, each func(*store.GroupMember) error) error {
	for after := -1; ; {
		chunk, err := s.resultsAfter(ctx, run, after)
		if err != nil || len(chunk) == 0 {
			return err
		}
		for i := range chunk {
			if err := each(&chunk[i]); err != nil {
				return err
			}
		}
		after = chunk[len(chunk)-1].Place
	}
}

func (s *Store) resultsAfter(ctx context.Context, run jobs.ID, after int) (chunk []store.GroupMember, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		chunk = nil
		if _, err := readGroupRun(tx, run); err != nil {
			return err
		}
		size := 0
		err := tx.Query(selectResults, func(r Row) error {
			if size >= resultsChunk {
				return errEnough
			}
			m, err := scanMember(r)
			if err == nil && m.Run != nil {
				m.Run.Result, m.Run.ResultTruncated = r.Bytes(listedCount+5), r.Int(listedCount+6) == 1
				size += len(m.Run.Result)
			}
			chunk = append(chunk, m)
			return err
		}, run.Seq(), after, membersAtOnce)
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		for i := range chunk {
			if err := lastEnded(tx, &chunk[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return chunk, err
}

// lastEnded goes back from a run of a member that has not ended to the one that it was requeued from.
func lastEnded(tx Tx, m *store.GroupMember) error {
	for m.Run != nil && !m.Run.State.Terminal() && !m.Run.RequeuedFrom.IsNil() {
		from, bad := m.Run.RequeuedFrom, error(nil)
		var run *jobs.Run
		_, err := one(tx, selectResultOf, func(r Row) {
			if run, bad = scanListed(r); bad == nil {
				run.Result, run.ResultTruncated, run.Member = r.Bytes(listedCount), r.Int(listedCount+1) == 1, m.Name
			}
		}, from.Seq())
		if err = errors.Join(err, bad); err != nil {
			return err
		}
		if run == nil || run.ID != from {
			return nil
		}
		m.Run, m.ID, m.Missing = run, from, run.State == jobs.Cancelled
	}
	return nil
}

// KeepPayload implements store.Groups.
func (s *Store) KeepPayload(ctx context.Context, f store.Fence, payload jobs.Raw) error {
	return s.write(ctx, func(tx Tx) error {
		if _, err := fence(tx, f); err != nil {
			return err
		}
		kept, err := tx.Exec(insertKept, f.Run.Seq(), string(payload))
		if err == nil && kept == 0 {
			err = fmt.Errorf("run %s has its payload: %w", f.Run, store.ErrState)
		}
		return err
	})
}
