package jobs

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const pythonChain = `starting
Traceback (most recent call last):
  File "/srv/a.py", line 3, in <module>
    1/0
    ~^~
ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/a.py", line 5, in <module>
    raise ValueError("bad\nsecond line") from e
ValueError: bad
second line
`

const javaChain = "INFO start\nException in thread \"main\" java.lang.IllegalStateException: outer\n" +
	"\tat A.main(A.java:1)\nCaused by: java.net.ConnectException: Connection refused\n" +
	"\tat java.base/sun.nio.ch.Net.connect0(Native Method)\n\tat A.main(A.java:1)\n\t... 3 more\n"

const nodeEvent = `node:events:502
      throw er; // Unhandled 'error' event
      ^

Error: connect ECONNREFUSED 127.0.0.1:1
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)
Emitted 'error' event on Socket instance at:
    at emitErrorNT (node:internal/streams/destroy:169:8)
    at process.processTicksAndRejections (node:internal/process/task_queues:82:21) {
  errno: -111,
  code: 'ECONNREFUSED',
  port: 1
}

Node.js v20.20.2
`

const nodeCause = `node:internal/deps/undici/undici:14976
      Error.captureStackTrace(err);
            ^

TypeError: fetch failed
    at node:internal/deps/undici/undici:14976:13 {
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:8
      at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16) {
    code: 'ECONNREFUSED'
  }
}

Node.js v20.20.2
`

const phpChain = "PHP Fatal error:  Uncaught InvalidArgumentException: inner in /srv/a.php:3\n" +
	"Stack trace:\n#0 {main}\n\nNext App\\Failed\\ImportError: outer in /srv/a.php:5\n" +
	"Stack trace:\n#0 {main}\n  thrown in /srv/a.php on line 5\n"

