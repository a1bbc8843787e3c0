package sqldb

import (
	"context"

	"nightshift/jobs"
	"nightshift/store"
)

// groupEnded takes in that a member of a group, or its merge, has ended.
func (s *Store) groupEnded(tx Tx, e *ended) (stop []jobs.ID, err error) {
	return nil, nil
}

// Group implements store.Groups.
func (s *Store) Group(ctx context.Context, run jobs.ID) (*store.GroupInfo, error) {
	return nil, store.ErrNotFound
}

// Members implements store.Groups.
func (s *Store) Members(ctx context.Context, run jobs.ID, p store.Page) ([]store.GroupMember, string, error) {
	return nil, "", store.ErrNotFound
}

// Results implements store.Groups.
func (s *Store) Results(ctx context.Context, run jobs.ID, each func(*store.GroupMember) error) error {
	return store.ErrNotFound
}

// KeepPayload implements store.Groups.
func (s *Store) KeepPayload(ctx context.Context, f store.Fence, payload jobs.Raw) error {
	return store.ErrNotFound
}

// Remerge implements store.Groups.
func (s *Store) Remerge(ctx context.Context, of jobs.ID, draft *jobs.Run, by store.By) (store.Submitted, error) {
	return store.Submitted{}, store.ErrNotFound
}

// UseIDs implements store.Groups.
func (s *Store) UseIDs(ids *jobs.IDs) {}
