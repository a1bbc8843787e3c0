package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"nightshift/jobs"
	"nightshift/store"
)

// ErrKeysGiven says that the keys came from outside and that all is sealed by the first already:
// there is nothing to rotate to.
var ErrKeysGiven = errors.New("no other key was given to rotate to")

// Secrets are the values that jobs name. They are kept sealed and opened where they are used.
type Secrets struct {
	store store.Store
	log   *slog.Logger
	save  func(keys [][]byte) error // nil: the keys are not ours to change
	wrote func(error) error

	writing sync.Mutex // changes act one after another

	opening sync.Mutex // one mask is made at a time

	mu     sync.RWMutex
	ring   keyRing
	sealed map[string]store.Secret
	opened *openedSets
}

// SecretInfo is what may be known of a secret.
type SecretInfo struct {
	Name      string
	Revision  int64
	Readable  bool // by the keys of this server
	CreatedAt jobs.Time
	UpdatedAt jobs.Time
}

// Rotated is what a rotation did.
type Rotated struct {
	Resealed   int      // secrets that another key had sealed
	Unreadable []string // left as they are: no key of this server opens them
}

func newSecrets(ctx context.Context, cfg *Config, wrote func(error) error) (*Secrets, error) {
	roots := cfg.Keys
	if len(roots) == 0 {
		roots = [][]byte{newRoot()}
	}
	ring, err := newKeyRing(roots)
	if err != nil {
		return nil, fmt.Errorf("the server's key: %w", err)
	}
	s := &Secrets{store: cfg.Store, log: cfg.Log, save: cfg.SaveKeys, wrote: wrote, ring: ring}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	var lost []string
	for _, info := range s.List() {
		if !info.Readable {
			lost = append(lost, info.Name)
		}
	}
	if len(lost) > 0 {
		s.log.Warn("secrets were sealed with another key than this server has: runs that need them "+
			"are held until the key is back or the secrets are set again", "secrets", strings.Join(lost, " "))
	}
	return s, nil
}

// read takes what the store has.
func (s *Secrets) read(ctx context.Context) error {
	all, err := s.store.Secrets(ctx)
	if err != nil {
		return fmt.Errorf("read secrets: %w", err)
	}
	sealed := make(map[string]store.Secret, len(all))
	for _, secret := range all {
		sealed[secret.Name] = secret
	}
	s.mu.Lock()
	s.sealed, s.opened = sealed, &openedSets{}
	s.mu.Unlock()
	return nil
}

// Lookup opens a secret; false where there is none, or none that can be read.
func (s *Secrets) Lookup(name string) (value string, ok bool) {
	s.mu.RLock()
	secret, stands := s.sealed[name]
	ring := s.ring
	s.mu.RUnlock()
	if !stands {
		return "", false
	}
	return ring.open(name, secret.Sealed)
}

// Missing are those of the names that Lookup does not give.
func (s *Secrets) Missing(names []string) (missing []string) {
	for _, name := range names {
		if _, ok := s.Lookup(name); !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

// Info tells of one secret; store.ErrNotFound.
func (s *Secrets) Info(name string) (SecretInfo, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	secret, stands := s.sealed[name]
	if !stands {
		return SecretInfo{}, fmt.Errorf("secret %q: %w", name, store.ErrNotFound)
	}
	return s.info(secret), nil
}

func (s *Secrets) info(secret store.Secret) SecretInfo {
	_, readable := s.ring.open(secret.Name, secret.Sealed)
	return SecretInfo{
		Name: secret.Name, Revision: secret.Revision, Readable: readable,
		CreatedAt: secret.CreatedAt, UpdatedAt: secret.UpdatedAt,
	}
}

// List are all secrets by name.
func (s *Secrets) List() []SecretInfo {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]SecretInfo, 0, len(s.sealed))
	for _, name := range slices.Sorted(maps.Keys(s.sealed)) {
		all = append(all, s.info(s.sealed[name]))
	}
	return all
}

