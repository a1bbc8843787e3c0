package jobs

import (
	"regexp"
	"strings"
)

// traceWindow is how much of the end of an output is searched for a trace.
const traceWindow = 16 << 10

// maxAfterTrace is how many lines may follow a trace for it to count as the end of the output:
// "Node.js v22.1.0", "exit status 2", what a wrapper says.
const maxAfterTrace = 20

// trace is a stack trace found in an output: lines [from, to) of it.
type trace struct {
	typ, message string
	from, to     int
}

// TraceOf reads the trace with which a program of Python, Node.js, Ruby, Go, Java or PHP ended:
// the class of its error, the first line of the message, and the trace's text. Of chained errors
// it is the one that was thrown last, which wraps the others. Only the last 16 KiB are looked at;
// the time is linear in them. ok is false where there is no trace.
func TraceOf(output string) (typ, message, stack string, ok bool) {
	if len(output) > traceWindow {
		output = output[len(output)-traceWindow:]
	}
	lines := strings.Split(cleanText(output), "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	var best trace
	readers := []func([]string) (trace, bool){
		pythonTrace, groupTrace, syntaxTrace, goTrace, phpTrace, rubyTrace, atTrace,
	}
	for _, read := range readers {
		if t, found := read(lines); found && t.to > best.to {
			best, ok = t, true
		}
	}
	if !ok || len(lines)-best.to > maxAfterTrace {
		return "", "", "", false
	}
	stack = strings.TrimRight(strings.Join(lines[best.from:best.to], "\n"), "\n ")
	return best.typ, clipEnd(oneLine(best.message), MaxMessage), clipMiddle(stack, MaxStack), true
}

// lastLine is the last line for which holds is true, -1 for none.
func lastLine(lines []string, holds func(string) bool) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if holds(lines[i]) {
			return i
		}
	}
	return -1
}

func indented(line string) bool {
	return line == "" || line[0] == ' ' || line[0] == '\t'
}

const pythonHead = "Traceback (most recent call last):"

var (
	pythonError = regexp.MustCompile(`^([A-Za-z_]\w*(?:\.[A-Za-z_<>]\w*>?)*)(?::\s?(.*))?$`)
	pythonLinks = []string{
		"During handling of the above exception, another exception occurred:",
		"The above exception was the direct cause of the following exception:",
	}
)

// pythonTrace: a head, indented frames, then "module.Class: message".
func pythonTrace(lines []string) (trace, bool) {
	head := lastLine(lines, func(l string) bool { return l == pythonHead })
	if head < 0 {
		return trace{}, false
	}
	end := head + 1
	for end < len(lines) && indented(lines[end]) {
		end++
	}
	if end == len(lines) {
		return trace{}, false
	}
	m := pythonError.FindStringSubmatch(lines[end])
	if m == nil {
		return trace{}, false
	}
	return trace{typ: m[1], message: m[2], from: pythonStart(lines, head), to: end + 1}, true
}

// pythonStart walks back over the traces that the one at head is linked to.
func pythonStart(lines []string, head int) int {
	for i := head - 1; i >= 0; i-- {
		switch {
		case lines[i] == "":
			continue
		case lines[i] != pythonLinks[0] && lines[i] != pythonLinks[1]:
			return head
		}
		for i--; i >= 0 && lines[i] != pythonHead; i-- {
			continue
		}
		if i < 0 {
			return 0 // cut off by the window
		}
		head = i
	}
	return head
}

// groupTrace: an ExceptionGroup of Python, drawn as a tree; the group is the error.
func groupTrace(lines []string) (trace, bool) {
	head := lastLine(lines, func(l string) bool {
		return strings.HasPrefix(l, "  + Exception Group Traceback")
	})
	if head < 0 {
		return trace{}, false
	}
	t := trace{from: head, to: head + 1}
	for ; t.to < len(lines) && strings.HasPrefix(lines[t.to], "  "); t.to++ {
		inner, ok := strings.CutPrefix(lines[t.to], "  | ")
		if !ok || t.typ != "" || indented(inner) {
			continue
		}
		if m := pythonError.FindStringSubmatch(inner); m != nil {
			t.typ, t.message = m[1], m[2]
		}
	}
	return t, t.typ != ""
}

