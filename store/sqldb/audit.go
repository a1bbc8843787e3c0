package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	insertAuditEntry = `
INSERT INTO audit (at, actor, action, kind, name, note, change) VALUES ($1, $2, $3, $4, $5, $6, $7)`

	auditColumns = `id, at, actor, action, kind, name, note, change`

	// Which entries a list looks at, newest first: $1 the one before which to go on, $2 the oldest, $3 what the
	// index is asked for, $4 how many.
	windowAudit      = `SELECT * FROM audit WHERE id < $1 AND id >= $2 AND $3 = '' ORDER BY id DESC LIMIT $4`
	windowAuditName  = `SELECT * FROM audit WHERE name = $3 AND id < $1 AND id >= $2 ORDER BY id DESC LIMIT $4`
	windowAuditActor = `SELECT * FROM audit WHERE actor = $3 AND id < $1 AND id >= $2 ORDER BY id DESC LIMIT $4`

	filterAudit = ` FROM (%) w
WHERE ($5 = '' OR actor = $5) AND ($6 = '' OR action = $6) AND ($7 = '' OR kind = $7) AND ($8 = '' OR name = $8)
  AND at >= $9 AND at <= $10`

	// Ids grow as times do, but where the clock was set back: among the nearest entries in time the farthest id.
	selectAuditUntil = `
SELECT MAX(id) FROM (SELECT id FROM audit WHERE at <= $1 ORDER BY at DESC LIMIT 1000) w`
	selectAuditSince = `
SELECT MIN(id) FROM (SELECT id FROM audit WHERE at >= $1 ORDER BY at LIMIT 1000) w`
)

func newAuditQuery(window string) listQuery {
	return listQuery{
		rows:   "SELECT " + auditColumns + strings.Replace(filterAudit, "%", window, 1) + " ORDER BY id DESC",
		bounds: "SELECT MIN(id), COUNT(*) FROM (" + strings.Replace(window, "*", "id", 1) + ") w",
	}
}

var (
	auditAll   = newAuditQuery(windowAudit)
	auditName  = newAuditQuery(windowAuditName)
	auditActor = newAuditQuery(windowAuditActor)
)

// Bounds of the difference that an entry keeps: of one value, of all, and how many fields.
const (
	maxAuditValue  = 16 << 10
	maxAuditTotal  = 64 << 10
	maxAuditFields = 100
	// maxAuditPage bounds the differences of a page: it may hold fewer entries than asked for.
	maxAuditPage = 4 << 20
)

// audit keeps who did what to which thing, with the difference.
func (s *Store) audit(tx Tx, by store.By, action, kind, name string, changes ...jobs.Change) error {
	var text any
	if len(changes) > 0 {
		text = string(jobs.AppendJSON(nil, boundedChanges(changes)))
	}
	_, err := tx.Exec(insertAuditEntry, int64(by.Now), by.Actor, action, kind, name, noneText(by.Note), text)
	return err
}

// changed is the difference of one field; nil: it was not there, or is there no more.
func changed(location string, before, after any) jobs.Change {
	c := jobs.Change{Location: location}
	if before != nil {
		c.Before = jobs.AppendJSON(nil, before)
	}
	if after != nil {
		c.After = jobs.AppendJSON(nil, after)
	}
	return c
}

// made, gone are the differences of a document that comes, or goes: its fields.
func made(doc []byte) []jobs.Change { return jobs.Diff([]byte("{}"), doc) }
func gone(doc []byte) []jobs.Change { return jobs.Diff(doc, []byte("{}")) }

// pausedChange is the difference of a pause, or its end.
func pausedChange(before bool, note string, after bool, noteAfter string) (list []jobs.Change) {
	if before != after {
		list = append(list, changed("paused", before, after))
	}
	if note != noteAfter {
		list = append(list, changed("pause_note", note, noteAfter))
	}
	return list
}

// breakerChanges are the difference of what people see of a breaker.
func breakerChanges(before, after jobs.BreakerState) (list []jobs.Change) {
	if before.Phase != after.Phase {
		list = append(list, changed("state", before.Phase, after.Phase))
	}
	if before.HeldUntil != after.HeldUntil {
		c := jobs.Change{Location: "held_until"}
		if before.HeldUntil != 0 {
			c.Before = jobs.AppendJSON(nil, before.HeldUntil)
		}
		if after.HeldUntil != 0 {
			c.After = jobs.AppendJSON(nil, after.HeldUntil)
		}
		list = append(list, c)
	}
	return list
}

