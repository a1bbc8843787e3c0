package sqlite

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// released are the schemas that are in use somewhere, from 1 on: what the text of each migration hashes
// to. With a release its schema is added here, with the file that api/cli makes of it (TestMakeFixture),
// and is not edited any more.
var released = []string{
	"9236bc72e9aa2ea46fb5aa9c43067ab1b2fe57174319b5d8b65ae8e598c58fc1",
}

func TestMigrationThatWasReleasedIsNotEdited(t *testing.T) {
	up, err := newUpgrade(Config{})
	check(t, err)
	if len(up.steps) < len(released) {
		t.Fatalf("of %d schemas that were released %d are left", len(released), len(up.steps))
	}
	for i, want := range released {
		text, err := fs.ReadFile(up.files, up.steps[i].name)
		check(t, err)
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s was released and is edited: files of before would never get what is changed in it. "+
				"Put it into a migration of its own", up.steps[i].name)
		}
	}
}

// CHANGELOG.md names the schema of each release.
func TestSchemaOfEachReleaseIsKept(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	check(t, err)
	check(t, keptReleases(string(text)))
	for changes, want := range map[string]string{
		"# Changelog\n\n## [Unreleased]\n\nSchema 99.\n\n## [1.0.0] - 2027-01-01\n\nSchema 1.\n": "",
		"## [1.0.0] - 2027-01-01\n\nNo word of it.\n":                                            "1.0.0 does not name its schema",
		"## [1.1.0] - 2027-01-01\n\nSchema 99.\n":                                                "schema 99 of release 1.1.0",
	} {
		err := keptReleases(changes)
		if want != "" {
			wantText(t, err, want)
		} else if err != nil {
			t.Error(err)
		}
	}
	for i := range released {
		for _, ending := range []string{".db.gz", ".json"} {
			if _, err := os.Stat(fixturePath(i+1) + ending); err != nil {
				t.Errorf("schema %d was released and there is no file of it: make one with the program of that "+
					"schema, see TestMakeFixture in api/cli: %v", i+1, err)
			}
		}
	}
}

var (
	releaseHead = regexp.MustCompile(`(?m)^## \[(\d[^\]]*)\]`)
	schemaName  = regexp.MustCompile(`(?m)^Schema (\d+)\.`)
)

func keptReleases(changes string) error {
	heads := releaseHead.FindAllStringSubmatchIndex(changes, -1)
	for i, h := range heads {
		name, end := changes[h[2]:h[3]], len(changes)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		m := schemaName.FindStringSubmatch(changes[h[1]:end])
		if m == nil {
			return fmt.Errorf("CHANGELOG.md: release %s does not name its schema: write a line such as \"Schema %d.\"", name, len(released))
		}
		if n, _ := strconv.Atoi(m[1]); n > len(released) {
			return fmt.Errorf("schema %d of release %s is not among those that were released", n, name)
		}
	}
	return nil
}

func fixturePath(schema int) string {
	return filepath.Join("testdata", fmt.Sprint("schema-", schema))
}

// unpackFixture gives the file of a released schema.
func unpackFixture(t *testing.T, schema int) (path string) {
	t.Helper()
	packed, err := os.ReadFile(fixturePath(schema) + ".db.gz")
	check(t, err)
	r, err := gzip.NewReader(bytes.NewReader(packed))
	check(t, err)
	text, err := io.ReadAll(r)
	check(t, err)
	path = filepath.Join(t.TempDir(), "n.db")
	check(t, os.WriteFile(path, text, 0o600))
	return path
}

// productSchemas are the schemas of this program, from 1 on.
func productSchemas(t *testing.T) (states []string) {
	t.Helper()
	up, err := newUpgrade(Config{})
	check(t, err)
	path := filepath.Join(t.TempDir(), "n.db")
	for i := range up.steps {
		check(t, openMade(t, path, Config{migrations: firstOf(t, up, i+1), NoUpgradeCopy: true}))
		states = append(states, schemaOf(t, path))
	}
	return states
}

func TestFileOfEachReleasedSchemaIsBroughtToTheNewest(t *testing.T) {
	states := productSchemas(t)
	for i := range released {
		path := unpackFixture(t, i+1)
		mustBeOneOf(t, path, states[i:i+1])
		check(t, openMade(t, path, Config{}))
		mustBeOneOf(t, path, states[len(states)-1:])
		saved := filepath.Join(filepath.Dir(path), copyName(int64(i+2)))
		if i+1 < len(states) {
			mustBeOneOf(t, saved, states[i:i+1])
		} else if _, err := os.Stat(saved); err == nil {
			t.Error("a file of the newest schema was copied")
		}
	}
}

// What TestKilledAtAStatementOfAnUpgrade shows of made schemas, for those of the product, on files with
// every feature in use.
func TestKilledAtAStatementOfEachUpgradeThereIs(t *testing.T) {
	states := productSchemas(t)
	if len(states) == 1 {
		t.Skip("there is only one schema yet")
	}
	for i := range released {
		if i+1 == len(states) {
			continue
		}
		seen := map[string]int{}
		for at := 1; ; at += stride(1, 7) {
			path := unpackFixture(t, i+1)
			killed, said := upgradeChild(t, path, 0, at)
			if !killed {
				t.Logf("from schema %d: %s: left %v", i+1, strings.TrimSpace(said), seen)
				break
			}
			seen[mustBeOneOf(t, asLeft(t, path), states[i:])]++
			check(t, openAt(t, path).Close())
			mustBeOneOf(t, path, states[len(states)-1:])
		}
		if len(seen) < 2 {
			t.Errorf("from schema %d: places were killed at that left %v: the test proves nothing", i+1, seen)
		}
	}
}
