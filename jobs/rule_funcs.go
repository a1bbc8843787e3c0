package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// function is one that expressions may call. call is given the meter before the arguments.
type function struct {
	least     int // how many arguments at the least,
	most      int // and at the most
	signature any // a function of that type, for checking
	call      func(args ...any) (any, error)
}

// functions are all there are: none loops over a list, none asks the clock.
// Given nil, those that turn one value into another give nil.
var functions = map[string]function{
	"len":        {1, 1, new(func(any) int), fnLen},
	"lower":      {1, 1, new(func(any) string), onText("lower", strings.ToLower)},
	"upper":      {1, 1, new(func(any) string), onText("upper", strings.ToUpper)},
	"trim":       {1, 1, new(func(any) string), onText("trim", strings.TrimSpace)},
	"hasPrefix":  {2, 2, new(func(a, b any) bool), textTest("hasPrefix", strings.HasPrefix)},
	"hasSuffix":  {2, 2, new(func(a, b any) bool), textTest("hasSuffix", strings.HasSuffix)},
	"trimPrefix": {2, 2, new(func(a, b any) string), onTexts("trimPrefix", strings.TrimPrefix)},
	"trimSuffix": {2, 2, new(func(a, b any) string), onTexts("trimSuffix", strings.TrimSuffix)},
	"int":        {1, 1, new(func(any) int), fnInt},
	"float":      {1, 1, new(func(any) float64), fnFloat},
	"string":     {1, 1, new(func(any) string), fnString},
	"duration":   {1, 1, new(func(any) time.Duration), fnDuration},
	"abs":        {1, 1, new(func(any) any), fnAbs},
	"floor":      {1, 1, new(func(any) float64), onFloat("floor", math.Floor)},
	"ceil":       {1, 1, new(func(any) float64), onFloat("ceil", math.Ceil)},
	"round":      {1, 1, new(func(any) float64), onFloat("round", math.Round)},
	"min":        {1, 20, new(func(...any) any), extreme("min", -1)},
	"max":        {1, 20, new(func(...any) any), extreme("max", 1)},
}

// countOf says how many arguments there may be.
func countOf(least, most int) string {
	switch {
	case least != most:
		return fmt.Sprintf("%d to %d arguments", least, most)
	case least == 1:
		return "one argument"
	}
	return fmt.Sprintf("%d arguments", least)
}

// fnLen counts the characters of a text, the members of a list or an object.
func fnLen(args ...any) (any, error) {
	switch v := args[1].(type) {
	case nil:
		return 0, nil
	case string:
		return utf8.RuneCountInString(v), args[0].(*meter).spend(len(v) / 8)
	case []any:
		return len(v), nil
	case stringSet:
		return len(v), nil
	case map[string]any:
		return len(v), nil
	case headers:
		return len(v), nil
	case map[string]string:
		return len(v), nil
	}
	return nil, fmt.Errorf("len wants a text, a list or an object, not %s", kindName(args[1]))
}

func onText(name string, change func(string) string) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		s, ok := args[1].(string)
		if !ok {
			return nilOr(args[1], "%s wants a text, not %s", name, kindName(args[1]))
		}
		if err := args[0].(*meter).spend(len(s)); err != nil {
			return nil, err
		}
		return change(s), nil
	}
}

func onTexts(name string, change func(s, part string) string) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		s, ok := args[1].(string)
		part, okPart := args[2].(string)
		if !ok || !okPart {
			return nilOr(args[1], "%s wants texts, not %s and %s",
				name, kindName(args[1]), kindName(args[2]))
		}
		return change(s, part), args[0].(*meter).spend(len(part) / 8)
	}
}

func onFloat(name string, change func(float64) float64) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		n, ok := toFloat(args[1])
		if !ok {
			return nilOr(args[1], "%s wants a number, not %s", name, kindName(args[1]))
		}
		return change(n), nil
	}
}

// nilOr gives nil for nil, else the error.
func nilOr(v any, format string, args ...any) (any, error) {
	if v == nil {
		return nil, nil
	}
	return nil, fmt.Errorf(format, args...)
}

func fnInt(args ...any) (any, error) {
	switch v := args[1].(type) {
	case int:
		return v, nil
	case float64:
		if v >= 1<<63 || v < -1<<63 || v != v {
			return nil, errOverflow
		}
		return int(v), nil
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return nil, errors.New("int: the text is no whole number")
		}
		return n, nil
	}
	return nilOr(args[1], "int wants a number or a text, not %s", kindName(args[1]))
}

func fnFloat(args ...any) (any, error) {
	if n, ok := toFloat(args[1]); ok {
		return n, nil
	}
	if s, ok := args[1].(string); ok {
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return nil, errors.New("float: the text is no number")
		}
		return n, nil
	}
	return nilOr(args[1], "float wants a number or a text, not %s", kindName(args[1]))
}

// fnString is the text of a value; of a list or an object its JSON.
func fnString(args ...any) (any, error) {
	switch v := args[1].(type) {
	case nil:
		return nil, nil
	case string:
		return v, nil
	case time.Duration:
		return Duration(v).String(), nil
	case stringSet:
		return nil, errors.New("string wants a single value, not a literal list")
	}
	text, err := json.Marshal(args[1])
	if err != nil {
		return nil, errors.New("string: the value has no text")
	}
	return string(text), args[0].(*meter).spend(len(text))
}

// fnDuration reads "1h30m", or takes a number as seconds.
func fnDuration(args ...any) (any, error) {
	if args[1] == nil {
		return nil, nil
	}
	return durationOf(args[1])
}

// durationOf reads a duration, a number of seconds, or the text of either.
func durationOf(v any) (time.Duration, error) {
	seconds, ok := toFloat(v)
	switch x := v.(type) {
	case time.Duration:
		if x < 0 || x > MaxDuration {
			return 0, errors.New("the duration is out of range: 0s to 3653d")
		}
		return x, nil
	case string:
		s := strings.TrimSpace(x)
		d, err := ParseDuration(s)
		if err == nil {
			return d.Std(), nil
		}
		if seconds, err = strconv.ParseFloat(s, 64); err != nil {
			return 0, errors.New("want " + durationForm)
		}
		ok = true
	}
	if !ok {
		return 0, fmt.Errorf("wants a duration or a number of seconds, not %s", kindName(v))
	}
	if !(seconds >= 0 && seconds <= MaxDuration.Seconds()) {
		return 0, errors.New("the number of seconds is out of range: 0 to ten years")
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func fnAbs(args ...any) (any, error) {
	switch v := args[1].(type) {
	case int:
		if v == math.MinInt {
			return nil, errOverflow
		}
		return max(v, -v), nil
	case float64:
		return math.Abs(v), nil
	}
	return nilOr(args[1], "abs wants a number, not %s", kindName(args[1]))
}

// extreme makes the function that gives the smallest (-1) or largest (1) of its arguments.
func extreme(name string, sign int) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		best := args[1]
		for _, v := range args[1:] {
			n, ok, err := order(args[0].(*meter), v, best)
			if err != nil {
				return nil, err
			}
			if !ok {
				return nil, fmt.Errorf("%s cannot compare %s and %s", name, kindName(v), kindName(best))
			}
			if n*sign > 0 {
				best = v
			}
		}
		return best, nil
	}
}
