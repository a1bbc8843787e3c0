package web

import (
	"strings"
	"testing"
)

func TestOutputOfProgramsIsMadeFitForAPage(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":                             "plain\ttext\n",
		"\x1b[1;31mred\x1b[0m":                      "red",
		"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x07": "link",
		"\x1b(Bx\x1b7y\x1b=z":                       "xyz",
		"10 %\r20 %\r\ndone":                        "10 %\n20 %\ndone",
		"\u009b31mred":                              "red",
		"bell\a back\b nul\x00":                     "bell back nul",
		"\u202eturned\u202c":                        "turned",
		"\x1bäöü":                                   "äöü",
		"\x1b[31äöü":                                "äöü",
		"\x1b]" + strings.Repeat("x", 2*maxEscape) + "\nend": strings.Repeat("x", 2*maxEscape-maxEscape+1) + "\nend",
	} {
		if got := new(plainer).plain(in); got != want && len(in) < 100 {
			t.Errorf("%q: got %q, want %q", in, got, want)
		} else if !strings.HasSuffix(got, want[max(0, len(want)-5):]) {
			t.Errorf("%q: got %q", in, got)
		}
		var p plainer // in pieces of one character
		var pieces strings.Builder
		for _, r := range in {
			pieces.WriteString(p.plain(string(r)))
		}
		if whole := new(plainer).plain(in); pieces.String() != whole {
			t.Errorf("%q: in pieces %q, in one %q", in, pieces.String(), whole)
		}
	}
}
