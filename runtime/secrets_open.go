package runtime

import (
	"strings"

	"nightshift/jobs"
)

// opened are secrets that versions of jobs need together, and the mask that hides them: making that
// takes longer than most else of an attempt.
type opened struct {
	values map[string]string
	mask   *jobs.Mask
}

var noSecrets = &opened{}

func (o *opened) value(name string) (string, bool) {
	v, ok := o.values[name]
	return v, ok
}

// openedSets are what is remembered until a secret or a key changes: another one takes its place
// then. Jobs that need the same secrets share.
type openedSets struct {
	byNames map[string]*opened
	bytes   int // of the values
}

// Bounds of what is remembered. A mask takes about ten times what its secrets do.
const (
	maxOpened      = 1024
	maxOpenedBytes = 4 << 20
)

// open gives the secrets that a version needs; missing is the first that is not there or cannot be
// read.
func (s *Secrets) open(p *jobs.Prepared) (o *opened, missing string) {
	names := p.Secrets()
	if len(names) == 0 {
		return noSecrets, ""
	}
	key := strings.Join(names, " ")
	s.mu.RLock()
	o = s.opened.byNames[key]
	s.mu.RUnlock()
	if o != nil {
		return o, ""
	}
	s.opening.Lock() // who waits finds what another one made
	defer s.opening.Unlock()
	s.mu.RLock()
	o = s.opened.byNames[key]
	sealed, ring, sets := s.sealedOf(names), s.ring, s.opened
	s.mu.RUnlock()
	if o != nil {
		return o, ""
	}
	o = &opened{values: make(map[string]string, len(names))}
	list := make([]string, len(names))
	bytes := 0
	for i, name := range names {
		value, ok := ring.open(name, sealed[i])
		if !ok {
			return nil, name
		}
		o.values[name], list[i] = value, value
		bytes += len(value)
	}
	o.mask = jobs.NewMask(list)
	s.mu.Lock()
	sets.remember(key, o, bytes)
	s.mu.Unlock()
	return o, ""
}

// sealedOf are the values of secrets as they are kept, nil for what is not there.
func (s *Secrets) sealedOf(names []string) [][]byte {
	list := make([][]byte, len(names))
	for i, name := range names {
		list[i] = s.sealed[name].Sealed
	}
	return list
}

// remember keeps what was opened. Where the sets have been replaced meanwhile it is lost with them.
func (sets *openedSets) remember(key string, o *opened, bytes int) {
	if sets.byNames == nil || len(sets.byNames) >= maxOpened || sets.bytes+bytes > maxOpenedBytes {
		sets.byNames, sets.bytes = map[string]*opened{}, 0
	}
	sets.byNames[key] = o
	sets.bytes += bytes
}