// Put saves a value that has been checked, and runs that wait for it go on. may sees first what
// stands. The same value again changes nothing.
func (s *Secrets) Put(
	ctx context.Context, name, value string, by store.By, may func(standing SecretInfo, stands bool) error,
) (info SecretInfo, created bool, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	standing, err := s.Info(name)
	stands := err == nil
	if err := may(standing, stands); err != nil {
		return info, false, err
	}
	if was, ok := s.Lookup(name); ok && was == value {
		return standing, false, s.letGo(ctx, name)
	}
	put := store.PutSecret{Name: name, Sealed: s.ring[0].seal(name, value), Create: !stands}
	if stands {
		put.IfMatch = &standing.Revision
	}
	saved, created, err := s.store.PutSecret(ctx, put, by)
	if s.wrote(err) != nil {
		return info, false, err
	}
	s.mu.Lock()
	s.sealed[name], s.opened = saved, &openedSets{}
	info = s.info(saved)
	s.mu.Unlock()
	// A run may have been held between the commit and now: it looks once more.
	return info, created, s.letGo(ctx, name)
}

// Delete deletes a secret: runs that need it are held. may sees first what stands.
func (s *Secrets) Delete(
	ctx context.Context, name string, by store.By, may func(standing SecretInfo) error,
) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	standing, err := s.Info(name)
	if err != nil {
		return err
	}
	if err := may(standing); err != nil {
		return err
	}
	if err := s.wrote(s.store.DeleteSecret(ctx, name, &standing.Revision, by)); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.sealed, name)
	s.opened = &openedSets{}
	s.mu.Unlock()
	return nil
}

// Rotate seals all secrets anew: with a new key, where the keys are the server's to change, else
// with the first of those that were given (ErrKeysGiven: that has been done). It may be killed at
// any point: what is on disk can always be opened by the keys on disk, and another call does the
// rest.
func (s *Secrets) Rotate(ctx context.Context, by store.By) (done Rotated, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.save == nil {
		return s.reseal(ctx, s.ring, by, true)
	}
	ring, err := newKeyRing(append([][]byte{newRoot()}, s.ring.roots()...))
	if err != nil {
		return done, err
	}
	// The key first: a value must not be sealed by one that nobody has.
	if err := s.save(ring.roots()); err != nil {
		return done, fmt.Errorf("write the new key: %w", err)
	}
	s.mu.Lock()
	before := s.ring[0]
	s.ring, s.opened = ring, &openedSets{}
	s.mu.Unlock()
	if done, err = s.reseal(ctx, ring, by, false); err != nil {
		return done, err
	}
	// The one before stays: it opens backups of the time before, and watch links.
	ring = keyRing{ring[0], before}
	if err := s.save(ring.roots()); err != nil {
		s.log.Warn("keys that nothing needs any more could not be dropped", "error", err)
		return done, nil
	}
	s.mu.Lock()
	s.ring, s.opened = ring, &openedSets{}
	s.mu.Unlock()
	return done, nil
}

// reseal seals with the first key what another one sealed, in one transaction.
func (s *Secrets) reseal(ctx context.Context, ring keyRing, by store.By, given bool) (done Rotated, err error) {
	var anew []store.Secret
	for _, name := range slices.Sorted(maps.Keys(s.sealed)) {
		secret := s.sealed[name]
		value, ok := ring.open(name, secret.Sealed)
		switch {
		case !ok:
			done.Unreadable = append(done.Unreadable, name)
		case !ring[0].sealedBy(secret.Sealed):
			secret.Sealed = ring[0].seal(name, value)
			anew = append(anew, secret)
		}
	}
	if given && len(anew) == 0 {
		return done, ErrKeysGiven
	}
	if err := s.wrote(s.store.Reseal(ctx, anew, by)); err != nil {
		return done, fmt.Errorf("seal secrets anew: %w", err)
	}
	s.mu.Lock()
	for _, secret := range anew {
		s.sealed[secret.Name] = secret
	}
	s.mu.Unlock()
	done.Resealed = len(anew)
	return done, nil
}

// signing are the keys of one use: the first signs, all verify.
func (s *Secrets) signing(use func(*key) []byte) [][]byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([][]byte, len(s.ring))
	for i, k := range s.ring {
		all[i] = use(k)
	}
	return all
}

func (k *key) forWatch() []byte   { return k.watch }
func (k *key) forAttempt() []byte { return k.attempt }
