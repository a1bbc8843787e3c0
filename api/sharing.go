package api

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// shared is what the resources of queues and of dependencies have alike.
type shared struct {
	kind  jobs.GateKind
	what  string // in words
	list  string // in paths
	made  string // what makes one come to be
	check func(name string) error
	read  func(c *call, check func(name string) []jobs.Fault) (document, error)
	view  func(c *call, g *store.GateInfo) (any, error)
}

// document is what a PUT or POST brings: one of these.
type document struct {
	queue      *jobs.Queue
	dependency *jobs.Dependency
}

var (
	queues = &shared{
		kind: jobs.GateQueue, what: "queue", list: "queues", check: jobs.CheckName,
		made: "a job that names it, or a PUT",
		read: func(c *call, check func(string) []jobs.Fault) (d document, err error) {
			d.queue, err = readDocument(c, jobs.ParseQueue, check)
			return d, err
		},
		view: func(c *call, g *store.GateInfo) (any, error) { return viewQueue(c, g), nil },
	}
	dependencies = &shared{
		kind: jobs.GateDependency, what: "dependency", list: "dependencies",
		check: jobs.CheckDependencyName,
		made:  "a job that names it, a run whose webhook calls that host:port, or a PUT",
		read: func(c *call, check func(string) []jobs.Fault) (d document, err error) {
			d.dependency, err = readDocument(c, jobs.ParseDependency, check)
			return d, err
		},
		view: func(c *call, g *store.GateInfo) (any, error) { return viewDependency(c, g) },
	}
)

func viewQueue(c *call, g *store.GateInfo) *wire.Queue {
	return &wire.Queue{
		Name: g.Name, Concurrency: orNoLimit(g.Limit), Paused: g.PausedAt != 0, PauseNote: g.Note,
		Running: g.Running, Queued: g.Waiting, OldestDueAt: g.OldestAt, Jobs: c.reached(g.Jobs),
		Set: g.Set, CreatedAt: g.CreatedAt, UpdatedAt: g.UpdatedAt,
	}
}

func viewDependency(c *call, g *store.GateInfo) (*wire.Dependency, error) {
	d := &wire.Dependency{
		Name: g.Name, Kind: "named", Concurrency: orNoLimit(g.Limit), Rate: g.Rate, Breaker: g.Breaker,
		Paused: g.PausedAt != 0, PauseNote: g.Note, State: jobs.BreakerClosed.String(),
		InUse: g.Running, Waiting: g.Waiting, WaitingSince: g.OldestAt, Jobs: c.reached(g.Jobs), Set: g.Set,
		CreatedAt: g.CreatedAt, UpdatedAt: g.UpdatedAt,
	}
	if g.Host {
		d.Kind = "host"
	}
	if g.State.HeldUntil > c.s.rt.Now() {
		d.HeldUntil = g.State.HeldUntil
	}
	if g.Breaker == nil {
		return d, nil
	}
	phase := g.Phase()
	d.State, d.ErrorsInRow = phase.String(), g.State.Failures
	if phase == jobs.BreakerClosed {
		return d, nil
	}
	d.Reason, d.OpenedAt = orNull(g.State.Reason), g.State.Since
	if phase == jobs.BreakerOpen {
		d.NextProbeAt = g.State.ProbeAt
		return d, nil
	}
	reached, err := c.reachesRun(g.State.Probe)
	if reached {
		d.Probe = g.State.Probe
	}
	return d, err
}

// orNoLimit is nil for 0, which is null in an answer.
func orNoLimit(limit int) *int {
	if limit == 0 {
		return nil
	}
	return &limit
}

// reached are those of the jobs that the token reaches.
func (c *call) reached(all []string) []string {
	return orEmpty(slices.DeleteFunc(slices.Clone(all), func(job string) bool { return !c.who.reaches(job) }))
}

// reachesRun reports whether the token may know of the run.
func (c *call) reachesRun(id jobs.ID) (bool, error) {
	if c.who.Jobs == nil {
		return true, nil
	}
	run, err := c.s.rt.Run(c.ctx(), id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && c.who.reaches(run.Job), err
}

// pathName is the name in the path. In one that is written with escapes, as host:port may be, the
// router leaves them.
func (c *call) pathName() string {
	name := c.Param("name")
	if c.Request().URL.RawPath == "" {
		return name
	}
	plain, err := url.PathUnescape(name)
	if err != nil {
		return name
	}
	return plain
}

func (s *shared) none() error {
	return refuse(probNotFound, "there is no such %s: %s makes it", s.what, s.made)
}

func (s *shared) noName(err error) error {
	return refuse(probNotFound, "there is no such %s: %s", s.what, err)
}

// standing is what the path names.
func (s *shared) standing(c *call) (*store.GateInfo, error) {
	name := c.pathName()
	if err := s.check(name); err != nil {
		return nil, s.noName(err)
	}
	return s.named(c, name)
}

func (s *shared) named(c *call, name string) (*store.GateInfo, error) {
	g, err := c.s.rt.Gate(c.ctx(), s.kind, name)
	return g, s.orNone(err)
}

func (s *shared) orNone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return s.none()
	}
	return err
}

// gateTag is the tag of what is shown: the revision of its document, 0 where it has none, and its
// state, which is no part of that.
func gateTag(g *store.GateInfo, shown any) string {
	sum := sha256.Sum256(jobs.AppendJSON(nil, shown))
	return fmt.Sprintf(`"%d.%x"`, g.Revision, sum[:6])
}

func (s *shared) answer(c *call, status int, g *store.GateInfo) error {
	shown, err := s.view(c, g)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", gateTag(g, shown))
	return c.answer(status, shown)
}

// answerNamed answers with what stands after a change.
func (s *shared) answerNamed(c *call, status int, name string) error {
	g, err := s.named(c, name)
	if err != nil {
		return err
	}
	return s.answer(c, status, g)
}

func (s *shared) get(c *call) error {
	g, err := s.standing(c)
	if err != nil {
		return err
	}
	shown, err := s.view(c, g)
	if err != nil {
		return err
	}
	if c.unchanged(gateTag(g, shown)) {
		return c.NoContent(304)
	}
	return s.answer(c, 200, g)
}

func listQueues(c *call) error {
	page := c.page()
	all, next, err := c.s.rt.Gates(c.ctx(), jobs.GateQueue, page)
	if err != nil {
		return within("query", err)
	}
	list := wire.Queues{Items: make([]wire.Queue, len(all)), Next: orNull(next), Limit: page.Limit}
	for i, g := range all {
		list.Items[i] = *viewQueue(c, g)
	}
	return c.answer(200, &list)
}

func listDependencies(c *call) error {
	page := c.page()
	all, next, err := c.s.rt.Gates(c.ctx(), jobs.GateDependency, page)
	if err != nil {
		return within("query", err)
	}
	list := wire.Dependencies{
		Items: make([]wire.Dependency, len(all)), Next: orNull(next), Limit: page.Limit,
	}
	for i, g := range all {
		d, err := viewDependency(c, g)
		if err != nil {
			return err
		}
		list.Items[i] = *d
	}
	return c.answer(200, &list)
}
