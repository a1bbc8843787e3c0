package store

import (
	"context"

	"nightshift/jobs"
)

// Access holds who may call, and the secrets that jobs use.
type Access interface {
	Sessions
	PutToken(ctx context.Context, t Token, ifMatch *int64, by By) (created bool, err error)
	Tokens(ctx context.Context) ([]Token, error)
	DeleteToken(ctx context.Context, name string, by By) error
	TouchTokens(ctx context.Context, used map[string]jobs.Time) error

	// PutSecret saves a secret and releases runs that wait for it, as many as one Release.
	PutSecret(ctx context.Context, p PutSecret, by By) (s Secret, created bool, err error)
	// Secrets are all of them, by name.
	Secrets(ctx context.Context) ([]Secret, error)
	DeleteSecret(ctx context.Context, name string, ifMatch *int64, by By) error
	// Reseal replaces what is kept of secrets whose values stay, all or none: ErrStale where one
	// has another revision than is given, ErrNotFound where it is gone.
	Reseal(ctx context.Context, secrets []Secret, by By) error
}

// Token is the right to call the API.
type Token struct {
	Name      string
	Hash      [32]byte // SHA-256 of the secret
	Scopes    []string // read, enqueue, operate, admin
	Jobs      []string // patterns such as mail-*; nil: all
	ExpiresAt jobs.Time
	CreatedAt jobs.Time
	LastUsed  jobs.Time
	Revision  int64
}

// PutSecret is a secret to be saved.
type PutSecret struct {
	Name    string
	Sealed  []byte
	IfMatch *int64 // the revision it must have
	Create  bool   // ErrExists where it stands
}

// Secret is a value that only the runtime can open.
type Secret struct {
	Name      string
	Sealed    []byte
	Revision  int64 // grows with each value
	CreatedAt jobs.Time
	UpdatedAt jobs.Time
}
