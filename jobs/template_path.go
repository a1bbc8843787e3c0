package jobs

// exact is the text of what a program stands for where that is a path to something; nil: the
// program has to be run.
func (ev *evidence) exact(p *program) (Raw, error) {
	for i := range p.exact {
		raw, err := ev.follow(&p.exact[i])
		if err != nil || raw != nil {
			return raw, err
		}
	}
	return nil, nil
}

// scanRate is how many bytes of JSON text are looked through in the time of a unit.
const scanRate = 50

func (ev *evidence) follow(p *factPath) (Raw, error) {
	text := ev.payload
	switch p.root {
	case "checkpoint":
		text = ev.checkpoint
	case "result":
		text = ev.result
	}
	if len(text) == 0 {
		return nil, nil
	}
	if err := ev.budget.spend(len(text) / scanRate); err != nil {
		return nil, err
	}
	return p.in(text), nil
}

// in is the text of the value that the path leads to within a JSON text; nil where there is none
// or null.
func (p *factPath) in(text Raw) Raw {
	d := newRereader(text)
	defer d.release()
	d.space()
	for _, s := range p.steps {
		if !d.step(s) {
			return nil
		}
		d.space()
	}
	start := d.pos
	if d.null() || !d.skip() {
		return nil
	}
	return text[start:d.pos]
}

// step goes to a part of the value that begins here.
func (d *decoder) step(s pathStep) bool {
	if !s.item {
		return d.stepInto(s.key)
	}
	if s.index < 0 {
		at := d.pos
		n, ok := d.count()
		if s.index += n; !ok || s.index < 0 {
			return false
		}
		d.pos = at
	}
	return d.find("", s.index)
}

func (d *decoder) stepInto(key string) bool {
	if d.peek() != '{' || !d.open() {
		return false
	}
	for d.member() == stepValue {
		if string(d.text(d.top().key)) == key {
			return true
		}
		if !d.skip() {
			return false
		}
	}
	return false
}

// count counts the items of the list that begins here.
func (d *decoder) count() (n int, ok bool) {
	if d.peek() != '[' || !d.open() {
		return 0, false
	}
	for {
		if s := d.item(); s != stepValue {
			return n, s == stepEnd
		}
		if n++; !d.skip() {
			return 0, false
		}
	}
}
