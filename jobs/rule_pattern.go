package jobs

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Bounds of a pattern. Matching takes time in proportion to its states and the text (RE2).
const (
	maxPattern = 1 << 10
	maxStates  = 2000
)

// pattern is a regular expression with what matching it costs.
type pattern struct {
	re     *regexp.Regexp
	states int // for each byte of the text
}

// compilePattern compiles a regular expression of bounded size. The size is judged before
// repetitions are written out: (x{1000}){1000} must cost nothing.
func compilePattern(src string) (*pattern, error) {
	if len(src) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes: at most %d", len(src), maxPattern)
	}
	tree, err := syntax.Parse(src, syntax.Perl)
	if err != nil {
		var bad *syntax.Error
		if errors.As(err, &bad) {
			return nil, fmt.Errorf("the pattern is not valid: %s: %q", bad.Code, clip(bad.Expr, 80))
		}
		return nil, errors.New("the pattern is not valid")
	}
	states := patternStates(tree)
	if states > maxStates {
		return nil, fmt.Errorf("the pattern has %d states: at most %d", states, maxStates)
	}
	re, err := regexp.Compile(src)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not valid: %w", err)
	}
	return &pattern{re: re, states: states}, nil
}

// patternStates is about the number of instructions the pattern compiles to, and stops
// counting past the bound.
func patternStates(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n = 1 + len(re.Rune)/64
	}
	for _, sub := range re.Sub {
		n += patternStates(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 100*maxStates)
}
