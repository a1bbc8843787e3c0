package jobs

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of the source of an expression (contract 4).
const (
	maxSource  = 4 << 10
	maxNesting = 100
)

// ExprError is a mistake in an expression: what, and where, counted from 1 in characters.
type ExprError struct {
	Line, Column int
	Message      string
}

func (e *ExprError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// exprErrorAt is a mistake at a byte of the source.
func exprErrorAt(src string, at int, format string, args ...any) *ExprError {
	before := src[:min(at, len(src))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return &ExprError{Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
}

// byteOffset is the place in src of the character with that number, from 0.
func byteOffset(src string, char int) int {
	for i := range src {
		if char == 0 {
			return i
		}
		char--
	}
	return len(src)
}

// checkSource refuses what must not reach the parser, whose time grows badly with nesting.
func checkSource(src string) *ExprError {
	if len(src) > maxSource {
		return exprErrorAt("", 0, "the expression has %d bytes: at most %d", len(src), maxSource)
	}
	if strings.TrimSpace(src) == "" {
		return exprErrorAt("", 0, "an expression is wanted, such as http.status == 429")
	}
	if strings.HasPrefix(strings.TrimSpace(src), "{{") {
		return atStart(src, "want the expression alone, without {{ and }}")
	}
	if at := strings.IndexByte(src, 0); at >= 0 {
		return exprErrorAt(src, at, "the character NUL is not allowed")
	}
	if !utf8.ValidString(src) {
		at := strings.IndexRune(src, utf8.RuneError)
		return exprErrorAt(src, max(at, 0), "not valid UTF-8")
	}
	depth := 0
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
			if depth > maxNesting {
				return exprErrorAt(src, i, "nested deeper than %d", maxNesting)
			}
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
		i += tokenLen(src[i:])
	}
	return nil
}

// tokenLen is the length of the string or comment that s begins with, else of one byte.
func tokenLen(s string) int {
	switch {
	case s[0] == '"' || s[0] == '\'':
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case s[0]:
				return i + 1
			}
		}
		return len(s)
	case s[0] == '`':
		return 1 + through(s[1:], "`")
	case strings.HasPrefix(s, "//"):
		return 2 + through(s[2:], "\n")
	case strings.HasPrefix(s, "/*"):
		return 2 + through(s[2:], "*/")
	}
	return 1
}

// through is the length of s up to the end of the first end, of all of s where there is none.
func through(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}