// boundedChanges are as many as an entry keeps, with values cut; the last says how many are left out.
func boundedChanges(all []jobs.Change) []jobs.Change {
	list := make([]jobs.Change, 0, min(len(all), maxAuditFields+1))
	total := 0
	for i, c := range all {
		c.Before, c.After = boundedValues(c.Before, c.After)
		total += len(c.Location) + len(c.Before) + len(c.After)
		if i > 0 && (i >= maxAuditFields || total > maxAuditTotal) {
			return append(list, changed("", nil, fmt.Sprintf("%d more fields differ", len(all)-i)))
		}
		list = append(list, c)
	}
	return list
}

// boundedValues cuts values that are long to texts which say so. Of two texts what is alike at both ends goes first:
// a line that changed in a long script is seen.
func boundedValues(before, after jobs.Raw) (jobs.Raw, jobs.Raw) {
	if len(before) <= maxAuditValue && len(after) <= maxAuditValue {
		return before, after
	}
	old, now := auditText(before), auditText(after)
	if before != nil && after != nil {
		const around = 200
		head := 0
		for head < len(old) && head < len(now) && old[head] == now[head] {
			head++
		}
		tail := 0
		for tail < len(old)-head && tail < len(now)-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
			tail++
		}
		head, tail = max(0, head-around), max(0, tail-around)
		old, now = without(old, head, tail), without(now, head, tail)
	}
	return cutValue(before, old), cutValue(after, now)
}

func auditText(value jobs.Raw) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// without leaves out the first and the last bytes of a text, and says so.
func without(text string, head, tail int) string {
	middle := strings.ToValidUTF8(text[head:len(text)-tail], "")
	if head > 0 {
		middle = "…" + middle
	}
	if tail > 0 {
		middle += "…"
	}
	return middle
}

func cutValue(value jobs.Raw, text string) jobs.Raw {
	if value == nil {
		return nil
	}
	if len(text) > maxAuditValue {
		end := maxAuditValue
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = fmt.Sprintf("%s… (%d bytes in all)", text[:end], len(value))
	}
	return jobs.AppendJSONString(nil, text)
}

// Note implements store.Ledger.
func (s *Store) Note(ctx context.Context, by store.By, action, kind, name string, changes ...jobs.Change) error {
	return s.write(ctx, func(tx Tx) error { return s.audit(tx, by, action, kind, name, changes...) })
}

// Audit implements store.Ledger.
func (s *Store) Audit(
	ctx context.Context, f store.AuditFilter, p store.Page,
) (list []store.AuditEntry, next string, err error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	query, asked := auditAll, ""
	switch {
	case f.Name != "":
		query, asked = auditName, f.Name
	case f.Actor != "":
		query, asked = auditActor, f.Actor
	}
	until := f.Until
	if until == 0 {
		until = math.MaxInt64
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		list, next = nil, ""
		from, before, err := auditBounds(tx, f, before)
		if err != nil {
			return err
		}
		size := 0
		err = tx.Query(query.rows, func(r Row) error {
			if len(list) == sizeOf(p) || size > maxAuditPage {
				return errEnough
			}
			e := store.AuditEntry{
				ID: r.Int(0), At: r.Time(1), Actor: r.Text(2), Action: r.Text(3), Kind: r.Text(4), Name: r.Text(5), Note: r.Text(6),
			}
			if text := r.Bytes(7); text != nil {
				if err := jobs.DecodeLenient(text, &e.Changes); err != nil {
					return fmt.Errorf("read entry %d of the audit: %w", e.ID, err)
				}
				size += len(text)
			}
			list = append(list, e)
			return nil
		}, before, from, asked, maxLooked, f.Actor, f.Action, f.Kind, f.Name, int64(f.Since), int64(until))
		if errors.Is(err, errEnough) {
			next = strconv.FormatInt(list[len(list)-1].ID, 10)
			return nil
		}
		if err != nil {
			return err
		}
		// The window may have ended before the entries did.
		_, err = one(tx, query.bounds, func(r Row) {
			if r.Int(1) == maxLooked {
				next = strconv.FormatInt(r.Int(0), 10)
			}
		}, before, from, asked, maxLooked)
		return err
	})
	return list, next, err
}

// auditBounds are the ids between which entries of the times that a filter asks for stand.
func auditBounds(tx Tx, f store.AuditFilter, before int64) (from, to int64, err error) {
	to = before
	if f.Until != 0 {
		_, err = one(tx, selectAuditUntil, func(r Row) { to = min(to, r.Int(0)+1) }, int64(f.Until))
	}
	if f.Since != 0 && err == nil {
		_, err = one(tx, selectAuditSince, func(r Row) {
			if from = r.Int(0); r.Null(0) {
				from = math.MaxInt64
			}
		}, int64(f.Since))
	}
	return from, to, err
}
