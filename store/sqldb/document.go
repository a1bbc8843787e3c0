package sqldb

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	documentColumns = `id, kind, name, in_set, doc, revision, created_at, updated_at`
	selectDocument  = `SELECT ` + documentColumns + ` FROM documents WHERE kind = $1 AND name = $2`
	selectDocuments = `
SELECT ` + documentColumns + ` FROM documents WHERE kind = $1 AND id < $2 ORDER BY id DESC LIMIT $3`
	selectSetDocuments = `
SELECT kind, name FROM documents WHERE in_set = $1 ORDER BY id LIMIT 1000000`
	insertDocument = `
INSERT INTO documents (kind, name, in_set, doc, revision, created_at, updated_at)
VALUES ($1, $2, $3, $4, 1, $5, $5)`
	updateDocument = `
UPDATE documents SET in_set = $3, doc = $4, revision = revision + 1, updated_at = $5
WHERE kind = $1 AND name = $2`
	updateDocumentSet = `UPDATE documents SET in_set = $3 WHERE kind = $1 AND name = $2`
	deleteDocument    = `DELETE FROM documents WHERE kind = $1 AND name = $2`
)

func scanDocument(r Row) *store.Document {
	return &store.Document{
		Kind: r.Text(1), Name: r.Text(2), Set: r.Text(3), Doc: r.Bytes(4), Revision: r.Int(5),
		CreatedAt: r.Time(6), UpdatedAt: r.Time(7),
	}
}

// storedDocument gives nil where there is none.
func storedDocument(tx Tx, kind, name string) (d *store.Document, err error) {
	_, err = one(tx, selectDocument, func(r Row) { d = scanDocument(r) }, kind, name)
	return d, err
}

func (v *saving) putDocument(p *store.PutDocument) (store.SavedDocument, error) {
	before, err := storedDocument(v.tx, p.Kind, p.Name)
	if err != nil {
		return store.SavedDocument{}, err
	}
	at, n := standing{}, named{p.Kind, p.Name}
	if before != nil {
		at = standing{true, before.Revision, before.Set}
	}
	set, err := v.allows(n, at, p.Create, p.IfMatch)
	if err != nil {
		return store.SavedDocument{}, err
	}
	out := store.SavedDocument{Document: before, Before: before, Created: before == nil}
	switch out.Changed = before == nil || !bytes.Equal(before.Doc, p.Doc); {
	case out.Created:
		_, err = v.tx.Exec(insertDocument, p.Kind, p.Name, noneText(set), string(p.Doc),
			int64(v.by.Now))
	case out.Changed:
		err = must(v.tx.Exec(updateDocument, p.Kind, p.Name, noneText(set), string(p.Doc),
			int64(v.by.Now)))
	case set == at.set:
		return out, nil
	default:
		err = must(v.tx.Exec(updateDocumentSet, p.Kind, p.Name, set))
	}
	if err != nil {
		return out, err
	}
	if out.Document, err = storedDocument(v.tx, p.Kind, p.Name); err != nil {
		return out, err
	}
	if out.Created && p.Kind == store.KindAlert {
		if err := keepSince(v.tx, p.Name); err != nil {
			return out, err
		}
	}
	if kind := gateKindOf(p.Kind); kind != 0 {
		if out.Changed {
			v.limits.of(n)
		}
		if _, err := v.makeGate(v.tx, gateKey{kind, 0, p.Name}, v.by.Now); err != nil {
			return out, err
		}
	}
	if !out.Changed {
		return out, v.adopted(n, at.set)
	}
	changes := made(p.Doc)
	if before != nil {
		changes = jobs.Diff(before.Doc, p.Doc)
	}
	return out, v.audit(v.tx, v.by, "put", p.Kind, p.Name, withSet(changes, at.set, set)...)
}

// Document implements store.Catalog.
func (s *Store) Document(
	ctx context.Context, kind, name string,
) (d *store.Document, err error) {
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		d, err = storedDocument(tx, kind, name)
		return err
	})
	if err == nil && d == nil {
		err = fmt.Errorf("%s %q: %w", kind, name, store.ErrNotFound)
	}
	return d, err
}

// Documents implements store.Catalog.
func (s *Store) Documents(
	ctx context.Context, kind string, p store.Page,
) (list []*store.Document, next string, err error) {
	before, err := cursorBefore(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		last := int64(0)
		return tx.Query(selectDocuments, func(r Row) error {
			if len(list) == sizeOf(p) {
				next = strconv.FormatInt(last, 10)
				return nil
			}
			list, last = append(list, scanDocument(r)), r.Int(0)
			return nil
		}, kind, before, sizeOf(p)+1)
	})
	return list, next, err
}

// DeleteDocument implements store.Catalog.
func (s *Store) DeleteDocument(
	ctx context.Context, kind, name string, ifMatch *int64, by store.By,
) error {
	return s.write(ctx, func(tx Tx) error {
		d, err := storedDocument(tx, kind, name)
		switch {
		case err != nil:
			return err
		case d == nil:
			return fmt.Errorf("%s %q: %w", kind, name, store.ErrNotFound)
		case ifMatch != nil && *ifMatch != d.Revision:
			return fmt.Errorf("%s %q: %w", kind, name, store.ErrStale)
		}
		if err := refuseNamed(tx, kind, name); err != nil {
			return err
		}
		if kind == store.KindSchedule {
			if err := undecidedOne(tx, name, by.Now); err != nil {
				return err
			}
		}
		n, changed := named{kind, name}, limits{}
		if err := s.removeDocument(tx, n, by); err != nil || !changed.of(n) {
			return err
		}
		return s.allowAnew(tx, changed, by.Now)
	})
}

func (s *Store) removeDocument(tx Tx, n named, by store.By) error {
	d, err := storedDocument(tx, n.kind, n.name)
	if err != nil {
		return err
	}
	if err := must(tx.Exec(deleteDocument, n.kind, n.name)); err != nil {
		return err
	}
	if n.kind == store.KindSchedule {
		if err := deleteScheduleRow(tx, n.name, by); err != nil {
			return err
		}
	}
	if n.kind == store.KindAlert {
		if err := s.dropAlert(tx, n.name); err != nil {
			return err
		}
	}
	return s.audit(tx, by, "delete", n.kind, n.name, gone(d.Doc)...)
}