func TestTraceOfNamesTheClassThatEndedTheProgram(t *testing.T) {
	for name, c := range map[string]struct{ output, typ, message string }{
		"python chain":      {pythonChain, "ValueError", "bad"},
		"python module":     {"Traceback (most recent call last):\n  File \"x\", line 1, in f\nrequests.exceptions.ConnectionError: HTTPSConnectionPool(host='a', port=443): Max retries exceeded\n", "requests.exceptions.ConnectionError", "HTTPSConnectionPool(host='a', port=443): Max retries exceeded"},
		"python no message": {"Traceback (most recent call last):\n  File \"x\", line 1, in f\nKeyboardInterrupt", "KeyboardInterrupt", ""},
		"python local":      {"Traceback (most recent call last):\n  File \"<string>\", line 5, in <module>\nf.<locals>.E: no", "f.<locals>.E", "no"},
		"python handling": {"Traceback (most recent call last):\n  File \"x\", line 1\nKeyError: 'a'\n\n" +
			"During handling of the above exception, another exception occurred:\n\n" +
			"Traceback (most recent call last):\n  File \"x\", line 2\nRuntimeError: no a\n", "RuntimeError", "no a"},
		"python group":       {"  + Exception Group Traceback (most recent call last):\n  |   File \"<string>\", line 1, in <module>\n  | ExceptionGroup: g (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | ValueError: 1\n    +------------------------------------\n", "ExceptionGroup", "g (1 sub-exception)"},
		"python syntax":      {"  File \"/srv/s.py\", line 1\n    foo(\n       ^\nSyntaxError: '(' was never closed\n", "SyntaxError", "'(' was never closed"},
		"node event":         {nodeEvent, "Error", "connect ECONNREFUSED 127.0.0.1:1"},
		"node cause":         {nodeCause, "TypeError", "fetch failed"},
		"node subclass":      {"/srv/c.js:1\nthrow new Boom()\n^\n\nBoom [Error]: x\ny\n    at Object.<anonymous> (/srv/c.js:1:35)\n\nNode.js v20.20.2", "Boom", "x"},
		"node code":          {"TypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument must be a string\n    at f (a.js:1:2)", "TypeError", "The \"path\" argument must be a string [ERR_INVALID_ARG_TYPE]"},
		"node aggregate":     {"AggregateError [ECONNREFUSED]: \n    at internalConnectMultiple (node:net:1117:18) {\n  code: 'ECONNREFUSED'\n}", "AggregateError", "[ECONNREFUSED]"},
		"node logged":        {"job failed TypeError\nValidationError: no name\nNote: see the docs\n    at check (/srv/a.js:4:9)\n", "ValidationError", "no name"},
		"node unhandled":     {"      ^\n\nUnhandledPromiseRejection: This error originated either by throwing\n    at throwUnhandledRejectionsMode (node:internal/process/promises:389:7) {\n  code: 'ERR_UNHANDLED_REJECTION'\n}\n", "UnhandledPromiseRejection", "This error originated either by throwing"},
		"java chain":         {javaChain, "java.lang.IllegalStateException", "outer"},
		"java no message":    {"java.lang.NullPointerException\n\tat a.B.c(B.java:7)\n", "java.lang.NullPointerException", ""},
		"java inner class":   {"Exception in thread \"pool-1\" com.acme.Jobs$PoisonException: x: y\n\tat a.B.c(Unknown Source)\n", "com.acme.Jobs$PoisonException", "x: y"},
		"ruby 3.4":           {"/srv/x.rb:1:in 'Object#foo': bad (Net::ReadTimeout)\n\tfrom /srv/x.rb:3:in '<main>'\n", "Net::ReadTimeout", "bad"},
		"ruby 3.0":           {"/srv/x.rb:1:in `block in foo': bad thing (ArgumentError)\n\tfrom /srv/x.rb:3:in `<main>'\n", "ArgumentError", "bad thing"},
		"ruby cause":         {"x.rb:4:in 'rescue in <main>': outer (RuntimeError)\n\tfrom x.rb:1:in '<main>'\nx.rb:2:in '<main>': inner (KeyError)\n", "RuntimeError", "outer"},
		"ruby bare":          {"x.rb:1:in `<main>': unhandled exception", "RuntimeError", "unhandled exception"},
		"ruby several lines": {"x.rb:1:in '<main>': one (IOError)\ntwo\nthree\n\tfrom x.rb:1:in '<main>'\n", "IOError", "one"},
		"go error":           {"panic: dial tcp: connection refused\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/p.go:5 +0x135\nexit status 2\n", "panic", "dial tcp: connection refused"},
		"go typed":           {"panic: (*main.E) 0x220e03086008\n\ngoroutine 1 [running]:\nmain.main()\n", "*main.E", "(*main.E) 0x220e03086008"},
		"go string type":     {"panic: main.Fault(\"no\")\n\ngoroutine 1 [running]:\nmain.main()\n", "main.Fault", "main.Fault(\"no\")"},
		"go runtime":         {"panic: runtime error: index out of range [5] with length 0\n\ngoroutine 1 gp=0xc000002380 m=0 mp=0x1 [running]:\nmain.main()\n", "runtime error", "runtime error: index out of range [5] with length 0"},
		"go second":          {"panic: first\n\tpanic: second\n\ngoroutine 1 [running]:\nmain.main.func1()\n", "panic", "second"},
		"go again":           {"panic: again [recovered, repanicked]\n\ngoroutine 1 [running]:\nmain.main.func1()\n", "panic", "again"},
		"go deadlock":        {"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select (no cases)]:\nmain.main()\n", "fatal error", "all goroutines are asleep - deadlock!"},
		"php":                {"Fatal error: Uncaught TypeError: f(): Argument #1 must be int in /srv/x.php:3\nStack trace:\n#0 {main}\n  thrown in /srv/x.php on line 3\n", "TypeError", "f(): Argument #1 must be int"},
		"php chain":          {phpChain, `App\Failed\ImportError`, "outer"},
		"php no message":     {"PHP Fatal error:  Uncaught RuntimeException in /srv/x.php:3\nStack trace:\n#0 {main}\n  thrown in /srv/x.php on line 3\n", "RuntimeException", ""},
		"php old":            {"PHP Fatal error:  Uncaught exception 'PDOException' with message 'gone away' in /srv/x.php:3\nStack trace:\n#0 {main}\n", "PDOException", "gone away"},
		"php parse":          {"PHP Parse error:  syntax error, unexpected end of file in /srv/x.php on line 9\n", "ParseError", "syntax error, unexpected end of file"},
		"colours":            {"\x1b[1mTraceback (most recent call last):\x1b[0m\n  File \"x\", line 1\n\x1b[1;35mOSError\x1b[0m: \x1b[35mno\x1b[0m\n", "OSError", "no"},
		"windows lines":      {"Traceback (most recent call last):\r\n  File \"x\", line 1\r\nOSError: no\r\n", "OSError", "no"},
		"the last of two": {
			"java.io.IOException: a\n\tat a.B.c(B.java:7)\nTraceback (most recent call last):\n  File \"x\", line 1\nOSError: no\n",
			"OSError", "no",
		},
	} {
		t.Run(name, func(t *testing.T) {
			typ, message, stack, ok := TraceOf(c.output)
			if !ok || typ != c.typ || message != c.message {
				t.Fatalf("got %q %q %v, want %q %q", typ, message, ok, c.typ, c.message)
			}
			if stack == "" || !strings.Contains(cleanText(strings.ReplaceAll(c.output, "\r", "")), stack) {
				t.Errorf("stack is no part of the output: %q", stack)
			}
		})
	}
}

