package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	tokenColumns = `name, hash, scopes, jobs, expires_at, created_at, last_used, revision`
	selectTokens = `SELECT ` + tokenColumns + ` FROM tokens ORDER BY created_at DESC, name LIMIT 10000`
	selectToken  = `SELECT ` + tokenColumns + ` FROM tokens WHERE name = $1`
	insertToken  = `
INSERT INTO tokens (name, hash, scopes, jobs, expires_at, created_at, revision)
VALUES ($1, $2, $3, $4, $5, $6, 1)`
	updateToken = `
UPDATE tokens SET hash = $2, scopes = $3, jobs = $4, expires_at = $5, revision = revision + 1
WHERE name = $1`
	updateTokenUsed = `UPDATE tokens SET last_used = $2 WHERE name = $1`
	deleteToken     = `DELETE FROM tokens WHERE name = $1`
)

// PutToken implements store.Access. A zero hash keeps the secret of a token that stands.
func (s *Store) PutToken(
	ctx context.Context, t store.Token, ifMatch *int64, by store.By,
) (created bool, err error) {
	err = s.write(ctx, func(tx Tx) error {
		var old *store.Token
		var bad error
		_, err := one(tx, selectToken, func(r Row) {
			var o store.Token
			if o, bad = scanToken(r); bad == nil {
				old = &o
			}
		}, t.Name)
		if err == nil {
			err = bad
		}
		if err != nil {
			return err
		}
		if ifMatch != nil && (old == nil || old.Revision != *ifMatch) {
			return fmt.Errorf("token %q: %w", t.Name, store.ErrStale)
		}
		scopes, jobsList, err := tokenLists(t)
		if err != nil {
			return err
		}
		created = old == nil
		if created {
			_, err = tx.Exec(insertToken, t.Name, t.Hash[:], scopes, jobsList, none(t.ExpiresAt),
				int64(by.Now))
		} else {
			if t.Hash == ([32]byte{}) {
				t.Hash = old.Hash
			}
			if sameToken(&t, old) {
				return nil
			}
			err = must(tx.Exec(updateToken, t.Name, t.Hash[:], scopes, jobsList, none(t.ExpiresAt)))
		}
		if err != nil {
			return fmt.Errorf("put token %s: %w", t.Name, err)
		}
		return s.audit(tx, by, "put", "token", t.Name, tokenChanges(old, &t)...)
	})
	return created, err
}

// tokenChanges are the difference of two tokens, nil where there is none. That the secret is another one is said, the
// secrets are not.
func tokenChanges(old, now *store.Token) []jobs.Change {
	doc := func(t *store.Token) []byte {
		if t == nil {
			return []byte("{}")
		}
		return jobs.AppendJSON(nil, &struct {
			Scopes    []string   `json:"scopes"`
			Jobs      []string   `json:"jobs,omitempty"`
			ExpiresAt *jobs.Time `json:"expires_at,omitempty"`
		}{t.Scopes, t.Jobs, orNone(t.ExpiresAt)})
	}
	list := jobs.Diff(doc(old), doc(now))
	if old != nil && now != nil && old.Hash != now.Hash {
		list = append(list, changed("secret", "***", "***"))
	}
	return list
}

func orNone(t jobs.Time) *jobs.Time {
	if t == 0 {
		return nil
	}
	return &t
}

// sameToken compares what a document of a token says. No list of jobs means all, an empty one none.
func sameToken(a, b *store.Token) bool {
	return a.Hash == b.Hash && a.ExpiresAt == b.ExpiresAt && slices.Equal(a.Scopes, b.Scopes) &&
		slices.Equal(a.Jobs, b.Jobs) && (a.Jobs == nil) == (b.Jobs == nil)
}

func tokenLists(t store.Token) (scopes string, jobsList any, err error) {
	text, err := json.Marshal(t.Scopes)
	if err != nil || t.Jobs == nil {
		return string(text), nil, err
	}
	list, err := json.Marshal(t.Jobs)
	return string(text), string(list), err
}

func scanToken(r Row) (store.Token, error) {
	t := store.Token{
		Name: r.Text(0), ExpiresAt: r.Time(4), CreatedAt: r.Time(5), LastUsed: r.Time(6),
		Revision: r.Int(7),
	}
	copy(t.Hash[:], r.Bytes(1))
	if err := json.Unmarshal(r.Bytes(2), &t.Scopes); err != nil {
		return t, fmt.Errorf("read scopes of token %s: %w", t.Name, err)
	}
	if r.Null(3) {
		return t, nil
	}
	if err := json.Unmarshal(r.Bytes(3), &t.Jobs); err != nil {
		return t, fmt.Errorf("read jobs of token %s: %w", t.Name, err)
	}
	return t, nil
}

// Tokens implements store.Access.
func (s *Store) Tokens(ctx context.Context) ([]store.Token, error) {
	var list []store.Token
	err := s.db.Read(ctx, func(tx Tx) error {
		return tx.Query(selectTokens, func(r Row) error {
			t, err := scanToken(r)
			list = append(list, t)
			return err
		})
	})
	return list, err
}

// DeleteToken implements store.Access.
func (s *Store) DeleteToken(ctx context.Context, name string, by store.By) error {
	return s.write(ctx, func(tx Tx) error {
		var old store.Token
		var bad error
		if _, err := one(tx, selectToken, func(r Row) { old, bad = scanToken(r) }, name); err != nil || bad != nil {
			return errors.Join(err, bad)
		}
		n, err := tx.Exec(deleteToken, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("token %q: %w", name, store.ErrNotFound)
		}
		if _, err := tx.Exec(deleteTokenSessions, name); err != nil {
			return err
		}
		return s.audit(tx, by, "delete", "token", name, tokenChanges(&old, nil)...)
	})
}

// TouchTokens implements store.Access.
func (s *Store) TouchTokens(ctx context.Context, used map[string]jobs.Time) error {
	return s.write(ctx, func(tx Tx) error {
		for name, at := range used {
			if _, err := tx.Exec(updateTokenUsed, name, int64(at)); err != nil {
				return err
			}
		}
		return nil
	})
}
