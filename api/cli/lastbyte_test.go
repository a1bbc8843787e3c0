package cli

import (
	"bytes"
	"testing"
)

func TestLastByteRemembersHowTheLogEnded(t *testing.T) {
	for text, want := range map[string]byte{"": '\n', "a\n": '\n', "a": 'a'} {
		var b bytes.Buffer
		l := &lastByte{w: &b, b: '\n'}
		for i := range len(text) {
			if _, err := l.Write([]byte{text[i]}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Write(nil); err != nil {
			t.Fatal(err)
		}
		if l.b != want || b.String() != text {
			t.Errorf("%q: ended %q, passed on %q", text, l.b, b.String())
		}
	}
}
