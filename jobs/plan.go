package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// What a rule, otherwise and interrupted may say.
const (
	ThenRetry        = "retry"
	ThenFail         = "fail"
	InterruptedRerun = "rerun"
	InterruptedFail  = "fail"
)

// Bounds of retry settings.
const (
	MaxMaxAttempts = 1000
	maxRules       = 100
	maxRuleSource  = 128 << 10
	maxReason      = 500
	maxFactor      = 1000
)

// Plan is a job made ready for use: its rules and those of its policies, its follow-ups, its doors
// and its keys compiled, its numbers resolved. It is never changed: safe for concurrent use.
type Plan struct {
	Job *Job

	own, defaults []*rule // in the order they are tried; reports of the job stand between
	otherwise     string
	otherwiseBy   string // whose it is: "job", "policy NAME"
	maxAttempts   int
	maxElapsed    *Duration
	backoff       Backoff // every field set
	levels        []level // what the settings were taken from
	atMostOnce    bool    // an interrupted attempt ends the run

	chains []chain
	doors  []DoorPlan
	keys   keyPlan
}

// rule is a Rule, compiled.
type rule struct {
	by     string // "job rule 1", "policy NAME rule 2"
	budget string // key of its own budget, "" where it has none
	most   int    // of that budget
	retry  bool
	reason string
	cond   *program
	after  *program // where the wait is an expression
	delay  *Duration
}

// Compile checks all of a job's retry settings and compiles them over those of the policy it
// names (nil: none) and the policy default (nil: DefaultPolicy), and compiles on_success, inbound and
// the keys of limits. The error is an *InvalidError with every fault, located such as retry.rules[1].if, its
// message with line and column.
func Compile(job *Job, named, def *Policy) (*Plan, error) {
	if def == nil {
		def = DefaultPolicy()
	}
	def = def.overBuiltIn()
	p := &Plan{Job: job}
	own, faults := compileLevel(&job.Retry, "job", "retry.")
	p.own = own
	levels := []level{{&job.Retry, "job"}}
	if named != nil && named.Name != def.Name {
		by := "policy " + named.Name
		rules, more := compileLevel(named.retry(), by, "policy("+named.Name+").")
		p.own = append(p.own, rules...)
		faults = append(faults, more...)
		levels = append(levels, level{named.retry(), by})
	}
	rules, more := compileLevel(def.retry(), "policy "+def.Name, "policy("+def.Name+").")
	p.defaults = rules
	faults = append(faults, more...)
	links := &templating{}
	p.chains, p.doors = compileChains(links, job.OnSuccess), compileDoors(links, job)
	p.keys = compileKeys(links, job)
	if faults = append(faults, links.found()...); len(faults) > 0 {
		return nil, Invalid(faults)
	}
	levels = append(levels, level{def.retry(), "policy " + def.Name},
		level{DefaultPolicy().retry(), "policy " + PolicyDefault})
	p.resolve(levels)
	return p, nil
}

// level is one of the places that a setting may come from.
type level struct {
	*Retry
	by string
}

// resolve takes each number from the first level that has it.
func (p *Plan) resolve(levels []level) {
	p.levels = levels
	interrupted := ""
	for _, l := range levels {
		if p.maxAttempts == 0 && l.MaxAttempts != nil {
			p.maxAttempts = *l.MaxAttempts
		}
		if p.maxElapsed == nil {
			p.maxElapsed = l.MaxElapsed
		}
		if p.otherwise == "" && l.Otherwise != "" {
			p.otherwise, p.otherwiseBy = l.Otherwise, l.by
		}
		if interrupted == "" {
			interrupted = l.Interrupted
		}
		if l.Backoff != nil {
			p.backoff = p.backoff.over(*l.Backoff)
		}
	}
	p.atMostOnce = interrupted == InterruptedFail
}

// MaxAttempts is what counts for a run with that max_attempts of its own (0: none). A group has one attempt.
func (p *Plan) MaxAttempts(own int) int {
	switch {
	case p.Job.Group != nil:
		return 1
	case own > 0:
		return own
	case p.maxAttempts > 0:
		return p.maxAttempts
	}
	return DefaultMaxAttempts
}

// BudgetKey names the budget of a rule with max_attempts among those of a run. owner is whose
// rule it is: "job" or "policy NAME". It stays the same while the condition does.
func (r *Rule) BudgetKey(owner string) string {
	sum := sha256.Sum256([]byte(owner + "\x00" + r.If))
	return hex.EncodeToString(sum[:6])
}

