package jobs

import (
	"errors"
	"fmt"
	"math"
	"time"
)

var (
	errOverflow   = errors.New("the number is out of range")
	errZeroDivide = errors.New("division by zero")
)

// compareNumbers compares integers exactly, also with floats; ok is false where one is no number.
func compareNumbers(a, b any) (n int, ok bool) {
	switch x := a.(type) {
	case int:
		switch y := b.(type) {
		case int:
			return compare(x, y), true
		case float64:
			return compareMixed(x, y), y == y
		}
	case float64:
		switch y := b.(type) {
		case int:
			return -compareMixed(y, x), x == x
		case float64:
			return compare(x, y), x == x && y == y
		}
	}
	return 0, false
}

func compareMixed(i int, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Trunc(f)
	if n := compare(i, int(whole)); n != 0 {
		return n
	}
	return compare(whole, f)
}

// opAdd adds numbers and durations and joins texts.
func opAdd(args ...any) (any, error) {
	switch x := args[1].(type) {
	case string:
		y, ok := args[2].(string)
		if !ok {
			break
		}
		n := len(x) + len(y)
		if n > maxText {
			return nil, fmt.Errorf("the text is too long: at most %d bytes", maxText)
		}
		if err := args[0].(*meter).spend(n / 8); err != nil {
			return nil, err
		}
		return x + y, nil
	case time.Duration:
		if y, ok := args[2].(time.Duration); ok {
			sum, err := addInts(int(x), int(y))
			return time.Duration(sum), err
		}
	}
	return arithmetic("+", args, addInts, func(x, y float64) float64 { return x + y })
}

func opSubtract(args ...any) (any, error) {
	if x, ok := args[1].(time.Duration); ok {
		if y, ok := args[2].(time.Duration); ok {
			diff, err := subtractInts(int(x), int(y))
			return time.Duration(diff), err
		}
	}
	return arithmetic("-", args, subtractInts, func(x, y float64) float64 { return x - y })
}

func opMultiply(args ...any) (any, error) {
	x, isDuration := args[1].(time.Duration)
	factor := args[2]
	if !isDuration {
		x, isDuration = args[2].(time.Duration)
		factor = args[1]
	}
	if isDuration {
		by, ok := toFloat(factor)
		if product := float64(x) * by; ok && math.Abs(product) < 1<<62 {
			return time.Duration(product), nil
		} else if ok {
			return nil, errOverflow
		}
	}
	return arithmetic("*", args, multiplyInts, func(x, y float64) float64 { return x * y })
}

// opDivide divides as real numbers.
func opDivide(args ...any) (any, error) {
	x, okX := toFloat(args[1])
	y, okY := toFloat(args[2])
	switch {
	case !okX || !okY:
		return nil, mismatch("/", args)
	case y == 0:
		return nil, errZeroDivide
	}
	return x / y, nil
}

func opModulo(args ...any) (any, error) {
	x, okX := args[1].(int)
	y, okY := args[2].(int)
	switch {
	case !okX || !okY:
		return nil, mismatch("%", args)
	case y == 0:
		return nil, errZeroDivide
	case y == -1:
		return 0, nil
	}
	return x % y, nil
}

func arithmetic(
	name string, args []any, ints func(x, y int) (int, error), floats func(x, y float64) float64,
) (any, error) {
	if x, ok := args[1].(int); ok {
		if y, ok := args[2].(int); ok {
			return ints(x, y)
		}
	}
	x, okX := toFloat(args[1])
	y, okY := toFloat(args[2])
	if !okX || !okY {
		return nil, mismatch(name, args)
	}
	return floats(x, y), nil
}

func mismatch(name string, args []any) error {
	return fmt.Errorf("%s does not go with %s and %s", name, kindName(args[1]), kindName(args[2]))
}

func toFloat(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func addInts(x, y int) (int, error) {
	sum := x + y
	if (sum > x) != (y > 0) {
		return 0, errOverflow
	}
	return sum, nil
}

func subtractInts(x, y int) (int, error) {
	diff := x - y
	if (diff < x) != (y > 0) {
		return 0, errOverflow
	}
	return diff, nil
}

func multiplyInts(x, y int) (int, error) {
	if x == 0 || y == 0 {
		return 0, nil
	}
	product := x * y
	if (product < 0) != ((x < 0) != (y < 0)) || product/y != x {
		return 0, errOverflow
	}
	return product, nil
}
