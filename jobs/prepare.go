package jobs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Prepared is what a version executes, its templates compiled. It is never changed: safe for
// concurrent use.
type Prepared struct {
	spec    Spec
	url     *urlTemplate
	fields  []templateField
	body    bodyTemplate
	success *program // nil: a status from 200 to 299
	group   *groupTemplates
	secrets []string
}

// templateField is a text of a spec that is rendered for each attempt.
type templateField struct {
	at   string
	tmpl *template
	form *textForm
	put  func(s *Spec, text string)
}

// bodyTemplate is the body of a webhook; all nil: the payload as it came.
type bodyTemplate struct {
	fixed  []byte // where it is written out
	text   *template
	json   *jsonTemplate
	secret bool // it names one
}

// DefaultSuccess is what judges a webhook's answer where nothing else is said.
const DefaultSuccess = "http.status in 200..299"

// Prepare compiles what a version executes. The error is an *InvalidError with all faults of
// its templates and expressions, located such as webhook.headers.Authorization, their messages with
// line and column. What is wrong besides is for Job.Check to say.
func Prepare(s Spec) (*Prepared, error) {
	p, c := &Prepared{spec: s}, &templating{}
	if s.Webhook != nil {
		p.webhook(c, s.Webhook)
	}
	if s.Script != nil {
		p.script(c, s.Script)
	}
	if s.Mail != nil {
		p.mail(c, s.Mail)
	}
	if s.Group != nil {
		p.group = compileGroup(c, groupAt, s.Group)
	}
	if err := Invalid(c.found()); err != nil {
		return nil, err
	}
	p.secrets = slices.Compact(slices.Sorted(slices.Values(c.secrets)))
	return p, nil
}

func (p *Prepared) field(c *templating, at, text string, form *textForm, put func(*Spec, string)) {
	if t := c.text(at, text, inTemplates); t != nil {
		p.fields = append(p.fields, templateField{at, t, form, put})
	}
}

func (p *Prepared) webhook(c *templating, w *Webhook) {
	p.url = c.url(w.URL)
	for _, name := range slices.Sorted(maps.Keys(w.Headers)) {
		form := &headerForm
		if strings.EqualFold(name, "host") {
			form = &hostHeaderForm
		}
		p.field(c, memberLocation("webhook.headers", name), w.Headers[name], form,
			func(s *Spec, text string) { s.Webhook.Headers[name] = text })
	}
	for i, text := range w.SigningSecret {
		p.field(c, listed1("webhook.signing_secret", i, len(w.SigningSecret)), text, &signingForm,
			func(s *Spec, text string) { s.Webhook.SigningSecret[i] = text })
	}
	if success := strings.TrimSpace(w.Success); success != DefaultSuccess {
		p.success = c.condition("webhook.success", w.Success, inSuccess)
	}
	before := c.secrets
	c.secrets = nil
	p.body.compile(c, w.Body)
	p.body.secret = len(c.secrets) > 0
	c.secrets = append(c.secrets, before...)
}

// listed1 is the location of item i of what may be written as one text.
func listed1(at string, i, n int) string {
	if n == 1 {
		return at
	}
	return at + "[" + strconv.Itoa(i) + "]"
}

const bodyAt = "webhook.body"

// written reports whether there is nothing to render.
func (b *bodyTemplate) written() bool { return b.text == nil && b.json == nil }

func (b *bodyTemplate) compile(c *templating, body Raw) {
	if body = body.given(); len(body) == 0 {
		return
	}
	if body[0] != '"' {
		b.json = c.json(bodyAt, body, inTemplates)
		b.fixed = body
		return
	}
	text := rawText(body)
	b.text = c.text(bodyAt, text, inTemplates)
	b.fixed = []byte(text)
}

func (p *Prepared) script(c *templating, s *Script) {
	for i, arg := range s.Args {
		p.field(c, "script.args["+strconv.Itoa(i)+"]", arg, &argumentForm,
			func(s *Spec, text string) { s.Script.Args[i] = text })
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		p.field(c, memberLocation("script.env", name), s.Env[name], &argumentForm,
			func(s *Spec, text string) { s.Script.Env[name] = text })
	}
}

func (p *Prepared) mail(c *templating, m *Mail) {
	for i, to := range m.To {
		p.field(c, "mail.to["+strconv.Itoa(i)+"]", to, &addressForm,
			func(s *Spec, text string) { s.Mail.To[i] = text })
	}
	for i, cc := range m.CC {
		p.field(c, "mail.cc["+strconv.Itoa(i)+"]", cc, &addressForm,
			func(s *Spec, text string) { s.Mail.CC[i] = text })
	}
	p.field(c, "mail.from", m.From, &addressForm, func(s *Spec, text string) { s.Mail.From = text })
	p.field(c, "mail.subject", m.Subject, &subjectForm,
		func(s *Spec, text string) { s.Mail.Subject = text })
	p.field(c, "mail.body", m.Body, &mailBodyForm, func(s *Spec, text string) { s.Mail.Body = text })
}

// Secrets are the names of the secrets that rendering needs, sorted.
func (p *Prepared) Secrets() []string { return p.secrets }

// Host is the host:port that a webhook's URL names for a payload where it depends on it; "" where
// the host is written out, or there is no webhook. It is fixed when a run is made.
func (p *Prepared) Host(payload Raw, job *Job) (string, *Failure) {
	if p.url == nil || !p.url.namesHost() {
		return "", nil
	}
	r := newRenderer(&evidence{facts: &facts{Job: jobFactsOf(job)}, payload: payload})
	host, err := p.url.hostOf(r)
	if err != nil {
		return "", unrendered(urlAt, err)
	}
	return host, nil
}

