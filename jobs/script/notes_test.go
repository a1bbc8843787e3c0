package script

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nightshift/jobs"
)

// heard collects what is said, as text, and refuses what it is told to.
type heard struct {
	said   []string
	refuse string
}

func (h *heard) say(n *jobs.Note) string {
	switch {
	case n.Checkpoint != nil:
		h.said = append(h.said, "checkpoint "+string(n.Checkpoint))
	case n.Progress != nil:
		h.said = append(h.said, fmt.Sprintf("progress %v/%v", n.Progress.Done, n.Progress.Total))
	case n.Truncated:
		h.said = append(h.said, "result too large")
	case n.Result != nil:
		h.said = append(h.said, "result "+string(n.Result))
	case n.Error != nil:
		h.said = append(h.said, "error "+n.Error.Type+" "+n.Error.Message)
	}
	return h.refuse
}

const notTaken = "nightshift: wrong in the line before: "

func TestNotesAreTakenOutOfTheText(t *testing.T) {
	large := `{"checkpoint":"` + strings.Repeat("x", jobs.MaxCheckpoint-2) + `"}`
	for name, c := range map[string]struct {
		text, left string
		said       []string
	}{
		"one": {
			"a\n::nightshift {\"checkpoint\":1}\nb\n", "a\nb\n", []string{"checkpoint 1"},
		},
		"first": {"::nightshift {\"checkpoint\": 1}\nb", "b", []string{"checkpoint 1"}},
		"last without line feed": {
			"a\n::nightshift {\"checkpoint\":1}", "a\n", []string{"checkpoint 1"},
		},
		"tab and CRLF": {
			"::nightshift\t{\"checkpoint\":[1, 2]} \r\na\r\n", "a\r\n", []string{"checkpoint [1, 2]"},
		},
		"one after another": {
			"::nightshift {\"checkpoint\":1}\n::nightshift {\"checkpoint\":2}\n", "",
			[]string{"checkpoint 1", "checkpoint 2"},
		},
		"all sorts": {
			"::nightshift {\"progress\":{\"done\":1,\"total\":2}}\n::nightshift {\"result\":{\"a\":1.10}}\n" +
				"::nightshift {\"error\":{\"type\":\"E\",\"message\":\"m\"}}\n", "",
			[]string{"progress 1/2", "result {\"a\":1.10}", "error E m"},
		},
		"within a line":     {"a ::nightshift {}\n", "a ::nightshift {}\n", nil},
		"behind a space":    {" ::nightshift {}\n", " ::nightshift {}\n", nil},
		"another word":      {"::nightshiftfoo {}\n", "::nightshiftfoo {}\n", nil},
		"another beginning": {":\n::\n::night\n::set-output a\n:", ":\n::\n::night\n::set-output a\n:", nil},
		"another case":      {"::Nightshift {}\n", "::Nightshift {}\n", nil},
		"a part at the end": {"::nights", "::nights", nil},
		"after empty lines": {"\n\n::nightshift {\"checkpoint\":1}\n\n", "\n\n\n", []string{"checkpoint 1"}},
		"after a return": {
			"50%\r::nightshift {\"checkpoint\":1}\n", "50%\r::nightshift {\"checkpoint\":1}\n", nil,
		},
		"the largest": {"::nightshift " + large + "\n", "", []string{"checkpoint " + large[14:len(large)-1]}},
		"bytes":       {"\xff\x00\n::nightshift {\"checkpoint\":\"é\"}\n\xfe", "\xff\x00\n\xfe", []string{"checkpoint \"é\""}},
		"no space": {
			"::nightshift{\"checkpoint\":1}\nb\n",
			"::nightshift{\"checkpoint\":1}\n" + notTaken + "a space belongs before the {\nb\n", nil,
		},
		"no space at the end": {
			"::nightshift{}", "::nightshift{}\n" + notTaken + "a space belongs before the {\n", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 11, 12, 13, 14, 1000, len(c.text)} {
				if size == 0 || size < 1000 && len(c.text) > 10_000 {
					continue
				}
				var log strings.Builder
				var h heard
				write := func(p []byte) { log.Write(p) }
				n := notes{pass: write, listen: h.say, answer: func(s string) { log.WriteString(s) }}
				for rest := c.text; rest != ""; {
					k := min(size, len(rest))
					n.write([]byte(rest[:k]))
					rest = rest[k:]
				}
				n.end()
				if log.String() != c.left || !slices.Equal(h.said, c.said) {
					t.Errorf("by %d: left %.200q, said %.200q, want %.200q and %.200q", size, log.String(), h.said, c.left, c.said)
				}
			}
		})
	}
}

