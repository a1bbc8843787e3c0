package importer

import (
	"path"
	"slices"
	"strings"
)

// splitPercent does to a command what cron does: the first % that has no backslash before it ends it,
// and what follows is its input, in which each further one ends a line. \% is a percent sign. There is
// no other escape: \\% is a backslash, and the end of the command.
func splitPercent(text string) (command, input string) {
	var b strings.Builder
	escaped := false
	for i := range len(text) {
		c := text[i]
		switch {
		case escaped:
			if c != '%' {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
			escaped = false
		case c == '\\':
			escaped = true
		case c == '%':
			return b.String(), percentInput(text[i+1:])
		default:
			b.WriteByte(c)
		}
	}
	if escaped {
		b.WriteByte('\\')
	}
	return b.String(), ""
}

// percentInput is what a command reads, of the text behind its first %. Here \\% is a backslash and a
// percent sign, other than before.
func percentInput(text string) string {
	var b strings.Builder
	escaped := false
	for i := range len(text) {
		c := text[i]
		if escaped && c != '%' {
			b.WriteByte('\\')
		} else if !escaped && c == '%' {
			c = '\n'
		}
		if escaped = c == '\\'; !escaped {
			b.WriteByte(c)
		}
	}
	if escaped {
		b.WriteByte('\\')
	}
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}

// defaultShell is cron's.
const defaultShell = "/bin/sh"

// bourneShells read a script as they read what stands behind -c.
var bourneShells = strings.Fields("sh bash dash ash ksh ksh93 mksh zsh")

// cronScript is a script that does what cron does with a command: the shell gets it, and its input is
// what the line says, else it is empty, where a script's own would be its payload.
func cronScript(shell, text string) (interpreter, source string) {
	command, input := splitPercent(text)
	if trimmed := strings.TrimRight(command, blanks); !strings.HasSuffix(trimmed, `\`) {
		command = trimmed
	}
	from := "</dev/null"
	if input != "" {
		end := hereEnd(input)
		from = "<<'" + end + "'\n" + input + end
	}
	// A file would go on behind a backslash at the end of its line.
	if slices.Contains(bourneShells, path.Base(shell)) && !strings.HasSuffix(command, `\`) {
		return shell, "exec " + from + "\n" + command + "\n"
	}
	return defaultShell, "exec " + shellQuote(shell) + " -c " + shellQuote(command) + " " + from + "\n"
}

// hereEnd is a word that is no line of a text.
func hereEnd(text string) string {
	end := "END"
	for strings.Contains("\n"+text, "\n"+end+"\n") {
		end += "_"
	}
	return end
}

// shellQuote is a text as one word for a shell.
func shellQuote(text string) string {
	plain := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-", r))
	}
	if text != "" && !strings.ContainsFunc(text, plain) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
