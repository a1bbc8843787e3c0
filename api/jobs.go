package api

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// orNull is nil for the empty text, which is null in an answer.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func listJobs(c *call) error {
	page := c.page()
	items, next, err := c.s.rt.Store().Jobs(c.ctx(), page)
	if err != nil {
		return within("query", err)
	}
	items = slices.DeleteFunc(items, func(j *jobs.Job) bool { return !c.who.reaches(j.Name) })
	for i, j := range items {
		row := *j
		row.Payload = nil
		row.Schedules = slices.Clone(j.Schedules)
		for i := range row.Schedules {
			row.Schedules[i].Payload = nil
		}
		items[i] = &row
	}
	if items == nil {
		items = []*jobs.Job{}
	}
	return c.answer(200, &wire.Jobs{Items: items, Next: orNull(next), Limit: page.Limit})
}

// jobTag is the tag of a job as it is shown: its revision, and its pause, which is no part of it.
func jobTag(j *jobs.Job) string {
	if !j.Paused {
		return etag(j.Revision)
	}
	sum := sha256.Sum256([]byte(j.PauseNote))
	return fmt.Sprintf(`"%d.paused-%x"`, j.Revision, sum[:4])
}

func (c *call) answerJob(status int, j *jobs.Job) error {
	c.Response().Header().Set("ETag", jobTag(j))
	return c.answer(status, j)
}

func getJob(c *call) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	j, err := c.s.rt.Store().Job(c.ctx(), name)
	if err != nil {
		return jobError(err)
	}
	if c.unchanged(jobTag(j)) {
		return c.NoContent(304)
	}
	return c.answerJob(200, j)
}

// jobError names what does not exist.
func jobError(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return noJob()
	}
	return err
}

func postJob(c *call) error {
	j, err := readDocument(c, jobs.ParseJob, func(name string) []jobs.Fault {
		switch {
		case name == "":
			return []jobs.Fault{{Location: "name", Message: "is missing: want the job's name"}}
		case !c.who.reaches(name):
			return []jobs.Fault{{
				Location: "name", Message: "the token does not reach a job of this name",
			}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.saveJob(store.PutJob{Job: j, Create: true})
}

func putJob(c *call) error {
	name := c.Param("name")
	if err := jobs.CheckName(name); err != nil {
		c.addBad("path.name", err.Error())
	} else if !c.who.reaches(name) {
		return noJob()
	}
	j, err := readDocument(c, jobs.ParseJob, func(written string) []jobs.Fault {
		return otherName("job", written, name)
	})
	if err != nil {
		return err
	}
	j.Name = name
	put, err := c.jobCondition(j)
	if err != nil {
		return err
	}
	err = c.saveJob(put)
	if errors.Is(err, store.ErrExists) {
		return store.ErrStale // If-None-Match: *
	}
	return err
}

// jobCondition is the change of a job under the call's If-Match and If-None-Match.
func (c *call) jobCondition(job *jobs.Job) (put store.PutJob, err error) {
	put = store.PutJob{Job: job, Create: c.condition("If-None-Match").any}
	match := c.condition("If-Match")
	if !match.given {
		return put, nil
	}
	j, err := c.s.rt.Store().Job(c.ctx(), job.Name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return put, err
	}
	if err != nil || !match.holds(true, j.Revision) {
		return put, store.ErrStale
	}
	put.IfMatch = &j.Revision
	return put, nil
}

func (c *call) saveJob(put store.PutJob) error {
	saved, err := c.s.rt.PutJobs(c.ctx(), []store.PutJob{put}, c.by(""))
	if err != nil {
		return saveError(err, inBody)
	}
	j := saved[0].Job
	return c.answerJob(c.saved(saved[0].Created, "jobs", j.Name), j)
}

func deleteJob(c *call) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	match := c.condition("If-Match")
	var revision *int64
	if match.given {
		j, err := c.s.rt.Store().Job(c.ctx(), name)
		if err != nil {
			return jobError(err)
		}
		if !match.holds(true, j.Revision) {
			return store.ErrStale
		}
		revision = &j.Revision
	}
	cancelled, err := c.s.rt.DeleteJob(c.ctx(), name, revision, c.by(""))
	if err != nil {
		return jobError(err)
	}
	return c.answer(200, &wire.Deleted{CancelledRuns: cancelled})
}

// maxNote bounds what somebody writes about a change.
const maxNote = 1024

func checkNote(note string) []jobs.Fault {
	if len(note) <= maxNote {
		return nil
	}
	return []jobs.Fault{{Location: "note", Message: fmt.Sprintf("at most %d bytes", maxNote)}}
}

func pauseJob(c *call, paused bool) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	var body wire.Note
	err = c.decodeOptional(&body, func() []jobs.Fault { return checkNote(body.Note) })
	if err != nil {
		return err
	}
	j, err := c.s.rt.PauseJob(c.ctx(), name, paused, body.Note, c.by(body.Note))
	if err != nil {
		return jobError(err)
	}
	return c.answerJob(200, j)
}

func listVersions(c *call) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	page := c.page()
	items, next, err := c.s.rt.Store().Versions(c.ctx(), name, page)
	if err != nil {
		return within("query", jobError(err))
	}
	if items == nil {
		items = []jobs.Version{}
	}
	return c.answer(200, &wire.Versions{Items: items, Next: orNull(next), Limit: page.Limit})
}

func getVersion(c *call) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(c.Param("version"))
	if err != nil || n < 1 {
		return refuse(probNotFound, "there is no such version: want a number from 1")
	}
	v, err := c.s.rt.Store().Version(c.ctx(), name, n)
	if errors.Is(err, store.ErrNotFound) {
		return refuse(probNotFound, "there is no such version of the job")
	}
	if err != nil {
		return err
	}
	return c.answer(200, v)
}

func upgradeRuns(c *call) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	if err := c.decodeOptional(&wire.Empty{}); err != nil {
		return err
	}
	moved, err := c.s.rt.UpgradeRuns(c.ctx(), name, c.by(""))
	if err != nil {
		return jobError(err)
	}
	return c.answer(200, &wire.Upgraded{UpgradedRuns: moved})
}
