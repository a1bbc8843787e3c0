package jobs

// chain is a Chain, compiled.
type chain struct {
	job     string
	at      string
	cond    *program // nil: always
	payload *jsonTemplate
	fixed   Raw // where the payload is no template; nil: the result
}

// FollowUp is a run that another one's success makes.
type FollowUp struct {
	Job     string
	Payload Raw
	Failure *Failure // invalid: the run is made failed; its payload is the result
}

func compileChains(c *templating, list []Chain) []chain {
	if len(list) > maxChains {
		return nil // Check says so
	}
	chains := make([]chain, 0, len(list))
	for i := range list {
		at := chainAt(i)
		made := chain{job: list[i].Job, at: at, fixed: list[i].Payload}
		made.cond = c.condition(at+".if", list[i].If, inChains)
		if made.fixed != nil && ValidJSON(made.fixed) == nil {
			made.payload = c.json(at+".payload", made.fixed, inChains)
		}
		chains = append(chains, made)
	}
	return chains
}

// FollowUps are the runs that the success of a run makes, in the order of on_success; those whose
// if does not hold are left out. Result nil is null; checkpoint is what the operation had saved,
// nil: nothing.
func (p *Plan) FollowUps(run *Run, result, checkpoint Raw) []FollowUp {
	if len(p.chains) == 0 {
		return nil
	}
	if len(result) == 0 {
		result = Raw("null")
	}
	r := newRenderer(&evidence{
		facts: &facts{Job: jobFactsOf(p.Job)}, of: run, attempt: run.Counts.Attempt(),
		payload: run.Payload, checkpoint: checkpoint, result: result,
	})
	var list []FollowUp
	for i := range p.chains {
		if f, wanted := p.chains[i].follow(r, result); wanted {
			list = append(list, f)
		}
	}
	return list
}

func (c *chain) follow(r *renderer, result Raw) (f FollowUp, wanted bool) {
	f = FollowUp{Job: c.job, Payload: result}
	if c.cond != nil {
		holds, err := r.holds(c.cond)
		if err != nil {
			f.Failure = unrendered(c.at+".if", err)
			return f, true
		}
		if !holds {
			return f, false
		}
	}
	payload, err := c.render(r)
	switch {
	case err != nil:
		f.Failure = unrendered(c.at+".payload", err)
	case payload != nil:
		f.Payload = payload
	}
	return f, true
}

// render gives the payload; nil: it is the result.
func (c *chain) render(r *renderer) (Raw, error) {
	if c.payload == nil {
		return c.fixed, nil
	}
	payload, err := r.appendJSON(c.payload, MaxPayload)
	if err == nil {
		err = CheckPayload(payload)
	}
	return payload, err
}
