package jobs

import "strconv"

// Setting is a value that counts, and whose it is: "job", "policy NAME", or "nobody" where it is off.
type Setting[T any] struct {
	Value T      `json:"value"`
	From  string `json:"from"`
}

// OptionalSetting is a length of time that may be off: nil.
type OptionalSetting struct {
	Value *Duration `json:"value"`
	From  string    `json:"from"`
}

// EffectiveRetry is what decides about the failed attempts of a job, and where each part
// comes from.
type EffectiveRetry struct {
	MaxAttempts Setting[int]     `json:"max_attempts"`
	MaxElapsed  OptionalSetting  `json:"max_elapsed"`
	Backoff     EffectiveBackoff `json:"backoff"`
	Otherwise   Setting[string]  `json:"otherwise"`
	Interrupted Setting[string]  `json:"interrupted"`
	Rules       []EffectiveRule  `json:"rules"` // in the order they are tried
}

// EffectiveBackoff is the wait before the next attempt.
type EffectiveBackoff struct {
	Kind   Setting[string]   `json:"kind"`
	Base   Setting[Duration] `json:"base"`
	Factor Setting[float64]  `json:"factor"`
	Max    Setting[Duration] `json:"max"`
	Jitter Setting[float64]  `json:"jitter"`
}

// EffectiveRule is a rule, and whose it is, such as "policy gentle rule 2". That of ByReported has
// no condition: what a job says of its own error is believed there.
type EffectiveRule struct {
	By string `json:"by"`
	Rule
}

// fromNobody is where a setting comes from that is off.
const fromNobody = "nobody"

// EffectiveRetry tells what decides about the failed attempts of the job. It is what Decide goes by.
func (p *Plan) EffectiveRetry() EffectiveRetry {
	e := EffectiveRetry{
		MaxAttempts: setting(p.levels, func(l level) *int { return l.MaxAttempts }),
		MaxElapsed:  OptionalSetting{From: fromNobody},
		Otherwise:   setting(p.levels, func(l level) *string { return given(l.Otherwise) }),
		Interrupted: setting(p.levels, func(l level) *string { return given(l.Interrupted) }),
		Backoff:     p.effectiveBackoff(),
		Rules:       []EffectiveRule{},
	}
	if p.maxElapsed != nil {
		s := setting(p.levels, func(l level) *Duration { return l.MaxElapsed })
		e.MaxElapsed = OptionalSetting{&s.Value, s.From}
	}
	rules := p.levels[:len(p.levels)-1] // the last one is there for numbers alone
	for i, l := range rules {
		if i == len(rules)-1 {
			e.Rules = append(e.Rules, EffectiveRule{By: ByReported})
		}
		for n, r := range l.Rules {
			e.Rules = append(e.Rules, EffectiveRule{l.by + " rule " + strconv.Itoa(n+1), r})
		}
	}
	return e
}

func (p *Plan) effectiveBackoff() EffectiveBackoff {
	b := EffectiveBackoff{
		Kind:   setting(p.levels, func(l level) *string { return given(l.backoff().Kind) }),
		Base:   setting(p.levels, func(l level) *Duration { return l.backoff().Base }),
		Factor: setting(p.levels, func(l level) *float64 { return l.backoff().Factor }),
		Max:    setting(p.levels, func(l level) *Duration { return l.backoff().Max }),
		Jitter: setting(p.levels, func(l level) *float64 { return l.backoff().Jitter }),
	}
	if counts := *p.backoff.Max; counts != b.Max.Value {
		b.Max = Setting[Duration]{counts, b.Base.From} // a base above it has raised it
	}
	return b
}

func (l level) backoff() *Backoff {
	if l.Backoff == nil {
		return &Backoff{}
	}
	return l.Backoff
}

// setting is the value of the first level that has one.
func setting[T any](levels []level, of func(level) *T) Setting[T] {
	for _, l := range levels {
		if v := of(l); v != nil {
			return Setting[T]{*v, l.by}
		}
	}
	return Setting[T]{From: fromNobody}
}

// given is nil for what was left out.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
