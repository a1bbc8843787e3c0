package jobs

import (
	"errors"
	"fmt"
	"slices"
)

// DoorPlan is a door made ready for use. It is never changed: safe for concurrent use.
type DoorPlan struct {
	job     *Job
	door    *Door
	at      string
	secret  *template // nil: it is written out
	secrets []string
	cond    *program // nil: all is let in
	key     *program // nil: the sender's id
}

func compileDoors(c *templating, job *Job) []DoorPlan {
	if len(job.Inbound) > maxDoors {
		return nil // Check says so
	}
	doors := make([]DoorPlan, 0, len(job.Inbound))
	for i := range job.Inbound {
		d := DoorPlan{job: job, door: &job.Inbound[i], at: doorAt(i)}
		c.secrets = nil
		d.secret = c.text(d.at+".secret", d.door.Secret, inDoorSecrets)
		d.secrets = slices.Sorted(slices.Values(c.secrets))
		d.cond = c.condition(d.at+".if", d.door.If, inDoors)
		if d.door.Key != "" {
			prog, err := c.expr(d.at+".key", d.door.Key, inDoors)
			if err != nil {
				c.add(d.at+".key", "%s", err)
			}
			d.key = prog
		}
		doors = append(doors, d)
	}
	return doors
}

// Door is the door of the job with that name; nil where there is none.
func (p *Plan) Door(name string) *DoorPlan {
	for i := range p.doors {
		if p.doors[i].door.Name == name {
			return &p.doors[i]
		}
	}
	return nil
}

// Door is the door as the document has it.
func (d *DoorPlan) Door() *Door { return d.door }

// Secrets are the names of the secrets that Secret needs, sorted.
func (d *DoorPlan) Secrets() []string { return d.secrets }

// Secret is what the sender signs with. The failure quotes no secret.
func (d *DoorPlan) Secret(lookup func(name string) (string, bool)) (string, *Failure) {
	if d.secret == nil {
		return d.door.Secret, nil
	}
	text, err := d.renderSecret(lookup)
	if err != nil {
		return "", unrendered(d.at+".secret", err)
	}
	return text, nil
}

func (d *DoorPlan) renderSecret(lookup func(name string) (string, bool)) (string, error) {
	values, err := lookUp(d.secrets, lookup)
	if err != nil {
		return "", err
	}
	ev := &evidence{facts: &facts{Job: jobFactsOf(d.job), Secrets: values}}
	text, err := newRenderer(ev).field(d.secret, &headerForm)
	if err == nil && text == "" {
		err = errors.New("is empty")
	}
	return text, err
}

func (d *DoorPlan) renderer(in map[string]string, payload Raw) *renderer {
	return newRenderer(&evidence{
		facts: &facts{Job: jobFactsOf(d.job), Headers: headers(in)}, payload: payload,
	})
}

// Admit reports whether what came in makes a run: whether the door's if holds. One that fails
// counts as true, and the note says so. Names of headers are in lower case.
func (d *DoorPlan) Admit(in map[string]string, payload Raw) (ok bool, note string) {
	if d.cond == nil {
		return true, ""
	}
	ok, err := d.renderer(in, payload).holds(d.cond)
	if err != nil {
		return true, clip(fmt.Sprintf("%s.if failed and counts as true (%s)", d.at, err), maxReason)
	}
	return ok, ""
}

// maxKey is how many bytes a key may have.
const maxKey = 255

// Key tells deliveries apart where the door has an expression for it; "" where it has none: the
// sender's id counts.
func (d *DoorPlan) Key(in map[string]string, payload Raw) (string, *Failure) {
	if d.key == nil {
		return "", nil
	}
	r := d.renderer(in, payload)
	text, err := r.text(&part{prog: d.key, line: 1, column: 1}, false)
	switch {
	case err != nil:
	case text == "":
		err = errors.New("gives an empty text")
	case len(text) > maxKey || !printable(text):
		err = fmt.Errorf("gives no printable text of at most %d bytes", maxKey)
	}
	if err != nil {
		return "", unrendered(d.at+".key", err)
	}
	return text, nil
}