// unrendered is the failure of a field.
func unrendered(at string, err error) *Failure {
	var within *fieldError
	if errors.As(err, &within) {
		at, err = within.at, within.err
	}
	return (&Failure{Kind: FailInvalid, Message: at + ": " + err.Error()}).Bound()
}

// compileSpec gives the faults of Prepare.
func (j *Job) compileSpec() []Fault {
	_, err := Prepare(j.Spec())
	return faultsOf(err)
}

// faultsOf are those of an *InvalidError.
func faultsOf(err error) []Fault {
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		return invalid.Faults
	}
	return nil
}

// faults gives all that is wrong with a job by itself: what Check, Prepare and Compile find.
func (j *Job) faults() []Fault {
	found := append(j.Check(), j.compileSpec()...)
	_, err := Compile(j, nil, nil)
	return append(found, faultsOf(err)...)
}

// Scope is what an attempt's templates are rendered with.
type Scope struct {
	Run        *Run
	Job        *Job // as it stands
	Payload    Raw
	Checkpoint Raw // nil: none
	Attempt    int
	Host       string                           // that was fixed when the run was made
	Secret     func(name string) (string, bool) // nil: there are none
}

// Rendered is what an attempt executes.
type Rendered struct {
	// Spec has no template left in it but for the body of a webhook, which is Body. It is the same
	// pointer, and so are its parts, for all attempts where nothing but the body has any.
	Spec  *Spec
	Fresh bool      // Spec was made for this attempt: Call.Fresh
	Body  []byte    // what a webhook sends; nil: the payload as it came
	Judge Judgement // of a webhook's answer; nil: a status from 200 to 299

	BodySecret bool // Body holds a secret: Call.BodySecret
}

// Render renders all templates. The failure, of kind invalid, says which field and why; it quotes
// neither data nor secrets.
func (p *Prepared) Render(sc *Scope) (*Rendered, *Failure) {
	out := &Rendered{
		Spec: &p.spec, Body: p.body.fixed, Judge: p.judge(sc), BodySecret: p.body.secret,
	}
	if p.url == nil && len(p.fields) == 0 && p.body.written() {
		return out, nil
	}
	ev, err := p.evidence(sc)
	if err != nil {
		return nil, unrendered("secrets", err)
	}
	r := newRenderer(ev)
	if len(p.fields) > 0 || p.url != nil {
		out.Spec, out.Fresh = p.spec.writable(), true
	}
	if p.url != nil {
		if out.Spec.Webhook.URL, err = p.url.render(r, sc.Host); err != nil {
			return nil, unrendered(urlAt, err)
		}
	}
	for i := range p.fields {
		f := &p.fields[i]
		text, err := r.field(f.tmpl, f.form)
		if err != nil {
			return nil, unrendered(f.at, err)
		}
		f.put(out.Spec, text)
	}
	if out.Body, err = p.body.render(r); err != nil {
		return nil, unrendered(bodyAt, err)
	}
	return out, nil
}

// evidence is what the templates of an attempt know.
func (p *Prepared) evidence(sc *Scope) (*evidence, error) {
	ev := sc.evidence()
	var err error
	ev.facts.Secrets, err = lookUp(p.secrets, sc.Secret)
	return ev, err
}

// lookUp gives the values of secrets. lookup nil: there are none.
func lookUp(names []string, lookup func(name string) (string, bool)) (secretValues, error) {
	if len(names) == 0 {
		return nil, nil
	}
	values := make(secretValues, len(names))
	for _, name := range names {
		value, ok := "", false
		if lookup != nil {
			value, ok = lookup(name)
		}
		if !ok {
			return nil, fmt.Errorf("there is no secret %s", name)
		}
		values[name] = value
	}
	return values, nil
}

func (sc *Scope) evidence() *evidence {
	return &evidence{
		facts: &facts{Job: jobFactsOf(sc.Job)}, of: sc.Run, attempt: sc.Attempt,
		payload: sc.Payload, checkpoint: sc.Checkpoint,
	}
}

// judge is the expression success, asked about an answer.
func (p *Prepared) judge(sc *Scope) Judgement {
	if p.success == nil {
		return nil
	}
	scope := *sc
	return func(a Answer) (bool, error) {
		ev := scope.evidence()
		ev.answer = a.Body
		ev.facts.HTTP = httpFacts{Status: a.Status, Headers: headers(a.Headers)}
		good, err := ev.holds(p.success)
		if err != nil {
			return false, fmt.Errorf("webhook.success: %w", err)
		}
		return good, nil
	}
}

// writable is a copy of all that templates are rendered into.
func (s Spec) writable() *Spec {
	if s.Webhook != nil {
		w := *s.Webhook
		w.Headers, w.SigningSecret = maps.Clone(w.Headers), slices.Clone(w.SigningSecret)
		s.Webhook = &w
	}
	if s.Script != nil {
		c := *s.Script
		c.Args, c.Env = slices.Clone(c.Args), maps.Clone(c.Env)
		s.Script = &c
	}
	if s.Mail != nil {
		m := *s.Mail
		m.To, m.CC = slices.Clone(m.To), slices.Clone(m.CC)
		s.Mail = &m
	}
	return &s
}
