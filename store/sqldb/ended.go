package sqldb

import (
	"nightshift/jobs"
	"nightshift/store"
)

// ended is a run that has ended in this transaction, whatever ended it.
type ended struct {
	id       jobs.ID
	job      string
	state    jobs.State
	now      jobs.Time
	links    store.Links
	schedule string
	failure  *jobs.Failure // of a failed one
	attempts int           // that it had
	started  jobs.Time     // of the attempt that ended it; zero: none was under way
	tell     store.Tell

	// Of a failed one, once it was taken in as a failure.
	fingerprint string
	ignored     bool // it came while those alike are ignored: nobody is told
}

func endedBy(f *store.Finish) *ended {
	return &ended{
		id: f.Run, job: f.Job, state: f.Transition.State, now: f.Now, links: f.Links, schedule: f.Schedule,
		failure: f.Transition.Error, attempts: f.Number, tell: f.Tell, started: f.Started,
	}
}

// ended takes the end of a run in wherever it matters: as a failure or what makes one good, in its group,
// and to those who are told. stop: runs with an attempt under way that is to end for that. The row of the
// run says already that it has ended. Each path on which a run ends leads through here.
func (s *Store) ended(tx Tx, e *ended) (stop []jobs.ID, err error) {
	s.tallyEnd(e)
	if err := s.failureEnded(tx, e); err != nil {
		return nil, err
	}
	if err := s.tellEnded(tx, e); err != nil {
		return nil, err
	}
	return s.groupEnded(tx, e)
}

// kindOf is the kind of a failure; "": of none.
func kindOf(f *jobs.Failure) jobs.FailureKind {
	if f == nil {
		return ""
	}
	return f.Kind
}
