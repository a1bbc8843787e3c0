package sqldb

import (
	"context"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

const (
	sessionColumns = `id, hash, token, link, address, agent, created_at, last_used, until`
	selectSessions = `
SELECT ` + sessionColumns + ` FROM sessions WHERE until > $1 ORDER BY until DESC, id DESC LIMIT 10000`
	selectSessionLink = `
SELECT ` + sessionColumns + ` FROM sessions WHERE hash = $1 AND link = 1 AND until > $2`
	insertSession = `
INSERT INTO sessions (` + sessionColumns + `)
SELECT $1, $2, name, $4, $5, $6, $7, $8, $9 FROM tokens WHERE name = $3`
	updateSessionUsed   = `UPDATE sessions SET last_used = $2 WHERE id = $1`
	selectSessionToken  = `SELECT token FROM sessions WHERE id = $1`
	deleteSession       = `DELETE FROM sessions WHERE id = $1`
	deleteTokenSessions = `DELETE FROM sessions WHERE token = $1`
	deleteOverSessions  = `DELETE FROM sessions WHERE until <= $1`
)

// PutSession implements store.Sessions.
func (s *Store) PutSession(ctx context.Context, v store.Session, by store.By) error {
	return s.write(ctx, func(tx Tx) error { return s.putSession(tx, v, by) })
}

func (s *Store) putSession(tx Tx, v store.Session, by store.By) error {
	if _, err := tx.Exec(deleteOverSessions, int64(by.Now)); err != nil {
		return err
	}
	link, action := 0, "sign-in"
	if v.Link {
		link, action = 1, "link"
	}
	n, err := tx.Exec(insertSession, v.ID, v.Hash[:], v.Token, link, v.From, v.Agent, int64(v.CreatedAt), none(v.LastUsed), int64(v.Until))
	if err != nil {
		return fmt.Errorf("begin session %s: %w", v.ID, err)
	}
	if n == 0 {
		return fmt.Errorf("token %q: %w", v.Token, store.ErrNotFound)
	}
	changes := []jobs.Change{changed("token", nil, v.Token), changed("until", nil, v.Until)}
	if v.From != "" {
		changes = append(changes, changed("from", nil, v.From))
	}
	return s.audit(tx, by, action, "session", v.ID, changes...)
}

// UseLink implements store.Sessions.
func (s *Store) UseLink(ctx context.Context, hash [32]byte, v store.Session, by store.By) (store.Session, error) {
	err := s.write(ctx, func(tx Tx) error {
		var link *store.Session
		_, err := one(tx, selectSessionLink, func(r Row) {
			found := scanSession(r)
			link = &found
		}, hash[:], int64(by.Now))
		if err != nil {
			return err
		}
		if link == nil {
			return fmt.Errorf("link: %w", store.ErrNotFound)
		}
		if err := must(tx.Exec(deleteSession, link.ID)); err != nil {
			return err
		}
		v.Token, v.Link = link.Token, false
		by.Actor = "sign-in " + link.Token
		return s.putSession(tx, v, by)
	})
	return v, err
}

func scanSession(r Row) store.Session {
	v := store.Session{
		ID: r.Text(0), Token: r.Text(2), Link: r.Int(3) == 1, From: r.Text(4), Agent: r.Text(5),
		CreatedAt: r.Time(6), LastUsed: r.Time(7), Until: r.Time(8),
	}
	copy(v.Hash[:], r.Bytes(1))
	return v
}

// Sessions implements store.Sessions.
func (s *Store) Sessions(ctx context.Context, now jobs.Time) ([]store.Session, error) {
	var list []store.Session
	err := s.db.Read(ctx, func(tx Tx) error {
		return tx.Query(selectSessions, func(r Row) error {
			list = append(list, scanSession(r))
			return nil
		}, int64(now))
	})
	return list, err
}

// DeleteSession implements store.Sessions.
func (s *Store) DeleteSession(ctx context.Context, id string, by store.By) error {
	return s.write(ctx, func(tx Tx) error {
		token := ""
		if _, err := one(tx, selectSessionToken, func(r Row) { token = r.Text(0) }, id); err != nil {
			return err
		}
		n, err := tx.Exec(deleteSession, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("session %q: %w", id, store.ErrNotFound)
		}
		return s.audit(tx, by, "sign-out", "session", id, changed("token", token, nil))
	})
}

// TouchSessions implements store.Sessions.
func (s *Store) TouchSessions(ctx context.Context, used map[string]jobs.Time) error {
	return s.write(ctx, func(tx Tx) error {
		for id, at := range used {
			if _, err := tx.Exec(updateSessionUsed, id, int64(at)); err != nil {
				return err
			}
		}
		return nil
	})
}
