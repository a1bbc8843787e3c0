package script

import (
	"bytes"
	"encoding/json"
	"fmt"

	"nightshift/jobs"
)

// notePrefix begins a line of stdout by which a script says something of itself, followed by a space
// or a tab and a JSON object.
const notePrefix = "::nightshift"

// maxNote is how long such a line may be: a checkpoint, a result, and room for all else.
const maxNote = jobs.MaxCheckpoint + jobs.MaxResult + 64<<10

const noteTooLong = "the line is longer than %d bytes: a checkpoint may have %d, a result %d"

// notes takes the lines that are meant for the server out of a script's stdout. All other text it
// passes on as it comes; held back is only what may still become such a line, up to maxNote.
type notes struct {
	pass   func([]byte)
	mask   *jobs.Mask
	listen func(*jobs.Note) (wrong string)
	answer func(line string) // into the log

	plain bool   // within a line that is none
	held  []byte // the beginning of one that may be

	wrong   string // of the line that is passed on, said at its end
	refused int
	first   string // what was wrong with the first that was refused
}

func (n *notes) write(p []byte) {
	for len(p) > 0 {
		if n.plain {
			p = n.text(p)
		} else {
			p = n.candidate(p)
		}
	}
}

// text passes on what belongs to ordinary lines, up to the first that may be another, and gives the
// rest.
func (n *notes) text(p []byte) []byte {
	end := len(p)
	if i := bytes.IndexByte(p, '\n'); n.wrong != "" && i >= 0 {
		end = i + 1
	} else if i := bytes.Index(p, []byte("\n:")); i >= 0 {
		end = i + 1
	}
	n.pass(p[:end])
	n.plain = p[end-1] != '\n'
	if !n.plain && n.wrong != "" {
		n.refuse(n.wrong, true)
	}
	return p[end:]
}

// candidate takes the beginning of a line, or more of one that is held, and gives the rest.
func (n *notes) candidate(p []byte) []byte {
	end := bytes.IndexByte(p, '\n') + 1
	whole := end > 0
	if !whole {
		end = len(p)
	}
	if len(n.held) == 0 && !mayBeNote(p[:end]) { // nothing is copied
		n.plain = true
		return p
	}
	n.held = append(n.held, p[:end]...)
	switch {
	case !mayBeNote(n.held):
		n.pass(n.held)
		n.plain = !whole
	case len(n.held) > maxNote:
		n.pass(n.held)
		n.tooLong(n.held)
		if n.plain = !whole; whole {
			n.refuse(n.wrong, true)
		}
	case whole:
		n.line(n.held)
	default:
		return nil
	}
	n.held = n.held[:0]
	return p[end:]
}

// mayBeNote reports whether a line that begins so is meant for the server, or may yet be.
func mayBeNote(line []byte) bool {
	k := min(len(line), len(notePrefix))
	if string(line[:k]) != notePrefix[:k] {
		return false
	}
	return k == len(line) || bytes.IndexByte([]byte(" \t{\r\n"), line[k]) >= 0
}

// line takes a whole line; the last one may lack its line feed.
func (n *notes) line(line []byte) {
	text := line[len(notePrefix):]
	wrong := "a space belongs before the {"
	if !bytes.HasPrefix(text, []byte("{")) {
		wrong = n.say(bytes.TrimSpace(text))
	}
	if wrong != "" {
		n.pass(line)
		n.refuse(wrong, line[len(line)-1] == '\n')
	}
}

// say gives to who listens what of a text is right.
func (n *notes) say(text []byte) (wrong string) {
	note, wrong := jobs.ParseNote(bytes.Clone(text), n.mask) // the note keeps parts of it
	if n.listen == nil || note.Checkpoint == nil && note.Progress == nil && note.Said.Empty() {
		return wrong
	}
	if refused := n.listen(note); wrong == "" {
		wrong = refused
	} else if refused != "" {
		wrong += "; " + refused
	}
	return wrong
}

// tooLong remembers what is wrong with a line of which only the head is known. A result that goes on
// past it is one that is too large: that is said, so that nobody takes the result before it for it.
func (n *notes) tooLong(head []byte) {
	n.wrong = fmt.Sprintf(noteTooLong, maxNote, jobs.MaxCheckpoint, jobs.MaxResult)
	if n.listen != nil && lastMember(head[len(notePrefix):]) == "result" {
		n.listen(&jobs.Note{Said: jobs.Said{Truncated: true}})
	}
}

// lastMember is the name of the member that the head of a JSON object breaks off in.
func lastMember(head []byte) string {
	d := json.NewDecoder(bytes.NewReader(head))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	for {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return ""
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return name
		}
	}
}

// refuse says, behind a line that stays in the log, what of it was not taken.
func (n *notes) refuse(wrong string, ended bool) {
	n.wrong = ""
	wrong = oneLine(wrong)
	if n.refused++; n.refused == 1 {
		n.first = wrong
	}
	text := "nightshift: wrong in the line before: " + wrong + "\n"
	if !ended {
		text = "\n" + text
	}
	n.answer(text)
}

// end takes in what was held back: the last line may lack its line feed.
func (n *notes) end() {
	line := n.held
	n.held = nil
	switch {
	case n.wrong != "":
		n.refuse(n.wrong, false)
	case len(line) >= len(notePrefix):
		n.line(line)
	case len(line) > 0:
		n.pass(line)
	}
}

// summary is what the attempt's report says of lines that were not taken whole; "": all were.
func (n *notes) summary() string {
	switch n.refused {
	case 0:
		return ""
	case 1:
		return "wrong in a line " + notePrefix + " of its output: " + n.first
	}
	return fmt.Sprintf("wrong in %d lines %s of its output, the first: %s", n.refused, notePrefix,
		n.first)
}
