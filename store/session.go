package store

import (
	"context"

	"nightshift/jobs"
)

// Sessions are the browsers in which somebody has signed in, and the links by which one may.
type Sessions interface {
	// PutSession begins a session, or a link to one, of a token. ErrNotFound: there is no such token.
	PutSession(ctx context.Context, s Session, by By) error
	// UseLink ends the link of that hash and begins session s of the link's token in its place. ErrNotFound: there is
	// no such link, somebody has used it, or its time is over.
	UseLink(ctx context.Context, link [32]byte, s Session, by By) (Session, error)
	// Sessions are all of them whose time is not over, those that last longest first.
	Sessions(ctx context.Context, now jobs.Time) ([]Session, error)
	// DeleteSession ends one. Those of a token end with it.
	DeleteSession(ctx context.Context, id string, by By) error
	TouchSessions(ctx context.Context, used map[string]jobs.Time) error
}

// Session is the right of a browser to act as a token does.
type Session struct {
	ID    string   // public: what lists and the audit call it
	Hash  [32]byte // SHA-256 of its secret
	Token string   // its name
	Link  bool     // nobody has signed in by it yet
	// From and Agent are the address and the browser that signed in.
	From, Agent string
	CreatedAt   jobs.Time
	LastUsed    jobs.Time
	Until       jobs.Time // it ends then, used or not
}
