package script

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// What shells and env print where a command is not there: bash and dash, zsh, env.
var notFound = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|: )([\w.+-]+): (?:command )?not found$`),
	regexp.MustCompile(`command not found: ([\w.+-]+)$`),
	regexp.MustCompile(`env: ['‘]([\w.+-]+)['’]: No such file or directory$`),
}

// badCRLF is how they show the carriage return that they took for a part of an interpreter's name.
var badCRLF = regexp.MustCompile(`\^M: bad interpreter|env: ['‘].*\\r['’]: No such file`)

// noInterpreter is what bash says since 5.2 where a file is there and what it is to be run by is not.
const noInterpreter = ": cannot execute: required file not found"

// hintOf says what to do about the end of the output of a script that ended with 126 or 127, where that
// is known; "": it is not. env may print a line of advice behind what counts.
func hintOf(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for _, line := range lines[max(0, len(lines)-2):] {
		line = strings.TrimSpace(line)
		switch {
		case badCRLF.MatchString(line):
			return " (the #! line of that file ends in CRLF: save it with LF)"
		case strings.HasSuffix(line, noInterpreter):
			return " (what its #! line names does not exist; a CRLF at its end is a part of the name)"
		}
		for _, pattern := range notFound {
			if m := pattern.FindStringSubmatch(line); m != nil && packages[m[1]] != "" {
				return " (apt install " + packages[m[1]] + ")"
			}
		}
	}
	return ""
}

var shells = []string{"bash", "sh", "dash", "ash", "ksh", "zsh"}

const crlfNote = "its lines end in CRLF, which a shell takes for a part of its words: save it with LF"

// readsCRLF reports whether a shell is given a text whose lines end in CRLF.
func readsCRLF(interpreter []string, t text) bool {
	first, _, _ := strings.Cut(t.head, "\n")
	return len(interpreter) > 0 && slices.Contains(shells, filepath.Base(interpreter[0])) &&
		strings.HasSuffix(first, "\r")
}