// syntaxTrace: a file that Python could not compile has no head.
func syntaxTrace(lines []string) (trace, bool) {
	end := lastLine(lines, func(l string) bool {
		return strings.HasPrefix(l, "SyntaxError: ") || strings.HasPrefix(l, "IndentationError: ") ||
			strings.HasPrefix(l, "TabError: ")
	})
	if end < 1 {
		return trace{}, false
	}
	from := end
	for from > 0 && end-from < 5 && indented(lines[from-1]) {
		from--
	}
	if !strings.HasPrefix(lines[from], `  File "`) {
		return trace{}, false
	}
	typ, message, _ := strings.Cut(lines[end], ": ")
	return trace{typ: typ, message: message, from: from, to: end + 1}, true
}

var (
	goRoutine = regexp.MustCompile(`^goroutine \d+ (?:gp=\S+ .*)?\[`)
	goType    = regexp.MustCompile(`^\(?(\*?[\w./-]+\.\w+)(?:\)|\{|\()`)
)

// goTrace: "panic: TEXT" or "fatal error: TEXT", then the goroutines.
func goTrace(lines []string) (trace, bool) {
	end := lastLine(lines, goRoutine.MatchString)
	if end < 0 {
		return trace{}, false
	}
	for i := end; i >= 0; i-- { // over all goroutines up to the head
		text, isPanic := strings.CutPrefix(lines[i], "panic: ")
		fatal, isFatal := strings.CutPrefix(lines[i], "fatal error: ")
		if !isPanic && !isFatal {
			continue
		}
		t := trace{typ: "panic", message: text, from: i, to: end + 1}
		for t.to < len(lines) && lines[t.to] != "" && !strings.HasPrefix(lines[t.to], "exit status") {
			t.to++
		}
		if isFatal {
			t.typ, t.message = "fatal error", fatal
			return t, true
		}
		// What a deferred function threw instead stands indented below.
		for j := i + 1; j < end; j++ {
			if later, ok := strings.CutPrefix(lines[j], "\tpanic: "); ok {
				t.message = later
			}
		}
		t.message, _, _ = strings.Cut(t.message, " [recovered")
		if strings.HasPrefix(t.message, "runtime error: ") {
			t.typ = "runtime error"
		} else if m := goType.FindStringSubmatch(t.message); m != nil {
			t.typ = m[1]
		}
		return t, true
	}
	return trace{}, false
}

var (
	phpHead = regexp.MustCompile(`^(?:PHP )?Fatal error:\s+Uncaught (?:exception ')?` +
		`([A-Za-z_\\][\w\\]*)'?(: | with message '| in )(.*)$`)
	phpNext  = regexp.MustCompile(`^Next ([A-Za-z_\\][\w\\]*)(?:: (.*))?$`)
	phpParse = regexp.MustCompile(`^(?:PHP )?Parse error:\s+(.*)$`)
	phpPlace = regexp.MustCompile(`'? in \S+:\d+$| in \S+ on line \d+$`)
)

// phpTrace: "Uncaught Class: message in FILE:LINE", frames, then "Next ..." for each that wraps it.
func phpTrace(lines []string) (trace, bool) {
	head := lastLine(lines, func(l string) bool {
		return strings.Contains(l, "error:") && (phpHead.MatchString(l) || phpParse.MatchString(l))
	})
	if head < 0 {
		return trace{}, false
	}
	t := trace{from: head, to: head + 1}
	if m := phpParse.FindStringSubmatch(lines[head]); m != nil {
		t.typ, t.message = "ParseError", m[1]
	} else {
		m = phpHead.FindStringSubmatch(lines[head])
		t.typ, t.message = m[1], m[3]
		if m[2] == " in " {
			t.message = ""
		}
		for i := head + 1; i < len(lines); i++ {
			if m = phpNext.FindStringSubmatch(lines[i]); m != nil {
				t.typ, t.message = m[1], m[2]
			}
			if strings.HasPrefix(lines[i], "  thrown in ") {
				t.to = i + 1
				break
			}
		}
	}
	t.typ = strings.TrimPrefix(t.typ, `\`)
	if place := phpPlace.FindStringIndex(t.message); place != nil {
		t.message = t.message[:place[0]]
	}
	return t, true
}

var (
	rubyHead = regexp.MustCompile("^\\S.*:\\d+:in [`'].*?': (.*) " +
		`\(([A-Z]\w*(?:::[A-Z]\w*)*)\)$|^\S.*:\d+: (.*) \((SyntaxError)\)$`)
	rubyBare = regexp.MustCompile("^\\S.*:\\d+:in [`'].*?': unhandled exception$")

	rubyFrame = regexp.MustCompile(`^\t(?: *\d+: )?(?:from |\.\.\. \d+ levels)`)
)

