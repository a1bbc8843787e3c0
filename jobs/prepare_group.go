package jobs

import "fmt"

// groupTemplates are the payloads of a group's members, in their order.
type groupTemplates struct {
	at      string
	members []memberPayload
}

// memberPayload is what a member gets; all nil: the group's payload.
type memberPayload struct {
	tmpl  *jsonTemplate
	fixed Raw // where the payload is no template
}

// compileGroup compiles the payloads of a group's members.
func compileGroup(c *templating, at string, g *Group) *groupTemplates {
	if len(g.Members) > MaxMembers {
		return nil // Check says so
	}
	c.memo = map[string]*program{}
	defer func() { c.memo = nil }()
	made := &groupTemplates{at: at, members: make([]memberPayload, len(g.Members))}
	for i := range g.Members {
		payload := g.Members[i].Payload.given()
		if payload == nil || ValidJSON(payload) != nil {
			continue
		}
		made.members[i] = memberPayload{c.json(memberAt(at, i)+".payload", payload, inGroups), payload}
	}
	return made
}

// Members are the payloads of a group's members, rendered one by one.
type Members struct {
	of      *groupTemplates
	payload Raw
	r       *renderer
}

// Members renders what the members of a group get of its run. The spec is that of a group.
func (p *Prepared) Members(sc *Scope) *Members {
	return &Members{p.group, sc.Payload, newRenderer(sc.evidence())}
}

// Payload is what a member gets. The failure, of kind invalid, says which part of it cannot be rendered,
// and why.
func (m *Members) Payload(i int) (Raw, *Failure) {
	member := &m.of.members[i]
	switch {
	case member.tmpl != nil:
	case member.fixed != nil:
		return member.fixed, nil
	case len(m.payload) > MaxPayload: // it merges what is large
		err := fmt.Errorf("is left out, and the group's has %d bytes: want one that gives at most %d", len(m.payload), MaxPayload)
		return nil, unrendered(memberAt(m.of.at, i)+".payload", err)
	default:
		return m.payload, nil
	}
	m.r.budget = &meter{left: evalBudget} // of each its own
	payload, err := m.r.appendJSON(member.tmpl, MaxPayload)
	if err == nil {
		err = CheckPayload(payload)
	}
	if err != nil {
		return nil, unrendered(memberAt(m.of.at, i)+".payload", err)
	}
	return payload, nil
}

// ErrGroupPayloads is why a group does not start whose members get too much.
func ErrGroupPayloads() *Failure {
	return (&Failure{Kind: FailInvalid, Message: fmt.Sprintf(
		"the payloads of the group's members have more than %s together: want less in each, such as a reference to "+
			"what they share", Size(MaxGroupPayloads))}).Bound()
}
