package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// SecretPrefix begins every token, so that scanners for secrets find it.
const SecretPrefix = "ns_"

// touchEvery is how exactly the store knows when a token was last used.
const touchEvery = time.Minute

// NewSecret makes a token: the prefix and 32 random bytes as base64url.
func NewSecret() string {
	var b [32]byte
	rand.Read(b[:])
	return SecretPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// HashSecret is what the store keeps of a token. Tokens hold 256 random bits, so a slow hash
// would add nothing.
func HashSecret(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

// identity is a token as a call sees it; it never changes.
type identity struct {
	store.Token
	scopes  scopes
	gone    chan struct{}  // closed when the token or the session is revoked or changed
	session *store.Session // nil: the token itself was sent
}

// actor is who acts, for the audit.
func (id *identity) actor() string {
	if id.session != nil {
		return "sign-in " + id.Name
	}
	return "token " + id.Name
}

func (id *identity) has(any scopes) bool { return id.scopes&any != 0 }

// reaches reports whether the token may know of the job.
func (id *identity) reaches(job string) bool { return matches(id.Jobs, job) }

// may reports whether the token may see the run: enqueue alone sees what it made itself. A group that no
// job describes is seen by who made it, whatever the token is narrowed to.
func (id *identity) may(r *jobs.Run) bool {
	own := r.CreatedBy == id.Name
	return (id.reaches(r.Job) || r.Job == jobs.GroupJob && own) && (id.has(scopeRead) || own)
}

// access knows the tokens.
type access struct {
	store store.Store
	now   func() jobs.Time
	log   *slog.Logger
	known atomic.Pointer[map[[32]byte]*identity]

	signed atomic.Pointer[map[[32]byte]*identity] // by the hash of a session's secret

	writing sync.Mutex // changes of tokens act one after another

	mu    sync.Mutex
	used  map[string]jobs.Time // since the last touch
	saved map[string]jobs.Time // as the store has it

	seen      map[string]jobs.Time // sessions, as used
	seenSaved map[string]jobs.Time
}

func newAccess(
	ctx context.Context, st store.Store, now func() jobs.Time, log *slog.Logger,
) (*access, error) {
	a := &access{
		store: st, now: now, log: log,
		used: map[string]jobs.Time{}, saved: map[string]jobs.Time{},
		seen: map[string]jobs.Time{}, seenSaved: map[string]jobs.Time{},
	}
	a.known.Store(&map[[32]byte]*identity{})
	a.signed.Store(&map[[32]byte]*identity{})
	return a, a.refresh(ctx)
}

// refresh reads the tokens anew. Calls under way of tokens that are gone or changed are told.
func (a *access) refresh(ctx context.Context) error {
	tokens, err := a.store.Tokens(ctx)
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	sessions, err := a.store.Sessions(ctx, a.now())
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	old := *a.known.Load()
	next := make(map[[32]byte]*identity, len(tokens))
	for _, t := range tokens {
		was := old[t.Hash]
		if was != nil && was.Name == t.Name && was.Revision == t.Revision {
			next[t.Hash] = was
			continue
		}
		set, ok := scopesOf(t.Scopes)
		if !ok {
			a.log.Error("token has scopes this version does not know; it opens nothing", "token", t.Name)
		}
		next[t.Hash] = &identity{Token: t, scopes: set, gone: make(chan struct{})}
	}
	a.known.Store(&next)
	signed := a.sessionsOf(next, sessions)
	before := *a.signed.Swap(&signed)
	closeGone(old, next)
	closeGone(before, signed)
	return nil
}

func closeGone(old, next map[[32]byte]*identity) {
	for hash, id := range old {
		if next[hash] != id {
			close(id.gone)
		}
	}
}

// sessionsOf are the identities of sessions, each that of its token.
func (a *access) sessionsOf(tokens map[[32]byte]*identity, sessions []store.Session) map[[32]byte]*identity {
	byName := make(map[string]*identity, len(tokens))
	for _, id := range tokens {
		byName[id.Name] = id
	}
	old := *a.signed.Load()
	all := make(map[[32]byte]*identity, len(sessions))
	for _, v := range sessions {
		token, was := byName[v.Token], old[v.Hash]
		switch {
		case token == nil || v.Link:
		case was != nil && was.Revision == token.Revision && was.Hash == token.Hash:
			all[v.Hash] = was
		default:
			all[v.Hash] = &identity{Token: token.Token, scopes: token.scopes, gone: make(chan struct{}), session: &v}
		}
	}
	return all
}

// bearer is the token of an Authorization header.
func bearer(header string) (string, *problem) {
	if header == "" {
		return "", refuse(probUnauthorized, "send the header Authorization: Bearer TOKEN")
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", refuse(probUnauthorized, "want the scheme Bearer")
	}
	return strings.TrimSpace(secret), nil
}

// identify finds the token of an Authorization header.
func (a *access) identify(header string) (*identity, *problem) {
	secret, p := bearer(header)
	if p != nil {
		return nil, p
	}
	hash := HashSecret(secret)
	id := (*a.known.Load())[hash]
	if id == nil && strings.HasPrefix(secret, runtime.TokenPrefix) {
		return nil, refuse(probUnauthorized, "the token of an attempt opens its callback alone, %sRUN/...", callbackPath)
	}
	if id == nil || subtle.ConstantTimeCompare(id.Hash[:], hash[:]) != 1 {
		return nil, refuse(probUnauthorized, "the token is not known")
	}
	now := a.now()
	if id.ExpiresAt != 0 && now >= id.ExpiresAt {
		return nil, refuse(probUnauthorized, "the token expired at %s", id.ExpiresAt)
	}
	a.mu.Lock()
	a.touched(id.Name, now)
	a.mu.Unlock()
	return id, nil
}

// touched notes that a token was used. Needs mu.
func (a *access) touched(token string, now jobs.Time) {
	if now.Sub(a.saved[token]) >= touchEvery {
		a.used[token] = now
	}
}

// lastUsed is when the token was used, as far as it is known here.
func (a *access) lastUsed(t store.Token) jobs.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(t.LastUsed, a.saved[t.Name], a.used[t.Name])
}

// touch keeps which tokens were used, in one write.
func (a *access) touch(ctx context.Context) error {
	a.mu.Lock()
	used, seen := a.used, a.seen
	a.used, a.seen = map[string]jobs.Time{}, map[string]jobs.Time{}
	maps.Copy(a.saved, used)
	maps.Copy(a.seenSaved, seen)
	a.mu.Unlock()
	var err error
	if len(used) > 0 {
		err = a.store.TouchTokens(ctx, used)
	}
	if len(seen) > 0 && err == nil {
		err = a.store.TouchSessions(ctx, seen)
	}
	return err
}

// touchLoop touches until ctx is done.
func (a *access) touchLoop(ctx context.Context) {
	tick := time.NewTicker(touchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := a.touch(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("when tokens were last used is not kept", "error", err)
		}
	}
}

// hold gives a context that ends when the token does: revoked, changed or expired.
func (a *access) hold(ctx context.Context, id *identity) (context.Context, context.CancelFunc) {
	cancelTimer := context.CancelFunc(func() {})
	if id.ExpiresAt != 0 {
		ctx, cancelTimer = context.WithTimeout(ctx, max(0, id.ExpiresAt.Sub(a.now())))
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-id.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); cancelTimer(); <-over }
}

// change writes tokens, one change after another. check sees all of them first.
func (a *access) change(ctx context.Context, write func(all []store.Token) error) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	all, err := a.store.Tokens(ctx)
	if err != nil {
		return err
	}
	if err := write(all); err != nil {
		return err
	}
	return a.refresh(context.WithoutCancel(ctx))
}

// othersOpenAll reports whether a token other than the one named may do everything, for ever.
func othersOpenAll(all []store.Token, name string) bool {
	return slices.ContainsFunc(all, func(t store.Token) bool { return t.Name != name && opensAll(t) })
}

// opensAll reports whether the token may do everything, for ever.
func opensAll(t store.Token) bool {
	return t.Jobs == nil && t.ExpiresAt == 0 && slices.Contains(t.Scopes, "admin")
}