// rubyTrace: "FILE:LINE:in 'm': message (Class)", frames "\tfrom ...", then the causes likewise.
func rubyTrace(lines []string) (trace, bool) {
	isHead := func(l string) bool { return rubyHead.MatchString(l) || rubyBare.MatchString(l) }
	last := lastLine(lines, isHead)
	if last < 0 {
		return trace{}, false
	}
	t := trace{from: last, to: last + 1}
	for i := t.to; i < len(lines) && i-t.to < maxMessageLines; i++ {
		if rubyFrame.MatchString(lines[i]) {
			t.to = i + 1
		}
	}
	for i := last - 1; i >= 0 && (rubyFrame.MatchString(lines[i]) || isHead(lines[i])); i-- {
		if isHead(lines[i]) {
			t.from = i
		}
	}
	if m := rubyHead.FindStringSubmatch(lines[t.from]); m != nil {
		t.message, t.typ = m[1]+m[3], m[2]+m[4]
	} else {
		t.message, t.typ = "unhandled exception", "RuntimeError"
	}
	return t, true
}

var (
	atFrame = regexp.MustCompile(`^\s+at \S`)
	atHead  = regexp.MustCompile(`^\[?(?:Exception in thread ".*?" |Uncaught )?` +
		`((?:[A-Za-z_$][\w$]*\.)*[A-Z_$][\w$]*)(?: \[(?:([A-Z][A-Z0-9_]{3,})|\w+)\])?` +
		`(?:: ?(.*?))?(?: \{)?$`)
)

// maxMessageLines is how far above the first frame the head of a trace is looked for.
const maxMessageLines = 20

// atTrace: "Class: message", then frames "    at ...", as Node.js and Java print them; the
// causes follow ("Caused by: ...", "[cause]: ...").
func atTrace(lines []string) (trace, bool) {
	frame := lastLine(lines, atFrame.MatchString)
	if frame < 0 {
		return trace{}, false
	}
	t := trace{to: frame + 1}
	for t.to < len(lines) && inTrace(lines[t.to]) && lines[t.to] != "" {
		t.to++ // fields of a Node.js error, "... 12 more"
	}
	first, found := frame, false
	for i := frame - 1; i >= 0 && first-i <= maxMessageLines; i-- {
		switch m := atHead.FindStringSubmatch(lines[i]); {
		case atFrame.MatchString(lines[i]):
			if found {
				return t, true // those of a trace before
			}
			first = i
		case found && inTrace(lines[i]):
			return t, true
		case m != nil && !inTrace(lines[i]) && (isError(m[1]) || !found && m[0] != m[1]):
			t.typ, t.message, t.from, found = m[1], m[3], i, true
			if m[2] != "" && !strings.Contains(t.message, m[2]) {
				t.message = strings.TrimSpace(t.message + " [" + m[2] + "]")
			}
			if isError(t.typ) {
				return t, true
			}
		}
	}
	return t, found
}

// isError holds for names that are those of an error by themselves; another one at the start
// of a line may be a word of a message.
func isError(name string) bool {
	return strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception") ||
		strings.Contains(name, ".")
}

// inTrace reports whether a line may stand between the head of a trace and its last frame.
func inTrace(line string) bool {
	return indented(line) || line == "}" || line == "]" || strings.HasPrefix(line, "Caused by: ")
}