func TestTraceOfKeepsTheWholeChain(t *testing.T) {
	for name, c := range map[string]struct{ output, first, last string }{
		"python": {pythonChain, "Traceback", "ValueError: bad"},
		"java":   {javaChain, "Exception in thread", "... 3 more"},
		"node":   {nodeCause, "TypeError: fetch failed", "}"},
		"php":    {phpChain, "PHP Fatal error", "thrown in /srv/a.php on line 5"},
	} {
		_, _, stack, ok := TraceOf(c.output)
		if !ok || !strings.HasPrefix(stack, c.first) || !strings.HasSuffix(stack, c.last) {
			t.Errorf("%s: stack is %q", name, stack)
		}
	}
	if _, _, stack, _ := TraceOf(nodeCause); !strings.Contains(stack, "code: 'ECONNREFUSED'") {
		t.Error("the cause of a Node.js error is not in the stack")
	}
}

func TestTraceOfFindsNoneWhereThereIsNone(t *testing.T) {
	for name, output := range map[string]string{
		"empty":            "",
		"plain":            "working\ndone\n",
		"half a traceback": "Traceback (most recent call last):\n  File \"x\", line 1\n",
		"thrown string":    "/srv/a.js:1\nthrow \"x\"\n^\nx\n(Use `node --trace-uncaught ...` to show where)\n\nNode.js v20.20.2\n",
		"c warning":        "main.c:3:1: warning: unused (Wunused)\n",
		"long before":      pythonChain + strings.Repeat("going on\n", 40),
		"at in prose":      "we meet\n    at noon\n",
		"shell":            "bash: line 1: nope: command not found\n",
	} {
		if typ, message, _, ok := TraceOf(output); ok {
			t.Errorf("%s: found %q %q", name, typ, message)
		}
	}
}

func FuzzTraceOfGivesBoundedText(f *testing.F) {
	for _, s := range []string{pythonChain, javaChain, nodeEvent, nodeCause, phpChain, "\xff\x1b[", "panic: \ngoroutine 1 [", "a:1:in '': (A)"} {
		f.Add(s)
	}
	f.Add(strings.Repeat("    at x\n", 4000))
	f.Add(strings.Repeat("goroutine 1 [\n", 1200))
	f.Add(strings.Repeat(pythonHead+"\n", 500))
	f.Fuzz(func(t *testing.T, output string) {
		typ, message, stack, ok := TraceOf(output)
		if !ok && typ+message+stack != "" {
			t.Error("text without a trace")
		}
		if !utf8.ValidString(typ + message + stack) {
			t.Error("not valid UTF-8")
		}
		if len(stack) > MaxStack || len(message) > MaxMessage || strings.Contains(message, "\n") {
			t.Error("out of bounds")
		}
	})
}

func TestBoundMakesEveryTextFitToBeKept(t *testing.T) {
	f := (&Failure{
		Kind:    FailHTTP,
		Message: "one\r\n two\x00\xff\x1b[31mred\x1b[0m " + strings.Repeat("é", MaxMessage),
		Stack:   "head" + strings.Repeat("ü", MaxStack) + "tail",
		Exit:    &ExitFailure{Code: -1, Signal: "SIG\nKILL"},
		HTTP: &HTTPFailure{
			Status: 500, Body: strings.Repeat("ß", MaxErrorBody),
			Headers: map[string]string{"Retry-After": "7\n", "X": strings.Repeat("y", 9000)},
		},
	}).Bound()
	if !strings.HasPrefix(f.Message, "one two\uFFFDred é") || len(f.Message) > MaxMessage {
		t.Errorf("message is %q", f.Message)
	}
	if f.Type != "http" {
		t.Errorf("type is %q", f.Type)
	}
	if !strings.HasPrefix(f.Stack, "head") || !strings.HasSuffix(f.Stack, "tail") || len(f.Stack) > MaxStack {
		t.Errorf("stack of %d bytes lost an end", len(f.Stack))
	}
	if f.Exit.Signal != "SIG KILL" {
		t.Errorf("signal is %q", f.Exit.Signal)
	}
	if f.HTTP.Headers["retry-after"] != "7" || len(f.HTTP.Headers["x"]) > maxHeader {
		t.Errorf("headers are %v", f.HTTP.Headers)
	}
	if !utf8.ValidString(f.Message+f.Stack+f.HTTP.Body) || len(f.HTTP.Body) > MaxErrorBody {
		t.Error("texts are not bounded UTF-8")
	}
	again := *f
	again.Bound()
	if again.Message != f.Message || again.Stack != f.Stack || again.HTTP.Body != f.HTTP.Body {
		t.Error("bounding twice changes it")
	}
}

func TestBoundGivesAMessageWhereThereIsNone(t *testing.T) {
	for want, f := range map[string]*Failure{
		"exit code 3":       {Kind: FailExit, Exit: &ExitFailure{Code: 3}},
		"killed by SIGKILL": {Kind: FailSignal, Exit: &ExitFailure{Code: -1, Signal: "SIGKILL"}},
		"answered 503":      {Kind: FailHTTP, HTTP: &HTTPFailure{Status: 503}},
		"timeout":           {Kind: FailTimeout},
	} {
		if got := f.Bound().Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
