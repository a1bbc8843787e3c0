package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// UniqueRun is what makes a run one of its kind (contract 9, unique).
type UniqueRun struct {
	Key      string
	While    string   // WhileQueued, WhileActive; "": for For from its creation
	For      Duration // where While is ""
	Conflict string   // ConflictExisting and so on
}

// keyPlan are the expressions of a job's keys; nil where it has none.
type keyPlan struct {
	concurrency, rate, unique, checkpoint *program
}

// Where the expressions stand.
const (
	concurrencyKeyAt = "concurrency.key"
	rateKeyAt        = "rate.key"
	uniqueKeyAt      = "unique.key"
	checkpointKeyAt  = "checkpoint.key"
)

func compileKeys(c *templating, job *Job) (keys keyPlan) {
	if job.Concurrency != nil {
		keys.concurrency = c.key(concurrencyKeyAt, job.Concurrency.Key)
	}
	if job.Rate != nil {
		keys.rate = c.key(rateKeyAt, job.Rate.Key)
	}
	if job.Unique != nil {
		keys.unique = c.key(uniqueKeyAt, job.Unique.Key)
	}
	if job.Checkpoint != nil {
		keys.checkpoint = c.key(checkpointKeyAt, job.Checkpoint.Key)
	}
	return keys
}

func (c *templating) key(at, src string) *program {
	if src == "" {
		return nil
	}
	if strings.TrimSpace(src) == "" {
		c.add(at, "want an expression such as payload.customer, or no key")
		return nil
	}
	prog, err := c.expr(at, src, inKeys)
	if err != nil {
		c.add(at, "%s", err)
	}
	return prog
}

// RunKeys are the keys that a run of the job gets for good: with whom it shares a limit, and what
// makes it one of its kind, nil where nothing does. A key that is nil does not apply, one that is an
// empty text is a key as any other. Texts are taken as they are, so that the number 7 and the text
// "7" are one key; lists and objects are their JSON text, its keys sorted. The failure names the field
// whose expression failed.
func (p *Plan) RunKeys(run *Run) (Keys, *UniqueRun, *Failure) {
	if p.keys == (keyPlan{}) {
		return Keys{}, p.Job.Unique.run(), nil
	}
	r := newRenderer(&evidence{
		facts: &facts{Job: jobFactsOf(p.Job)}, of: run, attempt: run.Counts.Attempt(), payload: run.Payload,
	})
	var keys Keys
	var failure *Failure
	if keys.Concurrency, failure = r.key(concurrencyKeyAt, p.keys.concurrency); failure != nil {
		return Keys{}, nil, failure
	}
	if keys.Rate, failure = r.key(rateKeyAt, p.keys.rate); failure != nil {
		return Keys{}, nil, failure
	}
	if keys.Checkpoint, failure = r.key(checkpointKeyAt, p.keys.checkpoint); failure != nil {
		return Keys{}, nil, failure
	}
	unique := p.Job.Unique.run()
	if p.keys.unique != nil {
		key, failure := r.key(uniqueKeyAt, p.keys.unique)
		switch {
		case failure != nil:
			return Keys{}, nil, failure
		case key == nil:
			unique = nil
		default:
			unique.Key = *key
		}
	}
	return keys, unique, nil
}

// key gives the text of a key; nil: there is none.
func (r *renderer) key(at string, prog *program) (*string, *Failure) {
	if prog == nil {
		return nil, nil
	}
	p := &part{prog: prog, line: 1, column: 1}
	raw, value, err := r.value(p)
	if err == nil && raw == nil && value == nil {
		return nil, nil
	}
	text := ""
	switch {
	case err != nil:
	case raw != nil && (raw[0] == '{' || raw[0] == '['):
		text, err = distinctJSON(raw), r.budget.spend(len(raw)/8)
	case raw != nil && raw[0] == '"':
		text = distinct(unquoted(raw))
	case raw != nil:
		text, err = textOfRaw(raw, true)
	default:
		text, err = textOf(value, true)
	}
	if err != nil {
		return nil, unrendered(at, p.placed(err))
	}
	text = boundKey(text)
	return &text, nil
}

// distinct is a text of characters, another one for each text: of halves of surrogate pairs, which are
// none, a digest tells them apart.
func distinct(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return characters(s) + digest(s)
}

// distinctJSON is the text of a list or object, its keys sorted.
func distinctJSON(raw Raw) string {
	text := string(sortedJSON(raw))
	if strings.Contains(text, `\ufffd`) { // what it may say of all that is no character
		text += digest(string(raw))
	}
	return text
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// maxRunKey is how many bytes a key has that is kept as it is.
const maxRunKey = 200

// boundKey keeps the beginning of a long key, and a digest that tells it from others.
func boundKey(key string) string {
	if len(key) <= maxRunKey {
		return key
	}
	return clip(key, 100) + digest(key)
}
