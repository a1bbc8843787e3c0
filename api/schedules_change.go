package api

import (
	"errors"
	"net/url"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// inJob refuses to change a schedule by itself that is a part of a job's document.
func inJob(job string) error {
	return refuse(probInJob, "it is written with the job %s: change its schedules by PUT /v1/jobs/%s",
		job, url.PathEscape(job))
}

func postSchedule(c *call) error {
	s, err := readDocument(c, jobs.ParseSchedule, func(name string) []jobs.Fault {
		if name == "" {
			return []jobs.Fault{{Location: "name", Message: "is missing: want the name of the schedule"}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !c.who.reaches(s.Job) {
		return noJob()
	}
	err = c.saveSchedule(runtime.PutSchedule{Schedule: s, Create: true})
	if errors.Is(err, store.ErrExists) {
		if _, err := c.readSchedule(s.Name); err != nil {
			return refuse(probNotFound, "a schedule of this name stands, but the token does not reach its "+
				"job: take another name")
		}
	}
	return err
}

func putSchedule(c *call) error {
	name := c.pathName()
	if job := jobOfSchedule(name); job != "" {
		if !c.who.reaches(job) {
			return noSchedule()
		}
		return inJob(job)
	}
	if err := jobs.CheckName(name); err != nil {
		c.addBad("path.name", err.Error())
	}
	s, err := readDocument(c, jobs.ParseSchedule, func(written string) []jobs.Fault {
		return otherName("schedule", written, name)
	})
	if err != nil {
		return err
	}
	if !c.who.reaches(s.Job) {
		return noJob()
	}
	s.Name = name
	for {
		put, err := c.scheduleCondition(s)
		if err != nil {
			return err
		}
		err = c.saveSchedule(put)
		if errors.Is(err, store.ErrExists) {
			err = store.ErrStale
		}
		if !errors.Is(err, store.ErrStale) || c.conditional() {
			return err
		}
		// It was changed meanwhile, and may be of another job now.
	}
}

// conditional reports whether the caller says what must stand.
func (c *call) conditional() bool {
	return c.condition("If-Match").given || c.condition("If-None-Match").given
}

// scheduleCondition is the change of a schedule under the call's If-Match and If-None-Match. A token
// that is narrowed may change one of its own jobs alone: what stands is then named too.
func (c *call) scheduleCondition(s *jobs.Schedule) (put runtime.PutSchedule, err error) {
	put.Schedule = s
	if !c.conditional() && c.who.Jobs == nil {
		return put, nil
	}
	stands, err := c.s.rt.Store().Schedule(c.ctx(), s.Name)
	if errors.Is(err, store.ErrNotFound) {
		put.Create = true
		return put, c.mayChange(false, 0)
	}
	switch {
	case err != nil:
		return put, err
	case !c.who.reaches(stands.Job):
		return put, noSchedule()
	}
	put.IfMatch = &stands.Revision
	return put, c.mayChange(true, stands.Revision)
}

func (c *call) saveSchedule(put runtime.PutSchedule) error {
	saved, err := c.s.rt.Save(c.ctx(), runtime.Changes{Schedules: []runtime.PutSchedule{put}}, c.by(""))
	if err != nil {
		return saveError(err, inBody)
	}
	s, err := c.readSchedule(put.Schedule.Name)
	if err != nil {
		return err
	}
	return c.answerSchedule(c.saved(saved.Schedules[0].Created, "schedules", s.Name), s)
}

func deleteSchedule(c *call) error {
	for {
		s, err := c.pathSchedule()
		switch {
		case err != nil:
			return err
		case s.InJob:
			return inJob(s.Job)
		case c.condition("If-Match").fails(true, s.Revision):
			return store.ErrStale
		}
		err = c.s.rt.DeleteSchedule(c.ctx(), s.Name, &s.Revision, c.by(""))
		switch {
		case err == nil:
			return c.NoContent(204)
		case errors.Is(err, store.ErrNotFound):
			return noSchedule()
		case !errors.Is(err, store.ErrStale) || c.conditional():
			return err
		}
	}
}

func pauseSchedule(c *call, paused bool) error {
	var body wire.Note
	err := c.decodeOptional(&body, func() []jobs.Fault { return checkNote(body.Note) })
	if err != nil {
		return err
	}
	s, err := c.pathSchedule()
	if err != nil {
		return err
	}
	s, err = c.s.rt.PauseSchedule(c.ctx(), s.Name, paused, body.Note, c.by(body.Note))
	if errors.Is(err, store.ErrNotFound) {
		return noSchedule()
	}
	if err != nil {
		return err
	}
	return c.answerSchedule(200, s)
}
