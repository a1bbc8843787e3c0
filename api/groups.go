package api

import (
	"bufio"
	"errors"
	"net/http"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

func postGroup(c *call) error {
	rq := &runtime.GroupRequest{}
	keyAt, err := c.readGroup(rq)
	if err != nil {
		return err
	}
	sub, err := c.s.rt.RunGroup(c.ctx(), rq)
	if err != nil {
		return singleError(err, keyAt)
	}
	return c.answerMade(runtime.Submitted{Submitted: sub})
}

// readGroup reads the request of a run of a group that no job describes. keyAt is where its key came from.
func (c *call) readGroup(rq *runtime.GroupRequest) (keyAt string, err error) {
	keyAt = "body.idempotency_key"
	var body wire.RunGroup
	err = c.decode(&body, func() (faults []jobs.Fault) {
		rq.Group, rq.Request = &body.Group, body.Request()
		c.from(&rq.Request)
		faults, keyAt = c.headerKey(&rq.Request.IdempotencyKey)
		if size := len(body.Payload); size > jobs.MaxPayload {
			faults = append(faults, payloadFault("payload", size))
		}
		faults = append(faults, jobs.CheckGroup("", rq.Group)...)
		faults = append(faults, rq.Request.Check()...)
		return append(faults, c.notItsOwn(rq.Group)...)
	})
	var p *problem
	if !errors.As(err, &p) || p.kind != probInvalid {
		return keyAt, err
	}
	more, err := c.missingJobs(rq.Group)
	switch {
	case err != nil:
		return keyAt, err
	case more == nil && len(p.faults) == tooLargeIn(&body):
		return keyAt, tooLarge(p.faults)
	}
	return keyAt, invalid(jobs.Besides(p.faults, more))
}

// tooLargeIn counts the payloads of a group that are too large.
func tooLargeIn(g *wire.RunGroup) (n int) {
	for i := range g.Members {
		if len(g.Members[i].Payload) > jobs.MaxPayload {
			n++
		}
	}
	if len(g.Payload) > jobs.MaxPayload {
		n++
	}
	return n
}

// eachJob gives each job that a group names, and where.
func eachJob(g *jobs.Group, each func(location, job string)) {
	for _, ref := range g.Jobs("") {
		if ref.Name != "" {
			each(ref.Location, ref.Name)
		}
	}
}

// notItsOwn are the jobs of a group that the token does not reach.
func (c *call) notItsOwn(g *jobs.Group) (faults []jobs.Fault) {
	eachJob(g, func(location, job string) {
		if !c.who.reaches(job) {
			faults = append(faults, jobs.Fault{Location: location, Message: noSuchJob})
		}
	})
	return faults
}

// missingJobs are the jobs of a group that do not stand, located in the body.
func (c *call) missingJobs(g *jobs.Group) (faults []jobs.Fault, err error) {
	known := map[string]bool{}
	eachJob(g, func(location, job string) {
		stands, asked := known[job]
		if !asked && err == nil {
			_, failed := c.s.rt.Store().Job(c.ctx(), job)
			if stands = failed == nil; !stands && !errors.Is(failed, store.ErrNotFound) {
				err = failed
			}
			known[job] = stands
		}
		if !stands && c.who.reaches(job) {
			missing := store.MissingRef{Kind: jobs.RefJob, Name: job}
			faults = append(faults, jobs.Fault{Location: "body." + location, Message: missing.Error()})
		}
	})
	return faults, err
}

// listGroups lists runs of groups.
func listGroups(c *call) error {
	filter := c.runFilter()
	filter.Groups = true
	return c.answerRuns(filter)
}

// groupOf is how the group of a run stands.
func (c *call) groupOf(r *jobs.Run) (*store.GroupInfo, error) {
	g, err := c.s.rt.Store().Group(c.ctx(), r.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, refuse(probNotFound, "the run is of the job %s, which is no group: %s", r.Job, belongsTo(r))
	}
	return g, err
}

// belongsTo says of which group a run is that is none itself.
func belongsTo(r *jobs.Run) string {
	switch {
	case r.Group.IsNil():
		return "it has no members"
	case r.Place < 0:
		return "it merges the members of the group of run " + r.Group.String()
	}
	return "it is a member of the group of run " + r.Group.String()
}

func listMembers(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	g, err := c.groupOf(r)
	if err != nil {
		return err
	}
	page := c.page()
	items, next, err := c.s.rt.Store().Members(c.ctx(), r.ID, page)
	if errors.Is(err, store.ErrNotFound) {
		return noRun() // it has been deleted meanwhile
	}
	if err != nil {
		return within("query", err)
	}
	view := c.viewGroup(r, g)
	view.Next, view.Limit, view.Items = orNull(next), page.Limit, make([]wire.GroupMember, 0, len(items))
	for i := range items {
		if c.mayMember(&items[i]) {
			view.Items = append(view.Items, viewMember(&items[i]))
		}
	}
	return c.answer(200, view)
}

// mayMember reports whether the token may see a member.
func (c *call) mayMember(m *store.GroupMember) bool {
	if m.Run == nil {
		return c.who.reaches(m.Job)
	}
	return c.who.may(m.Run)
}

// viewGroup is how the group of a run stands, without its members.
func (c *call) viewGroup(of *jobs.Run, g *store.GroupInfo) *wire.GroupMembers {
	t := g.Tally
	if g.Phase == store.GroupNew {
		n := len(g.Doc.Members)
		t = store.GroupTally{Members: n, Unfinished: n}
	}
	view := &wire.GroupMembers{
		Counts: wire.GroupCounts{
			Members: t.Members, Succeeded: t.Succeeded, Failed: t.Failed, Missing: t.Missing, Unfinished: t.Unfinished,
		},
		Need: g.Doc.Need.Of(t.Members), Deadline: g.Deadline, Merges: []jobs.ID{},
	}
	if d := g.Doc.Deadline; d != nil && view.Deadline == 0 && of.StartedAt != 0 {
		view.Deadline = of.StartedAt.Add(d.Std()) // nothing waits for it any more
	}
	if g.Doc.Merge != nil {
		view.Merge = &g.Doc.Merge.Job
	}
	for _, r := range g.Merges {
		if c.who.may(r) {
			view.Merges = append(view.Merges, r.ID)
		}
	}
	return view
}

func viewMember(m *store.GroupMember) wire.GroupMember {
	view := wire.GroupMember{Name: m.Name, Job: m.Job, Run: m.ID, Missing: m.Missing}
	if m.Run == nil {
		return view
	}
	row := viewRow(m.Run, nil)
	view.State, view.Error, view.StartedAt, view.FinishedAt = &row.State, row.Error, row.StartedAt, row.FinishedAt
	return view
}

func remerge(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	var body wire.Note
	if err := c.decodeOptional(&body, func() []jobs.Fault { return checkNote(body.Note) }); err != nil {
		return err
	}
	sub, err := c.s.rt.Remerge(c.ctx(), r.ID, c.by(body.Note))
	switch {
	case errors.Is(err, store.ErrState):
		return c.whyNoRemerge(r)
	case errors.Is(err, store.ErrNotFound):
		if _, err := c.groupOf(r); err != nil {
			return err
		}
		return refuse(probState, "the job that merges is deleted: register it again first")
	case err != nil:
		return err
	}
	return c.answerSubmitted(202, runtime.Submitted{Submitted: sub})
}

// whyNoRemerge says in which state a group is that cannot be merged again.
func (c *call) whyNoRemerge(r *jobs.Run) error {
	g, err := c.groupOf(r)
	if err != nil {
		return err
	}
	now, err := c.readRun(r.ID)
	if err != nil {
		return err
	}
	switch open := openMerge(g); {
	case g.Doc.Merge == nil:
		return refuse(probState, "the group has no merge: nothing gets its results")
	case !now.State.Terminal():
		return refuse(probState, "the group is %s: only one that has ended can be merged again", now.State)
	case g.Tally.Unfinished > 0:
		return refuse(probState, "%d of the %d members have been requeued and have not ended: merge again when they have",
			g.Tally.Unfinished, g.Tally.Members)
	case open != nil:
		return refuse(probState, "a merge of it, run %s, is %s: merge again when it has ended", open.ID, open.State)
	}
	return refuse(probState, "something of the group had not ended: try again")
}

// openMerge is a merge run that has not ended; nil: there is none.
func openMerge(g *store.GroupInfo) *jobs.Run {
	for _, r := range g.Merges {
		if !r.State.Terminal() {
			return r
		}
	}
	return nil
}

// resultsBuffer is how much of the results is gathered before it is sent.
const resultsBuffer = 32 << 10

func getResults(c *call) error {
	c.Response().Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(paced{c}, resultsBuffer)
	err := c.s.rt.Results(c.ctx(), c.attempt, out)
	if err == nil {
		err = out.Flush()
	}
	switch {
	case err == nil:
		return nil
	case c.Response().Committed:
		if run, found := c.s.rt.Run(c.ctx(), c.attempt.Run); found == nil {
			c.s.log.Warn("the results of a group were cut off", runtime.AboutRun(run, "error", err)...)
		}
		panic(http.ErrAbortHandler) // so that the reader sees it
	case errors.Is(err, store.ErrNotFound):
		return refuse(probNotFound, "the run merges no group: only a merge has results")
	}
	return err
}