// What is not understood, or refused by who listens, stays as it was, and says why behind it.
func TestNotesThatAreNotTakenStayInTheText(t *testing.T) {
	for name, c := range map[string]struct {
		line, wrong string // wrong "": something
		refuse      string
	}{
		"no JSON":     {line: "::nightshift {oops}\n"},
		"nothing":     {line: "::nightshift\n"},
		"only spaces": {line: "::nightshift  \t \r\n"},
		"no object":   {line: "::nightshift 40%\n"},
		"broken off":  {line: "::nightshift {\"checkpoint\":1\n"},
		"in part":     {line: "::nightshift {\"checkpoint\":1,\"progres\":2}\n"},
		"refused":     {"::nightshift {\"checkpoint\":1}\n", "too large", "too\nlarge"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, line := range []string{c.line, strings.TrimSuffix(c.line, "\n")} {
				var log strings.Builder
				h := heard{refuse: c.refuse}
				write := func(p []byte) { log.Write(p) }
				n := notes{pass: write, listen: h.say, answer: func(s string) { log.WriteString(s) }}
				n.write([]byte("a\n" + line))
				n.end()
				rest, ok := strings.CutPrefix(log.String(), "a\n"+strings.TrimSuffix(line, "\n")+"\n"+notTaken)
				if !ok || !strings.HasSuffix(rest, c.wrong+"\n") || strings.Count(rest, "\n") != 1 || rest == "\n" {
					t.Errorf("left %q", log.String())
				}
				if want := "wrong in a line ::nightshift of its output: "; n.summary() != want+strings.TrimSuffix(rest, "\n") {
					t.Errorf("summary %q", n.summary())
				}
			}
		})
	}
}

// A line past all bounds is ordinary text, in bounded memory; a result in it counts as too large.
func TestNotePastAllBoundsIsText(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		said []string
	}{
		"result":            {`{"result": "`, []string{"result too large"}},
		"result, not first": {`{"checkpoint": {"result": 1}, "result": [[1], "`, []string{"result too large"}},
		"checkpoint":        {`{"result": 1, "checkpoint": "`, nil},
		"no JSON":           {`result`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, end := range []string{"\nb\n", ""} {
				size, largest, said := 0, 0, ""
				var h heard
				n := notes{listen: h.say, answer: func(s string) { said = s }}
				n.pass = func(p []byte) { size += len(p); largest = max(largest, cap(n.held)) }
				n.write([]byte("::nightshift " + c.head))
				part := []byte(strings.Repeat("x", chunk))
				for range 10 << 20 / chunk {
					n.write(part)
				}
				n.write([]byte(end))
				n.end()
				if want := len("::nightshift ") + len(c.head) + 10<<20 + len(end); size != want {
					t.Errorf("%d bytes were passed on, want %d", size, want)
				}
				if largest > 2*(maxNote+chunk) {
					t.Errorf("%d bytes were held", largest)
				}
				if want := notTaken + "the line is longer than"; !strings.Contains(said, want) || n.refused != 1 {
					t.Errorf("said %q, refused %d", said, n.refused)
				}
				if !slices.Equal(h.said, c.said) {
					t.Errorf("said %q, want %q", h.said, c.said)
				}
			}
		})
	}
}

// noted runs a source and gives what it said, its report and its log.
func noted(t *testing.T, k *Kind, text string) (*heard, jobs.Report, string) {
	t.Helper()
	call, log := source(text)
	var h heard
	call.Say = h.say
	rep := begin(t, k, call).end(t)
	return &h, rep, log.String()
}

func TestScriptSpeaksByLines(t *testing.T) {
	h, rep, log := noted(t, newKindAny(t), `echo a
echo '::nightshift {"checkpoint": {"at": 4901}}'
echo '::nightshift {"checkpoint": 1}' >&2
printf 'no line end' >&2
echo '::nightshift {"progress": {"done": 4901, "total": 10000}}'
echo '::nightshift oops'
echo '::nightshift {'
printf '::nightshift {"result": 7}'`)
	wantSuccess(t, rep)
	want := []string{`checkpoint {"at": 4901}`, "progress 4901/10000", "result 7"}
	if !slices.Equal(h.said, want) {
		t.Errorf("said %q, want %q", h.said, want)
	}
	for _, text := range []string{
		"a\n", "::nightshift {\"checkpoint\": 1}\nno line end", "::nightshift oops\n" + notTaken,
	} {
		if !strings.Contains(log, text) {
			t.Errorf("%q is not in the log %q", text, log)
		}
	}
	if strings.Contains(log, "4901") || strings.Contains(rep.OutputTail, "4901") {
		t.Errorf("the log holds what was taken: %q", log)
	}
	if len(rep.Notes) != 1 || !strings.HasPrefix(rep.Notes[0], "wrong in 2 lines ::nightshift of its output, the first: ") {
		t.Errorf("notes %q", rep.Notes)
	}
}

