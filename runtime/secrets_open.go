package runtime

import "nightshift/jobs"

// opened are the secrets that one version of a job needs, and the mask that hides them: making that
// takes longer than most else of an attempt.
type opened struct {
	values map[string]string
	mask   *jobs.Mask
}

// maxOpened bounds what is remembered.
const maxOpened = 1024

var noSecrets = &opened{}

func (o *opened) value(name string) (string, bool) {
	v, ok := o.values[name]
	return v, ok
}

// open gives the secrets that a version needs; missing is the first that is not there or cannot be
// read.
func (s *Secrets) open(p *jobs.Prepared) (o *opened, missing string) {
	names := p.Secrets()
	if len(names) == 0 {
		return noSecrets, ""
	}
	s.mu.RLock()
	o = s.opened[p]
	s.mu.RUnlock()
	if o != nil {
		return o, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o = &opened{values: make(map[string]string, len(names))}
	list := make([]string, 0, len(names))
	for _, name := range names {
		secret, stands := s.sealed[name]
		value, ok := s.ring.open(name, secret.Sealed)
		if !stands || !ok {
			return nil, name
		}
		o.values[name] = value
		list = append(list, value)
	}
	o.mask = jobs.NewMask(list)
	if s.opened == nil || len(s.opened) >= maxOpened {
		s.opened = map[*jobs.Prepared]*opened{}
	}
	s.opened[p] = o
	return o, ""
}
