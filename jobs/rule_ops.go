package jobs

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// What one evaluation may cost. A unit is one step of an operation, one state of a pattern at
// one byte, or eight bytes of text; the whole takes well under a second.
const (
	evalBudget = 8_000_000
	maxText    = 1 << 20 // of a text that an expression makes
)

var errTooDear = errors.New("takes too long")

// meter is what is left of an evaluation's budget.
type meter struct {
	left     int
	evidence *evidence // that is asked
}

func (m *meter) spend(n int) error {
	m.left -= n + 1
	if m.left < 0 {
		return errTooDear
	}
	return nil
}

// headers are those of an HTTP answer: names in lower case, found in any.
type headers map[string]string

// stringSet is a literal list of texts.
type stringSet map[string]struct{}

// kindName is what messages call the type of a value.
func kindName(v any) string {
	switch v.(type) {
	case nil:
		return "nil"
	case bool:
		return "true or false"
	case int, float64:
		return "a number"
	case string:
		return "a text"
	case time.Duration:
		return "a duration"
	case []any, stringSet:
		return "a list"
	}
	return "an object"
}

// opGet is a member of a value; nil where there is none, whatever the value is.
func opGet(args ...any) (any, error) {
	switch base := args[0].(type) {
	case map[string]any:
		if name, ok := args[1].(string); ok {
			return base[name], nil
		}
	case headers:
		if name, ok := args[1].(string); ok {
			return member(base, strings.ToLower(name)), nil
		}
	case map[string]string:
		if name, ok := args[1].(string); ok {
			return member(base, name), nil
		}
	case secretValues:
		if name, ok := args[1].(string); ok {
			return member(base, name), nil
		}
	case []any:
		if i, ok := args[1].(int); ok {
			if i < 0 {
				i += len(base)
			}
			if i >= 0 && i < len(base) {
				return base[i], nil
			}
		}
	}
	return nil, nil
}

func member(m map[string]string, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return nil
}

// opTruth reads a value where true or false is wanted; nil is false.
func opTruth(args ...any) (any, error) {
	switch v := args[0].(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	}
	return nil, fmt.Errorf("wants true or false, not %s", kindName(args[0]))
}

func opEqual(args ...any) (any, error) {
	return equal(args[0].(*meter), args[1], args[2])
}

func opUnequal(args ...any) (any, error) {
	same, err := equal(args[0].(*meter), args[1], args[2])
	return !same, err
}

// equal compares values as JSON does; values of different sorts are not equal.
func equal(m *meter, a, b any) (bool, error) {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		return x == y, m.spend(len(x) / 8)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		for i := range x {
			if same, err := equal(m, x[i], y[i]); err != nil || !same {
				return false, err
			}
		}
		return true, m.spend(1)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		for name, v := range x {
			w, ok := y[name]
			if !ok {
				return false, nil
			}
			if same, err := equal(m, v, w); err != nil || !same {
				return false, err
			}
		}
		return true, m.spend(1)
	case bool, nil, time.Duration:
		return isScalar(b) && a == b, m.spend(1)
	}
	order, ok := compareNumbers(a, b)
	return ok && order == 0, m.spend(1)
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, int, float64, string, time.Duration:
		return true
	}
	return false
}

// order compares two values of a sort that has an order; ok is false for others.
func order(m *meter, a, b any) (n int, ok bool, err error) {
	switch x := a.(type) {
	case string:
		if y, isText := b.(string); isText {
			return strings.Compare(x, y), true, m.spend(min(len(x), len(y)) / 8)
		}
	case time.Duration:
		if y, isDuration := b.(time.Duration); isDuration {
			return compare(x, y), true, nil
		}
	}
	n, ok = compareNumbers(a, b)
	return n, ok, nil
}

func compare[T int | float64 | time.Duration](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// ordering makes the operator that holds for some orders; it does not for values without one.
func ordering(holds func(int) bool) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		n, ok, err := order(args[0].(*meter), args[1], args[2])
		return ok && holds(n), err
	}
}

// opIn looks for a value in a list or for a name in an object.
func opIn(args ...any) (any, error) {
	m, needle := args[0].(*meter), args[1]
	name, isText := needle.(string)
	switch hay := args[2].(type) {
	case nil:
		return false, nil
	case stringSet:
		_, found := hay[name]
		return isText && found, m.spend(len(name) / 8)
	case []any:
		for _, v := range hay {
			if same, err := equal(m, needle, v); err != nil || same {
				return same, err
			}
			if err := m.spend(1); err != nil {
				return false, err
			}
		}
		return false, nil
	case map[string]any:
		_, found := hay[name]
		return isText && found, nil
	case headers:
		_, found := hay[strings.ToLower(name)]
		return isText && found, nil
	case map[string]string:
		_, found := hay[name]
		return isText && found, nil
	}
	return nil, fmt.Errorf("in wants a list or an object, not %s", kindName(args[2]))
}

// opWithin is a number in FROM..TO: a whole one from the first to the last.
func opWithin(args ...any) (any, error) {
	low, high := args[1].(int), args[2].(int)
	switch x := args[0].(type) {
	case int:
		return x >= low && x <= high, nil
	case float64:
		return x == math.Trunc(x) && x >= float64(low) && x <= float64(high), nil
	}
	return false, nil
}

func opMatches(args ...any) (any, error) {
	p := args[2].(*pattern)
	text, ok := args[1].(string)
	if !ok {
		return textWanted("matches", args[1])
	}
	if err := args[0].(*meter).spend(len(text) * p.states); err != nil {
		return nil, err
	}
	return p.re.MatchString(text), nil
}

// textTest makes the operator that tests a text for another; nil on either side is false.
func textTest(name string, test func(s, part string) bool) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		s, ok := args[1].(string)
		if !ok {
			return textWanted(name, args[1])
		}
		part, ok := args[2].(string)
		if !ok {
			return textWanted(name, args[2])
		}
		if err := args[0].(*meter).spend((len(s) + len(part)) / 8); err != nil {
			return nil, err
		}
		return test(s, part), nil
	}
}

func textWanted(name string, got any) (any, error) {
	if got == nil {
		return false, nil
	}
	return nil, fmt.Errorf("%s wants a text, not %s", name, kindName(got))
}
