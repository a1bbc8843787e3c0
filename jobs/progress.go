package jobs

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// MaxProgressNote is how many characters of the note of a progress are kept.
const MaxProgressNote = 200

// ParseProgress reads {"done": 40, "total": 100, "note": "..."} as an attempt says it, masks its note
// and bounds it; null is nil. It gives an *InvalidError with all that is wrong, or a *SyntaxError.
func ParseProgress(raw Raw, mask *Mask) (*Progress, error) {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil, nil
	}
	p := new(Progress)
	if err := DecodeJSON(raw, p); err != nil {
		return nil, err
	}
	p.Note = mask.Text(p.Note)
	if err := p.Bound(); err != nil {
		return nil, err
	}
	return p, nil
}

// Bound makes the note one line of at most MaxProgressNote characters, and gives an *InvalidError
// where a number says nothing.
func (p *Progress) Bound() error {
	p.Note = clipCharacters(oneLine(p.Note), MaxProgressNote)
	var f faults
	f.checkAmount("done", p.Done)
	f.checkAmount("total", p.Total)
	return Invalid(f)
}

func (f *faults) checkAmount(at string, n float64) {
	if n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		f.add(at, "want a number, 0 or more")
	}
}

// clipCharacters bounds a text to n characters, the mark that something is missing included.
func clipCharacters(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n--; n == 0 {
			return s[:i] + "…"
		}
	}
	return ""
}
