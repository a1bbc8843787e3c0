package cli

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/lmittmann/tint"

	"nightshift/api/words"
)

// newLogHandler writes text on a terminal, else JSON. Each record is one line, whatever others wrote that is part of it.
func newLogHandler(w io.Writer, level slog.Level) slog.Handler {
	if isTerminal(w) {
		return textLog(w, level)
	}
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: inJSON})
}

// textLog writes lines for people. tint quotes values, but lets escape sequences pass, and messages as they are.
func textLog(w io.Writer, level slog.Level) slog.Handler {
	return tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, ReplaceAttr: plain})
}

// logLevel is a level as a flag.
type logLevel slog.Level

// UnmarshalText reads debug, info, warn or error, in either case.
func (l *logLevel) UnmarshalText(text []byte) error {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(string(text), level.String()) {
			*l = logLevel(level)
			return nil
		}
	}
	return fmt.Errorf("want debug, info, warn or error, got %q", words.Short(string(text), 40))
}

// maxLogged is how many characters of a text are logged: more than any error that is kept, fewer than a payload. A
// stack may be longer.
const (
	maxLogged = 8 << 10
	maxStack  = 32 << 10
)

// inJSON is bounded for JSON: a length of time as it is said everywhere else, not as a number of nanoseconds.
func inJSON(groups []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return bounded(groups, a)
}

// bounded cuts what is too long for a line.
func bounded(_ []string, a slog.Attr) slog.Attr {
	text, is := textOf(a)
	if !is {
		return a
	}
	most := maxLogged
	if a.Key == "stack" {
		most = maxStack
	}
	if len(text) > most {
		text = words.Short(text, most)
	}
	a.Value = slog.StringValue(text)
	return a
}

// plain is bounded for a terminal: no control characters, no escape sequences.
func plain(groups []string, a slog.Attr) slog.Attr {
	a = bounded(groups, a)
	if v := a.Value.Any(); a.Value.Kind() == slog.KindAny {
		if _, level := v.(slog.Level); !level { // a list, such as names
			a.Value = slog.StringValue(words.Short(fmt.Sprint(v), maxLogged))
		}
	}
	if a.Value.Kind() == slog.KindString {
		a.Value = slog.StringValue(words.Clean(a.Value.String()))
	}
	return a
}

// textOf is the text of an attribute that others may have written.
func textOf(a slog.Attr) (text string, is bool) {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return v.String(), true
	case slog.KindAny:
		switch of := v.Any().(type) {
		case error:
			return of.Error(), true
		case fmt.Stringer:
			if _, level := of.(slog.Level); !level {
				return of.String(), true
			}
		case []byte:
			return string(of), true
		}
	}
	return "", false
}