// What was said in the instant of the end counts, whatever the end.
func TestWhatIsSaidAtTheEndIsTaken(t *testing.T) {
	eachLevel(t, func(t *testing.T, k *Kind) {
		const say = `echo '::nightshift {"checkpoint": 4}'`
		for name, text := range map[string]string{
			"success":  say,
			"failure":  say + "; exit 1",
			"signal":   say + "; kill -9 $$",
			"child":    "(sleep 600) & " + say + "; exit 1",
			"shim":     say + "; kill -9 $PPID; sleep 600",
			"of child": "(sleep 0.1; " + say + "; exec sleep 600) & exit 0",
		} {
			t.Run(name, func(t *testing.T) {
				if h, _, _ := noted(t, k, text); !slices.Equal(h.said, []string{"checkpoint 4"}) {
					t.Errorf("said %q", h.said)
				}
			})
		}
	})
}

func TestTermHandlerMaySaveItsCheckpoint(t *testing.T) {
	call, log := source(`trap 'echo "::nightshift {\"checkpoint\": 9}"; exit 0' TERM; echo up` + forever)
	var h heard
	call.Say = h.say
	r := begin(t, newKindAny(t), call)
	log.await(t, "up")
	r.stop(jobs.ErrCancelled)
	if rep := r.end(t); rep.Stopped == nil || !slices.Equal(h.said, []string{"checkpoint 9"}) {
		t.Errorf("stopped %v, said %q", rep.Stopped, h.said)
	}
}

// Secrets are hidden in what is kept for people, not in what the job keeps for itself.
func TestNotesAreNotMasked(t *testing.T) {
	const secret = "hunter2-hunter2"
	call, log := source(`echo hunter2-hunter2; echo '::nightshift {"checkpoint": "hunter2-hunter2"}'
printf 'hunter2-'; printf 'x\n' >&2; sleep 0.05; printf 'hunter2\n'; echo '::nightshift hunter2-hunter2'; exit 1`)
	var h heard
	call.Say, call.Mask = h.say, jobs.NewMask([]string{secret})
	rep := begin(t, newKindAny(t), call).end(t)
	if want := []string{`checkpoint "hunter2-hunter2"`}; !slices.Equal(h.said, want) {
		t.Errorf("said %q", h.said)
	}
	for _, text := range []string{log.String(), rep.OutputTail, rep.Failure.Message} {
		if strings.Contains(text, secret) || strings.Contains(text, "hunter2\n") {
			t.Errorf("the secret stands in %q", text)
		}
	}
}

func TestCheckpointIsAFile(t *testing.T) {
	k := newKindAny(t)
	for _, value := range []string{"", `{"at": 1.10, "b":[ ]}`, strings.Repeat("9", jobs.MaxCheckpoint)} {
		call, log := source(`stat -c '%a %s' "$NIGHTSHIFT_CHECKPOINT"; cat "$NIGHTSHIFT_CHECKPOINT"`)
		if value != "" {
			call.Checkpoint = jobs.Raw(value)
		}
		wantSuccess(t, begin(t, k, call).end(t))
		if want := fmt.Sprintf("600 %d\n%s", len(value), value); log.String() != want {
			t.Errorf("got %.200q, want %.200q", log, want)
		}
	}
}

// However a text is cut into pieces, what is said and what is left are the same.
func TestPiecesOfTheTextDoNotMatter(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	parts := []string{
		"\n", ":", "::", "::night", notePrefix, " ", "\t", "\r\n", "{", "}", `{"checkpoint":1}`, `{"result":"é"}`,
		notePrefix + " {\"progress\":{\"done\":1}}\n", notePrefix + " oops\n", "a line\n", "text", "\xff",
	}
	take := func(text string, size func() int) (left string, said []string) {
		var log strings.Builder
		var h heard
		n := notes{pass: func(p []byte) { log.Write(p) }, listen: h.say, answer: func(s string) { log.WriteString(s) }}
		for text != "" {
			k := min(size(), len(text))
			n.write([]byte(text[:k]))
			text = text[k:]
		}
		n.end()
		return log.String(), h.said
	}
	for range 2000 {
		text := ""
		for range r.IntN(20) {
			text += parts[r.IntN(len(parts))]
		}
		left, said := take(text, func() int { return len(text) })
		for _, size := range []func() int{func() int { return 1 }, func() int { return 1 + r.IntN(20) }} {
			if l, s := take(text, size); l != left || !slices.Equal(s, said) {
				t.Fatalf("seed %d: %q\nleft %q and %q\nsaid %q and %q", seed, text, left, l, said, s)
			}
		}
	}
}
