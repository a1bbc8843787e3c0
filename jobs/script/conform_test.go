package script

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

func TestScriptKeepsTheContractOfKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Subject{
		Kind:     newKindAny(t),
		Succeeds: func(testing.TB) jobs.Spec { return shell("cat >/dev/null") },
		Fails: func(testing.TB) (jobs.Spec, jobs.FailureKind) {
			return shell("exit 3"), jobs.FailExit
		},
		Hangs: func(t testing.TB) kindtest.Hanging { return hangs(t, "") },
		Stubborn: func(t testing.TB) kindtest.Hanging {
			return hangs(t, "trap '' TERM")
		},
		Polite: func(t testing.TB) kindtest.Hanging {
			return hangs(t, "trap 'exit 0' TERM")
		},
		Prints: func(t testing.TB, text []byte) jobs.Spec { return shell("cat " + textFile(t, text)) },
		Says: func(t testing.TB, notes ...string) jobs.Spec {
			lines := "before\n::nightshift " + strings.Join(notes, "\n::nightshift ") + "\nafter\n"
			return shell("cat " + textFile(t, []byte(lines)))
		},
		Floods: func(_ testing.TB, size int64) jobs.Spec {
			return shell("head -c " + strconv.FormatInt(size, 10) + " /dev/zero | tr '\\0' x")
		},
		Garbles: func(testing.TB) jobs.Spec {
			return shell(`printf '\377\376 \001\002\033[31m \303(' | tee /dev/stderr; exit 1`)
		},
		Unstartable: map[string]kindtest.Broken{
			"no file":        {Spec: jobs.Spec{Script: &jobs.Script{Path: "none.py"}}, Kind: jobs.FailSpawn},
			"no interpreter": {Spec: jobs.Spec{Script: &jobs.Script{Source: "x", Interpreter: []string{"no-such-program"}}}, Kind: jobs.FailSpawn},
			"no folder":      {Spec: jobs.Spec{Script: &jobs.Script{Source: "true", Dir: "/no/such/folder"}}, Kind: jobs.FailSpawn},
		},
	})
}

func shell(source string) jobs.Spec {
	return jobs.Spec{Script: &jobs.Script{Source: source, Grace: new(jobs.Duration(time.Minute))}}
}

// textFile is a file with that text.
func textFile(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hangs is a shell that says it has started, does what it is told first, and sleeps.
func hangs(t testing.TB, first string) kindtest.Hanging {
	t.Helper()
	stamp, file := mark(), filepath.Join(t.TempDir(), "started")
	started := make(chan struct{})
	go func() {
		defer close(started)
		for t.Context().Err() == nil {
			if _, err := os.Stat(file); err == nil {
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	}()
	return kindtest.Hanging{
		Spec:    shell(first + "\n: >" + file + "\nsleep " + stamp + " & wait"),
		Started: started,
		Gone:    func() bool { return len(marked(stamp)) == 0 },
	}
}
