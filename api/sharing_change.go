package api

import (
	"errors"
	"net/url"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

func (s *shared) post(c *call) error {
	doc, err := s.read(c, func(name string) []jobs.Fault {
		if name == "" {
			return []jobs.Fault{{Location: "name", Message: "is missing: want the name of the " + s.what}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.save(c, doc, true, nil)
}

func (s *shared) put(c *call) error {
	name := c.pathName()
	if err := s.check(name); err != nil {
		c.addBad("path.name", err.Error())
	}
	doc, err := s.read(c, func(written string) []jobs.Fault { return otherName(s.what, written, name) })
	if err != nil {
		return err
	}
	if doc, err = s.asItStands(c, doc.named(name), name); err != nil {
		return err
	}
	create, ifMatch, err := s.condition(c, name)
	if err != nil {
		return err
	}
	err = s.save(c, doc, create, ifMatch)
	if errors.Is(err, store.ErrExists) {
		return store.ErrStale // If-None-Match: *, or somebody has put one meanwhile
	}
	return err
}

func (d document) named(name string) document {
	if d.queue != nil {
		d.queue.Name = name
		return d
	}
	return document{dependency: d.dependency.Named(name)}
}

// asItStands is the document that stands where the one that was sent says the same in more words: what
// a GET answers, in which all limits are filled in, may be sent back and changes nothing.
func (s *shared) asItStands(c *call, doc document, name string) (document, error) {
	if doc.dependency == nil {
		return doc, nil
	}
	g, err := c.s.rt.Gate(c.ctx(), s.kind, name)
	if errors.Is(err, store.ErrNotFound) || err == nil && g.Doc == nil {
		return doc, nil
	}
	if err != nil {
		return doc, err
	}
	stands, err := jobs.ParseDependencyDocument(name, g.Doc)
	if err == nil && stands.SameLimits(doc.dependency) {
		doc.dependency = stands
	}
	return doc, err
}

// condition reads the call's If-Match and If-None-Match. What is made is the document: something
// that was only named has none, and revision 0.
func (s *shared) condition(c *call, name string) (create bool, ifMatch *int64, err error) {
	match := c.condition("If-Match")
	create = c.condition("If-None-Match").any
	if !match.given {
		return create, nil, nil
	}
	g, err := c.s.rt.Gate(c.ctx(), s.kind, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, nil, err
	}
	if err != nil || !match.holds(true, g.Revision) {
		return false, nil, store.ErrStale
	}
	if g.Doc == nil {
		return true, nil, nil
	}
	return create, &g.Revision, nil
}

func (s *shared) save(c *call, doc document, create bool, ifMatch *int64) error {
	var in runtime.Changes
	var name string
	if q := doc.queue; q != nil {
		name = q.Name
		in.Queues = []runtime.PutQueue{{Queue: q, Create: create, IfMatch: ifMatch}}
	}
	if d := doc.dependency; d != nil {
		name = d.Name
		in.Dependencies = []runtime.PutDependency{{Dependency: d, Create: create, IfMatch: ifMatch}}
	}
	saved, err := c.s.rt.Save(c.ctx(), in, c.by(""))
	if err != nil {
		return saveError(err, inBody)
	}
	created := len(saved.Queues) > 0 && saved.Queues[0].Created ||
		len(saved.Dependencies) > 0 && saved.Dependencies[0].Created
	return s.answerNamed(c, c.saved(created, s.list, url.PathEscape(name)), name)
}

func (s *shared) delete(c *call) error {
	g, err := s.standing(c)
	if err != nil {
		return err
	}
	match := c.condition("If-Match")
	if match.fails(true, g.Revision) {
		return store.ErrStale
	}
	if g.Doc == nil {
		return c.NoContent(204) // it is as it would be
	}
	var revision *int64
	if match.given {
		revision = &g.Revision
	}
	err = c.s.rt.DeleteGate(c.ctx(), s.kind, g.Name, revision, c.by(""))
	if err != nil && !errors.Is(err, store.ErrNotFound) { // somebody else has, meanwhile
		return err
	}
	return c.NoContent(204)
}

func (s *shared) pause(c *call, paused bool) error {
	var body wire.Note
	err := c.decodeOptional(&body, func() []jobs.Fault { return checkNote(body.Note) })
	if err != nil {
		return err
	}
	return s.change(c, func(name string) error {
		return c.s.rt.PauseGate(c.ctx(), s.kind, name, paused, body.Note, c.by(body.Note))
	})
}

// change makes a change of the state of what the path names, and answers with what stands then.
func (s *shared) change(c *call, change func(name string) error) error {
	name := c.pathName()
	if err := s.check(name); err != nil {
		return s.noName(err)
	}
	if err := change(name); err != nil {
		return s.orNone(err)
	}
	return s.answerNamed(c, 200, name)
}

// maxTrip bounds a trip: what is to stay shut is paused.
const maxTrip = 30 * 24 * time.Hour

func checkTrip(body *wire.Trip) []jobs.Fault {
	faults := checkNote(body.Note)
	if body.For != nil && (*body.For <= 0 || body.For.Std() > maxTrip) {
		faults = append(faults, jobs.Fault{
			Location: "for", Message: "want more than 0s and at most 30d: what is to stay shut is paused",
		})
	}
	return faults
}

func tripDependency(c *call) error {
	var body wire.Trip
	if err := c.decodeOptional(&body, func() []jobs.Fault { return checkTrip(&body) }); err != nil {
		return err
	}
	var length time.Duration
	if body.For != nil {
		length = body.For.Std()
	}
	return dependencies.change(c, func(name string) error {
		err := c.s.rt.Trip(c.ctx(), name, length, c.by(body.Note))
		if errors.Is(err, store.ErrState) {
			return refuse(probState, "the dependency has no breaker that could open (breaker: null): "+
				"pause it, or give it one with a PUT")
		}
		return err
	})
}

func resetDependency(c *call) error {
	var body wire.Note
	err := c.decodeOptional(&body, func() []jobs.Fault { return checkNote(body.Note) })
	if err != nil {
		return err
	}
	return dependencies.change(c, func(name string) error {
		return c.s.rt.Reset(c.ctx(), name, c.by(body.Note))
	})
}
