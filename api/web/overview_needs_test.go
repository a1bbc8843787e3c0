package web

import (
	"strings"
	"testing"

	"nightshift/api/wire"
)

func TestThatRunsAreRefusedNeedsAPerson(t *testing.T) {
	v := &view{}
	for unfinished, want := range map[int]bool{9: false, 10: true, 11: true} {
		most := 10
		said := false
		for _, n := range v.serverNeeds(&wire.Server{Unfinished: unfinished, MaxUnfinished: &most}, true) {
			said = said || strings.Contains(n.Text, "new ones are refused")
		}
		if said != want {
			t.Errorf("with %d of %d it is said: %t", unfinished, most, said)
		}
	}
	if needs := v.serverNeeds(&wire.Server{Unfinished: 10}, true); len(needs) > 0 {
		t.Errorf("without a bound it says %+v", needs)
	}
}
