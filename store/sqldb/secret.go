package sqldb

import (
	"context"
	"fmt"

	"nightshift/store"
)

const (
	secretColumns = `name, sealed, revision, created_at, updated_at`
	selectSecret  = `SELECT ` + secretColumns + ` FROM secrets WHERE name = $1`
	selectSecrets = `SELECT ` + secretColumns + ` FROM secrets ORDER BY name LIMIT 100000`
	upsertSecret  = `
INSERT INTO secrets (name, sealed, revision, created_at, updated_at) VALUES ($1, $2, 1, $3, $3)
ON CONFLICT (name) DO UPDATE
SET sealed = excluded.sealed, revision = secrets.revision + 1, updated_at = excluded.updated_at`
	updateResealed = `UPDATE secrets SET sealed = $3 WHERE name = $1 AND revision = $2`
	deleteSecret   = `DELETE FROM secrets WHERE name = $1`

	auditSecret = "secret"
)

func scanSecret(r Row) store.Secret {
	return store.Secret{
		Name: r.Text(0), Sealed: r.Bytes(1), Revision: r.Int(2), CreatedAt: r.Time(3),
		UpdatedAt: r.Time(4),
	}
}

// storedSecret gives nil where there is none.
func storedSecret(tx Tx, name string) (s *store.Secret, err error) {
	_, err = one(tx, selectSecret, func(r Row) { s = new(scanSecret(r)) }, name)
	return s, err
}

// PutSecret implements store.Access.
func (s *Store) PutSecret(
	ctx context.Context, p store.PutSecret, by store.By,
) (saved store.Secret, created bool, err error) {
	err = s.write(ctx, func(tx Tx) error {
		old, err := storedSecret(tx, p.Name)
		switch {
		case err != nil:
			return err
		case p.Create && old != nil:
			return fmt.Errorf("secret %q: %w", p.Name, store.ErrExists)
		case p.IfMatch != nil && (old == nil || old.Revision != *p.IfMatch):
			return fmt.Errorf("secret %q: %w", p.Name, store.ErrStale)
		}
		if err := must(tx.Exec(upsertSecret, p.Name, p.Sealed, int64(by.Now))); err != nil {
			return err
		}
		if _, err := one(tx, selectSecret, func(r Row) { saved = scanSecret(r) }, p.Name); err != nil {
			return err
		}
		created = old == nil
		if _, err := s.release(tx, []string{p.Name}); err != nil {
			return fmt.Errorf("release runs that wait for secret %s: %w", p.Name, err)
		}
		if created {
			return s.audit(tx, by, "put", auditSecret, p.Name, changed("value", nil, "***"))
		}
		return s.audit(tx, by, "put", auditSecret, p.Name, changed("value", "***", "***"))
	})
	return saved, created, err
}

// Secrets implements store.Access.
func (s *Store) Secrets(ctx context.Context) (list []store.Secret, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		return tx.Query(selectSecrets, func(r Row) error {
			list = append(list, scanSecret(r))
			return nil
		})
	})
	return list, err
}

// DeleteSecret implements store.Access.
func (s *Store) DeleteSecret(
	ctx context.Context, name string, ifMatch *int64, by store.By,
) error {
	return s.write(ctx, func(tx Tx) error {
		old, err := storedSecret(tx, name)
		switch {
		case err != nil:
			return err
		case old == nil:
			return fmt.Errorf("secret %q: %w", name, store.ErrNotFound)
		case ifMatch != nil && old.Revision != *ifMatch:
			return fmt.Errorf("secret %q: %w", name, store.ErrStale)
		}
		if err := must(tx.Exec(deleteSecret, name)); err != nil {
			return err
		}
		return s.audit(tx, by, "delete", auditSecret, name, changed("value", "***", nil))
	})
}

// Reseal implements store.Access.
func (s *Store) Reseal(ctx context.Context, secrets []store.Secret, by store.By) error {
	return s.write(ctx, func(tx Tx) error {
		for i := range secrets {
			r := &secrets[i]
			n, err := tx.Exec(updateResealed, r.Name, r.Revision, r.Sealed)
			if err != nil {
				return err
			}
			if n == 1 {
				continue
			}
			old, err := storedSecret(tx, r.Name)
			if err != nil {
				return err
			}
			fault := store.ErrStale
			if old == nil {
				fault = store.ErrNotFound
			}
			return fmt.Errorf("secret %q: %w", r.Name, fault)
		}
		return s.audit(tx, by, "rotate-key", auditSecret, "*", changed("sealed", nil, len(secrets)))
	})
}