// compileLevel checks the settings of one place and compiles its rules. at is put before the
// locations of faults.
func compileLevel(r *Retry, owner, at string) ([]*rule, []Fault) {
	c := &ruleChecks{at: at}
	if r.MaxAttempts != nil {
		c.within("max_attempts", *r.MaxAttempts, 1, MaxMaxAttempts)
	}
	if r.MaxElapsed != nil {
		c.length("max_elapsed", *r.MaxElapsed)
	}
	c.oneOf("otherwise", r.Otherwise, ThenRetry, ThenFail)
	c.oneOf("interrupted", r.Interrupted, InterruptedRerun, InterruptedFail)
	if r.Backoff != nil {
		c.backoff(r.Backoff)
	}
	if len(r.Rules) > maxRules {
		c.fault("rules", "has %d rules: at most %d", len(r.Rules), maxRules)
		return nil, c.faults
	}
	size := 0
	for i := range r.Rules {
		size += len(r.Rules[i].If) + len(r.Rules[i].After)
	}
	if size > maxRuleSource {
		c.fault("rules", "has %d bytes of expressions: at most %d", size, maxRuleSource)
		return nil, c.faults
	}
	rules := make([]*rule, 0, len(r.Rules))
	for i := range r.Rules {
		rules = append(rules, c.rule(&r.Rules[i], owner, i))
	}
	return rules, c.faults
}

// ruleChecks collects what is wrong.
type ruleChecks struct {
	at     string
	faults []Fault
}

func (c *ruleChecks) fault(field, format string, args ...any) {
	c.faults = append(c.faults, Fault{Location: c.at + field, Message: fmt.Sprintf(format, args...)})
}

func (c *ruleChecks) within(field string, n, low, high int) {
	if n < low || n > high {
		c.fault(field, "is %d: want a whole number from %d to %d", n, low, high)
	}
}

func (c *ruleChecks) length(field string, d Duration) {
	if d < 0 || d.Std() > MaxDuration {
		c.fault(field, "is %s: want a duration from 0s to 3653d", d)
	}
}

// oneOf refuses what is neither empty nor one of the two words.
func (c *ruleChecks) oneOf(field, got, a, b string) {
	if got != "" && got != a && got != b {
		c.fault(field, "is %q: want %s or %s", clip(got, 40), a, b)
	}
}

func (c *ruleChecks) backoff(b *Backoff) {
	c.oneOf("backoff.kind", b.Kind, BackoffExponential, BackoffFixed)
	if b.Base != nil {
		c.length("backoff.base", *b.Base)
	}
	if b.Max != nil {
		c.length("backoff.max", *b.Max)
	}
	if b.Base != nil && b.Max != nil && *b.Base > *b.Max {
		c.fault("backoff.max", "is %s: want no less than base, which is %s", *b.Max, *b.Base)
	}
	if f := b.Factor; f != nil && !(*f >= 1 && *f <= maxFactor) {
		c.fault("backoff.factor", "is %v: want a number from 1 to %d", *f, maxFactor)
	}
	if j := b.Jitter; j != nil && !(*j >= 0 && *j <= 1) {
		c.fault("backoff.jitter", "is %v: want a number from 0 to 1, such as 0.2", *j)
	}
}

// rule compiles the rule of that index; its faults are noted.
func (c *ruleChecks) rule(r *Rule, owner string, i int) *rule {
	at := "rules[" + strconv.Itoa(i) + "]."
	made := &rule{
		by: owner + " rule " + strconv.Itoa(i+1), retry: r.Then == ThenRetry, reason: oneLine(r.Reason),
	}
	var err *ExprError
	if made.cond, err = compileExpr(r.If); err != nil {
		c.fault(at+"if", "%v", err)
	} else if typ := made.cond.typ; typ != boolType && typ != anyType {
		c.fault(at+"if", "%v", atStart(r.If, "gives %s: want true or false", typeName(typ)))
	}
	if r.Then != ThenRetry && r.Then != ThenFail {
		c.fault(at+"then", "is %q: want %s or %s", clip(r.Then, 40), ThenRetry, ThenFail)
	}
	if r.MaxAttempts != nil {
		c.within(at+"max_attempts", *r.MaxAttempts, 1, MaxMaxAttempts)
		made.budget, made.most = r.BudgetKey(owner), *r.MaxAttempts
	}
	if r.Then == ThenFail && r.MaxAttempts != nil {
		c.fault(at+"max_attempts", "is of use with then: retry only")
	}
	if r.Then == ThenFail && r.After != "" {
		c.fault(at+"after", "is of use with then: retry only")
	}
	if len(r.Reason) > maxReason {
		c.fault(at+"reason", "has %d bytes: at most %d", len(r.Reason), maxReason)
	}
	if r.After != "" {
		c.after(at+"after", r.After, made)
	}
	return made
}

// after reads a duration, else an expression that gives one.
func (c *ruleChecks) after(field, text string, made *rule) {
	if d, err := ParseDuration(text); err == nil {
		made.delay = &d
		return
	}
	p, err := compileExpr(text)
	if err != nil {
		c.fault(field, `neither a duration such as "2m" nor an expression that gives one: %v`, err)
		return
	}
	switch p.typ.Kind() {
	case reflect.Int, reflect.Int64, reflect.Float64, reflect.String, reflect.Interface:
		made.after = p
	default:
		c.fault(field, "%v", atStart(text,
			"gives %s: want a duration or a number of seconds", typeName(p.typ)))
	}
}

// typeName is what messages call the type of an expression.
func typeName(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a duration"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	}
	return "an unknown value"
}

// atStart is a mistake of the whole expression: it stands where that begins.
func atStart(src, format string, args ...any) *ExprError {
	return exprErrorAt(src, len(src)-len(strings.TrimLeft(src, " \t\r\n")), format, args...)
}
