package api

import (
	"bytes"
	"errors"
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
	page, err := c.page()
	if err != nil {
		return err
	}
	items, next, err := c.s.rt.Store().Jobs(c.ctx(), page)
	if err != nil {
		return within("query", err)
	}
	items = slices.DeleteFunc(items, func(j *jobs.Job) bool { return !c.who.reaches(j.Name) })
	for i, j := range items {
		row := *j
		row.Payload = nil
		items[i] = &row
	}
	if items == nil {
		items = []*jobs.Job{}
	}
	return c.answer(200, &wire.Jobs{Items: items, Next: orNull(next), Limit: page.Limit})
}

func (c *call) answerJob(status int, j *jobs.Job) error {
	c.Response().Header().Set("ETag", etag(j.Revision))
	return c.answer(status, j)
}

func getJob(c *call) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	none, err := c.condition("If-None-Match")
	if err != nil {
		return err
	}
	j, err := c.s.rt.Store().Job(c.ctx(), name)
	if err != nil {
		return jobError(err)
	}
	if none.given && none.weakly(j.Revision) {
		c.Response().Header().Set("ETag", etag(j.Revision))
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
	data, err := c.body(c.route.body)
	if err != nil {
		return err
	}
	j, err := jobs.ParseJob(data)
	if err != nil {
		return within("body", err)
	}
	if j.Name == "" {
		return fault("body.name", "is missing: want the job's name")
	}
	if !c.who.reaches(j.Name) {
		return fault("body.name", "the token does not reach a job of this name")
	}
	return c.saveJob(store.PutJob{Job: j, Create: true})
}

func putJob(c *call) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	put, err := c.jobCondition(name)
	if err != nil {
		return err
	}
	data, err := c.body(c.route.body)
	if err != nil {
		return err
	}
	if put.Job, err = jobs.ParseJob(data); err != nil {
		return within("body", err)
	}
	if put.Job.Name == "" {
		put.Job.Name = name
	}
	if put.Job.Name != name {
		return fault("body.name", "the path names the job %s; leave the name out or write the same", name)
	}
	err = c.saveJob(put)
	if errors.Is(err, store.ErrExists) {
		return store.ErrStale // If-None-Match: *
	}
	return err
}

// jobCondition reads If-Match and If-None-Match of a change of a job.
func (c *call) jobCondition(name string) (put store.PutJob, err error) {
	match, err := c.condition("If-Match")
	if err != nil {
		return put, err
	}
	none, err := c.condition("If-None-Match")
	if err != nil {
		return put, err
	}
	if none.given && !none.any {
		return put, fault("header.If-None-Match", "only * is known here")
	}
	put.Create = none.any
	if !match.given {
		return put, nil
	}
	j, err := c.s.rt.Store().Job(c.ctx(), name)
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
		return within("body", err)
	}
	status := 200
	if saved[0].Created {
		status = 201
		c.Response().Header().Set("Location", "/v1/jobs/"+saved[0].Job.Name)
	}
	return c.answerJob(status, saved[0].Job)
}

func deleteJob(c *call) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	match, err := c.condition("If-Match")
	if err != nil {
		return err
	}
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

func checkNote(note string) error {
	if len(note) > maxNote {
		return fault("body.note", "at most %d bytes", maxNote)
	}
	return nil
}

func pauseJob(c *call, paused bool) error {
	name, err := c.pathJob()
	if err != nil {
		return err
	}
	var body wire.Note
	if err := c.decodeOptional(&body); err != nil {
		return err
	}
	if err := checkNote(body.Note); err != nil {
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
	page, err := c.page()
	if err != nil {
		return err
	}
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

func apply(c *call) error {
	data, err := c.body(c.route.body)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return within("body", jobs.DecodeJSON(data, &wire.Empty{})) // files may be YAML, bodies are JSON
	}
	file, err := jobs.ParseFile("body", data)
	if err != nil {
		return within("body", err)
	}
	puts := make([]store.PutJob, len(file.Jobs))
	for i, j := range file.Jobs {
		if !c.who.reaches(j.Name) {
			place := "body.jobs[" + strconv.Itoa(i) + "].name"
			return fault(place, "the token does not reach a job of this name")
		}
		puts[i].Job = j
	}
	saved, err := c.s.rt.PutJobs(c.ctx(), puts, c.by(""))
	if err != nil {
		place := "body"
		if len(puts) == 1 {
			place = "body.jobs[0]"
		}
		return within(place, err)
	}
	done := wire.Applied{Items: make([]wire.AppliedJob, len(saved))}
	for i, s := range saved {
		done.Items[i] = wire.AppliedJob{Name: s.Job.Name, Version: s.Job.Version, Action: actionOf(s)}
	}
	return c.answer(200, &done)
}

func actionOf(s store.Saved) string {
	switch {
	case s.Created:
		return "created"
	case s.Changed:
		return "changed"
	}
	return "unchanged"
}
