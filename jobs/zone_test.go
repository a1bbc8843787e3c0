package jobs

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A new release of Go may bring new zones: then zone_names.txt is to be the sorted list of files in
// lib/time/zoneinfo.zip of GOROOT.
func TestZoneNamesAreThoseBuiltIn(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command:", err)
	}
	z, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib/time/zoneinfo.zip"))
	if err != nil {
		t.Skip("no zone database with this Go:", err)
	}
	defer z.Close()
	var want []string
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, "/") {
			want = append(want, f.Name)
		}
	}
	slices.Sort(want)
	if got := zoneNames(); !slices.Equal(got, want) {
		t.Errorf("zone_names.txt has %d names, the database %d", len(got), len(want))
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("missing: %s", name)
			}
		}
	}
}

func TestLoadZoneKnowsEveryNameBuiltIn(t *testing.T) {
	for _, name := range zoneNames() {
		z, err := LoadZone(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if z.String() != name {
			t.Errorf("%s: is called %s", name, z)
		}
	}
}

func TestLoadZoneGivesUTCWhereNothingIsSaid(t *testing.T) {
	for _, name := range []string{"", "UTC"} {
		if z, err := LoadZone(name); err != nil || z != time.UTC {
			t.Errorf("%q: %v, %v", name, z, err)
		}
	}
}

func TestLoadZoneGivesTheSameZoneToAll(t *testing.T) {
	got := make([]*time.Location, 8)
	var group sync.WaitGroup
	for i := range got {
		group.Go(func() { got[i], _ = LoadZone("Pacific/Chatham") })
	}
	group.Wait()
	for _, z := range got {
		if z == nil || z != got[0] {
			t.Fatalf("%v and %v", z, got[0])
		}
	}
}

func TestLoadZoneRefusesWithAHint(t *testing.T) {
	for name, want := range map[string]string{
		"Europe/Berln":                  "did you mean Europe/Berlin?",
		"europe/berlin":                 "did you mean Europe/Berlin?",
		"EUROPE/BERLIN":                 "did you mean Europe/Berlin?",
		" Europe/Berlin":                "did you mean Europe/Berlin?",
		"Europe/Berlin\n":               "did you mean Europe/Berlin?",
		":Europe/Berlin":                "did you mean Europe/Berlin?",
		"/usr/share/zoneinfo/Asia/Aden": "did you mean Asia/Aden?",
		"posix/Europe/Berlin":           "did you mean Europe/Berlin?",
		"right/Europe/Berlin":           "did you mean Europe/Berlin?",
		`Europe\Berlin`:                 "did you mean Europe/Berlin?",
		"Berlin":                        "did you mean Europe/Berlin?",
		"America/New York":              "did you mean America/New_York?",
		"US/New_York":                   "did you mean America/New_York?",
		"Europe/Kiew":                   "did you mean Europe/Kiev?",
		"utc":                           "did you mean UTC?",
		"Utc":                           "did you mean UTC?",
		"Etc/UTC ":                      "did you mean Etc/UTC?",
		"EST5EDT4":                      "did you mean EST5EDT?",
		"Asia/Beijing":                  "write Asia/Shanghai, whose clock it shares",
		"America/San_Francisco":         "write America/Los_Angeles, whose clock it shares",
		"CEST":                          "such as Europe/Berlin or Europe/Paris",
		"PST":                           "such as America/Los_Angeles or Asia/Manila",
		"pdt":                           "such as America/Los_Angeles",
		"IST":                           "such as Asia/Kolkata, Europe/Dublin or Asia/Jerusalem",
		"UTC+2":                         "or Etc/GMT-2 for always 2 hours ahead of UTC, whose sign is the other way round",
		"UTC+02:00":                     "or Etc/GMT-2 for always 2 hours ahead of UTC",
		"GMT+1":                         "or Etc/GMT-1 for always 1 hour ahead of UTC",
		"GMT-5":                         "or Etc/GMT+5 for always 5 hours behind UTC",
		"+0200":                         "or Etc/GMT-2 ",
		"-03:00":                        "or Etc/GMT+3 ",
		"\u22123":                       "or Etc/GMT+3 ",
		"UTC+5:30":                      "no zone is just an offset that is not whole hours: write the area and city",
		"UTC+00:00":                     "write UTC",
		"Etc/GMT+15":                    "no zone is that far from UTC",
		"Etc/UTC+2":                     "or Etc/GMT+2 for always 2 hours behind UTC",
		"UTC+15":                        "no zone is that far from UTC",
		"Z":                             "write UTC",
		"Local":                         "the host's zone must not decide: write the name",
		"local":                         "the host's zone must not decide",
		"W. Europe Standard Time":       "that is Windows' name: write Europe/Berlin",
		"Eastern Time (US & Canada)":    "write America/New_York",
		"CET-1CEST,M3.5.0,M10.5.0/3":    "a POSIX rule is not read: write the area and city",
		"<+03>-3":                       "a POSIX rule is not read",
		"../../etc/passwd":              "want a name of the time zone database such as Europe/Berlin, or UTC",
		"/etc/localtime":                "want a name of",
		"Europe/Berlin\x00":             "",
		"日本":                            "want a name of",
		"\xff\xfe":                      "want a name of",
		strings.Repeat("Europe/", 1000): "want a name of",
		"a":                             "want a name of",
		" ":                             "want a name of",
		".":                             "want a name of",
		"/":                             "want a name of",
	} {
		z, err := LoadZone(name)
		if err == nil {
			t.Errorf("%q: is %s", name, z)
			continue
		}
		text := err.Error()
		if !strings.HasPrefix(text, "unknown time zone ") || !strings.Contains(text, want) {
			t.Errorf("%q: %q, want %q in it", name, text, want)
		}
		if len(text) > 300 {
			t.Errorf("%q: a text of %d bytes", name, len(text))
		}
	}
}

// What is named in a hint must itself be a zone.
func TestZoneHintsNameZones(t *testing.T) {
	for _, hints := range []map[string]string{zoneAbbreviations, zoneCities} {
		for from, names := range hints {
			for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ' ' || r == ',' }) {
				if _, err := LoadZone(name); err != nil && name != "or" {
					t.Errorf("%s: %v", from, err)
				}
			}
		}
	}
	for from, hint := range zoneWords {
		words := strings.Fields(strings.ReplaceAll(hint, ",", ""))
		if _, err := LoadZone(words[len(words)-1]); err != nil {
			t.Errorf("%s: %v", from, err)
		}
	}
}

func TestZoneHintsAreWrittenPlainly(t *testing.T) {
	for _, hints := range []map[string]string{zoneAbbreviations, zoneCities, zoneWords} {
		for from := range hints {
			if plainZone(from) != from {
				t.Errorf("%q is never looked up: it is %q", from, plainZone(from))
			}
		}
	}
}

func FuzzLoadZone(f *testing.F) {
	for _, name := range []string{"Europe/Berlin", "UTC+2", "CET-1CEST", "日本", "\x00", "../x", ":a"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		z, err := LoadZone(name)
		if err == nil && z.String() != name && name != "" {
			t.Errorf("%q gives %s", name, z)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("%q: a text of %d bytes", name, len(err.Error()))
		}
	})
}
