package script

import (
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nightshift/jobs"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// fields reads an environment separated by NUL.
func fields(s string) map[string]string {
	m := make(map[string]string)
	for f := range strings.SplitSeq(strings.TrimSuffix(s, "\x00"), "\x00") {
		k, v, _ := strings.Cut(f, "=")
		m[k] = v
	}
	return m
}

func TestEnvironmentIsExactlyWhatIsDocumented(t *testing.T) {
	t.Setenv("NIGHTSHIFT_TOKEN", "secret")
	t.Setenv("LC_ALL", "C")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("TZ", "Europe/Berlin")
	k := newKindAny(t)
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	base := map[string]string{
		"PATH": os.Getenv("PATH"), "LANG": "C.UTF-8", "TZ": "Europe/Berlin",
		"HOME": u.HomeDir, "USER": u.Username, "LOGNAME": u.Username, "PYTHONUNBUFFERED": "1",
		"NIGHTSHIFT_JOB": "test", "NIGHTSHIFT_ATTEMPT": "1", "NIGHTSHIFT_MAX_ATTEMPTS": "8",
		"NIGHTSHIFT_CATCH_UP": "false",
	}
	run, operation := jobs.IDOf(1<<30, -5), jobs.IDOf(1<<29, -7)
	base["NIGHTSHIFT_RUN"], base["NIGHTSHIFT_OPERATION"] = run.String(), operation.String()
	full := maps.Clone(base)
	maps.Copy(full, map[string]string{
		"NIGHTSHIFT_ATTEMPT": "3", "NIGHTSHIFT_MAX_ATTEMPTS": "5", "NIGHTSHIFT_CATCH_UP": "true",
		"NIGHTSHIFT_SCHEDULED_FOR":  "2026-11-29T02:00:00.000Z",
		"NIGHTSHIFT_DEADLINE":       "2026-11-29T08:00:00.500Z",
		"NIGHTSHIFT_CALLBACK":       "http://127.0.0.1:8700/v1/callback/x",
		"NIGHTSHIFT_CALLBACK_TOKEN": "tok",
		"TRACEPARENT":               "00-1-2-01",
		"TZ":                        "UTC", "API_KEY": "a=b c\n\"d\"", "EMPTY": "",
	})
	least, _ := source("")
	most, _ := callOf(jobs.Script{
		Env: map[string]string{"TZ": "UTC", "API_KEY": "a=b c\n\"d\"", "EMPTY": ""},
	})
	most.Attempt, most.MaxAttempts, most.CatchUp = 3, 5, true
	most.ScheduledFor = jobs.TimeOf(time.Date(2026, 11, 29, 2, 0, 0, 0, time.UTC))
	most.Deadline = time.Date(2026, 11, 29, 9, 0, 0, 500e6, time.FixedZone("", 3600))
	most.CallbackURL, most.CallbackToken = "http://127.0.0.1:8700/v1/callback/x", "tok"
	most.Traceparent = "00-1-2-01"
	for call, want := range map[*jobs.Call]map[string]string{least: base, most: full} {
		call.Run, call.Operation = run, operation
		// not in a shell, which adds to it
		call.Spec.Script.Interpreter = []string{"perl", "-e", `print map {"$_=$ENV{$_}\0"} keys %ENV`}
		rep := begin(t, k, call).end(t)
		wantSuccess(t, rep)
		got := fields(rep.OutputTail)
		if call == most {
			bin := filepath.Join(k.temp.Path, "bin")
			want["PATH"] = bin + ":" + os.Getenv("PATH")
		}
		for _, name := range []string{"TMPDIR", "NIGHTSHIFT_PAYLOAD", "NIGHTSHIFT_CHECKPOINT"} {
			if !strings.HasPrefix(got[name], k.temp.Path+"/") {
				t.Errorf("%s=%s is not below %s", name, got[name], k.temp.Path)
			}
			delete(got, name)
		}
		if !maps.Equal(got, want) {
			t.Errorf("environment %q\nwant %q", got, want)
		}
	}
}

func TestPayloadComesOnStdinAndInAFile(t *testing.T) {
	k := newKindAny(t)
	large := `{"id":9007199254740993,"c":1.10,"d":1e400,"pad":"` + strings.Repeat("é", 100_000) + `"}`
	for name, c := range map[string]struct {
		payload jobs.Raw
		want    string
	}{
		"large": {jobs.Raw(large), large},
		"none":  {nil, "{}"},
		"null":  {jobs.Raw("null"), "null"},
	} {
		t.Run(name, func(t *testing.T) {
			call, log := source(`cat; stat -c ' %a' "$NIGHTSHIFT_PAYLOAD"; cat "$NIGHTSHIFT_PAYLOAD"`)
			call.Payload = c.payload
			wantSuccess(t, begin(t, k, call).end(t))
			if stdin, file, _ := strings.Cut(log.String(), " 600\n"); stdin != c.want || file != c.want {
				t.Errorf("stdin %.200q, file %.200q", stdin, file)
			}
		})
	}
}

func TestUnreadStdinDoesNotBlock(t *testing.T) {
	call, _ := source("exit 0")
	call.Payload = jobs.Raw(`"` + strings.Repeat("x", 4<<20) + `"`)
	wantSuccess(t, begin(t, newKindAny(t), call).end(t))
}

func TestFolderIsPrivateEmptyAndRemoved(t *testing.T) {
	k := newKindAny(t)
	call, log := source(`umask; stat -c %a . "$TMPDIR"; ls -A . "$TMPDIR" | grep -v : | wc -w; pwd
touch x; ulimit -c; ulimit -Hc`)
	wantSuccess(t, begin(t, k, call).end(t))
	lines := strings.Fields(log.String())
	if want := []string{"0077", "700", "700", "0"}; len(lines) != 7 || !slices.Equal(lines[:4], want) {
		t.Fatalf("got %q, want %q", lines, want)
	}
	if lines[5] != "0" || lines[6] != "0" {
		t.Errorf("core limits %q", lines[5:])
	}
	if _, err := os.Stat(lines[4]); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(k.temp.Path, "[^.]*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOnlyThreeDescriptorsAreInherited(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	open, err := syscall.Dup(int(w.Fd())) // inherited by whatever this process starts
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(open)
	// its own of the folder and of the script left out
	const list = `chdir "/proc/self/fd"; opendir D, ".";
print join " ", sort grep { /\d/ && readlink($_) && readlink($_) !~ m{^/proc/|/script$} } readdir D`
	call, log := callOf(jobs.Script{Interpreter: []string{"perl", "-e", list}})
	wantSuccess(t, begin(t, newKindAny(t), call).end(t))
	if log.String() != "0 1 2" {
		t.Errorf("descriptors %s", log)
	}
}

// Whatever comes of an attempt, the server holds no descriptor more than before.
func TestAttemptsLeaveNoDescriptorOpen(t *testing.T) {
	k := newKindAny(t)
	run := func() {
		for _, text := range []string{
			"exit 0", "setsid sleep 600 & exit 1", "kill -9 $PPID; sleep 600", "#!/no/such/program",
		} {
			call, _ := source(text)
			begin(t, k, call).end(t)
		}
	}
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	run() // opens what is kept
	before := open()
	run()
	await(t, "as many descriptors as before", func() bool { return open() <= before })
}
