package jobs

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of the expressions of one job's templates: compiling them takes well under a second.
const (
	maxExpressions      = 500
	maxExpressionSource = 64 << 10
)

// templating compiles the templates of a document and collects what is wrong with them.
type templating struct {
	faults  []Fault
	more    int // faults past maxTemplateFaults
	secrets []string
	count   int
	size    int
	memo    map[string]*program // what was compiled, of one environment; nil: nothing is looked up
}

// maxTemplateFaults is how many faults of templates are listed.
const maxTemplateFaults = 500

func (c *templating) add(at, format string, args ...any) {
	if len(c.faults) >= maxTemplateFaults {
		c.more++
		return
	}
	c.faults = append(c.faults, Fault{at, fmt.Sprintf(format, args...)})
}

// found is all that is wrong.
func (c *templating) found() []Fault {
	if c.more > 0 {
		return append(c.faults, andMore(c.more))
	}
	return c.faults
}

// text compiles a text; nil where it holds no expression, or a mistake, which is noted.
func (c *templating) text(at, text string, env *environment) *template {
	pieces := c.cut(at, text)
	if pieces == nil {
		return nil
	}
	return c.pieces(at, text, pieces, func(int) *environment { return env })
}

// cut takes a text apart; nil where it holds no expression, or a mistake, which is noted.
func (c *templating) cut(at, text string) []piece {
	if !hasTemplate(text) {
		return nil
	}
	pieces, err := cutTemplate(text)
	if err != nil {
		c.add(at, "%s", err)
		return nil
	}
	if !slices.ContainsFunc(pieces, func(p piece) bool { return p.expr }) {
		return nil
	}
	return pieces
}

// pieces compiles the expressions of a text, each over an environment of its own.
func (c *templating) pieces(
	at, text string, pieces []piece, env func(i int) *environment,
) *template {
	t, good := &template{parts: make([]part, 0, len(pieces))}, true
	lines := newPositions([]byte(text))
	for i, p := range pieces {
		if !p.expr {
			t.parts = append(t.parts, part{text: p.text})
			continue
		}
		line, column := lines.at(p.at)
		prog, err := c.expr(at, p.text, env(i))
		if err != nil {
			c.add(at, "%s", err.within(line, column))
		}
		good = good && prog != nil
		t.parts = append(t.parts, part{prog: prog, line: line, column: column})
	}
	if !good {
		return nil
	}
	return t
}

// expr compiles an expression; nil without an error where there are too many of them, which
// is noted.
func (c *templating) expr(at, src string, env *environment) (*program, *ExprError) {
	if prog := c.memo[src]; prog != nil {
		return prog, nil
	}
	c.count++
	c.size += len(src)
	if c.count > maxExpressions || c.size > maxExpressionSource {
		if c.count-1 <= maxExpressions && c.size-len(src) <= maxExpressionSource {
			c.add(at, "here is more than a job may hold: %d expressions, %d bytes in all",
				maxExpressions, maxExpressionSource)
		}
		return nil, nil
	}
	prog, err := env.compile(src)
	if err != nil {
		return nil, err
	}
	for _, name := range prog.secrets {
		if !slices.Contains(c.secrets, name) {
			c.secrets = append(c.secrets, name)
		}
	}
	if c.memo != nil {
		c.memo[src] = prog
	}
	return prog, nil
}

// condition compiles an expression that gives true or false; nil where it is left out.
func (c *templating) condition(at, src string, env *environment) *program {
	if src == "" {
		return nil
	}
	prog, err := c.expr(at, src, env)
	switch {
	case err != nil:
		c.add(at, "%s", err)
	case prog != nil && prog.typ != boolType && prog.typ != anyType:
		c.add(at, "%s", atStart(src, "gives %s: want true or false", typeName(prog.typ)))
		return nil
	}
	return prog
}

// jsonTemplate is JSON text with templates in its strings.
type jsonTemplate struct{ parts []jsonPart }

// jsonPart is a stretch of JSON text, or what a string of it is rendered to.
type jsonPart struct {
	text Raw
	tmpl *template
	at   string // its location
}

// json compiles the strings of a JSON text; nil where none holds an expression. Mistakes are noted.
// Keys are not templates.
func (c *templating) json(at string, text Raw, env *environment) *jsonTemplate {
	w := jsonTemplating{c: c, at: at, env: env, text: text, d: newRereader(text)}
	defer w.d.release()
	if !w.value() || len(w.made.parts) == 0 {
		return nil
	}
	w.made.parts = append(w.made.parts, jsonPart{text: text[w.done:]})
	return &w.made
}

// jsonTemplating walks a JSON text.
type jsonTemplating struct {
	c    *templating
	at   string
	env  *environment
	text Raw
	d    *decoder
	done int // what is before it is in the parts
	made jsonTemplate
}

func (w *jsonTemplating) value() bool {
	next := w.d.item
	switch w.d.peek() {
	case '"':
		return w.string()
	case '{':
		next = w.d.member
	case '[':
	default:
		return w.d.skip()
	}
	if !w.d.open() {
		return false
	}
	for {
		if s := next(); s != stepValue {
			return s == stepEnd
		}
		if !w.value() {
			return false
		}
	}
}

func (w *jsonTemplating) string() bool {
	start := w.d.pos
	s, escaped, ok := w.d.scanString()
	if !ok {
		return false
	}
	if escaped {
		s = w.d.unescape(s)
	}
	text := string(w.d.text(s))
	if escaped {
		w.d.arena = w.d.arena[:s.lo]
	}
	if !hasTemplate(text) {
		return true
	}
	at := w.at
	if inside := w.d.location(w.d.frames); inside != "" {
		at += "." + inside
		if strings.HasPrefix(inside, "[") {
			at = w.at + inside
		}
	}
	if t := w.c.text(at, text, w.env); t != nil {
		w.made.parts = append(w.made.parts, jsonPart{text: w.text[w.done:start]}, jsonPart{tmpl: t, at: at})
		w.done = w.d.pos
	}
	return true
}
