package jobs

import (
	"errors"
	"strings"
	"testing"
)

func TestABodyIsReadFromYAMLAndItsFaultsArePlaced(t *testing.T) {
	text := "members:\n  - {name: a, job: fetch, payload: {n: 7.50}}\n  - name: b\n    job: fetch\nneed: 60%\n"
	var g Group
	file, err := ParseBody("group.yaml", []byte(text), &g)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Members) != 2 || string(g.Members[0].Payload) != `{"n":7.50}` || g.Need.Percent != 60 {
		t.Errorf("%+v", g)
	}
	placed := file.PlaceFaults([]Fault{{Location: "members[1].job", Message: "there is no job fetch"}})
	if got := placed[0].String(); !strings.HasPrefix(got, "group.yaml:4:10: ") {
		t.Error(got)
	}
	for wrong, want := range map[string]string{
		"members: []\nneeds: 2\n":                       "group.yaml:2:",
		"{\"members\": [],\n \"members\": []}":          "group.yaml:2:",
		"members:\n  - {name: a, job: 7}\nmerge: all\n": "group.yaml:3:8",
		"members: []\nsteps: []\n":                      `want "members", such as`,
		"members: [":                                    "group.yaml:",
		"members: []\n---\nmembers: []":                 "group.yaml:2:1",
	} {
		_, err := ParseBody("group.yaml", []byte(wrong), &Group{})
		var faulty *FileError
		if !errors.As(err, &faulty) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", wrong, err, want)
		}
	}
}
