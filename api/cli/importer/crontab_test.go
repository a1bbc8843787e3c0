package importer

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nightshift/jobs"
)

var update = flag.Bool("update", false, "write what the importers give into testdata")

// testCrontab is an importer on a machine that is known.
func testCrontab(name string, system bool) *Crontab {
	homes := map[string]string{"root": "/root", "www-data": "/var/www", "logcheck": "/var/lib/logcheck"}
	c := &Crontab{
		Name: name, System: system, Zone: "Europe/Berlin", ZoneFrom: "this machine, /etc/localtime",
		HomeOf: func(user string) string { return homes[user] },
	}
	if !system {
		c.Home, c.HomeFrom = "/home/ada", "--home"
	}
	return c
}

func TestImportedCrontabsAreJobFilesWithComments(t *testing.T) {
	for _, name := range []string{"home", "system", "hostile", "windows", "empty"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".crontab")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			made, err := testCrontab(name+".crontab", name == "system").Run(data)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(path, ".crontab")+".yaml", made)
		})
	}
}

// golden compares a job file and the notes on it with what is kept.
func golden(t *testing.T, path string, made *Imported) {
	t.Helper()
	file, err := jobs.ParseFile("imported", made.Text)
	if err != nil {
		t.Fatalf("%v\n%s", err, made.Text)
	}
	var got bytes.Buffer
	got.Write(made.Text)
	got.WriteString("# --- the summary:\n")
	var summary bytes.Buffer
	made.Summary(&summary, filepath.Base(path), len(file.Jobs))
	for line := range strings.Lines(summary.String()) {
		got.WriteString("# " + line)
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("other than before (-update keeps it):\n%s", diff)
	}
}

func TestImportRefusesWhatIsOfNoUse(t *testing.T) {
	for text, want := range map[string]string{
		"# a\n* * * * * x\x00y\n":                "x:2: it holds a NUL byte",
		"<html>\n<body>cron</body>\n":            "x:1: cron cannot read \"<html>\" as minute",
		"nonsense\n":                             "x:1: ",
		strings.Repeat("* * * * * a\n", 10_001):  "x:10001: want at most 10000 lines",
		"\n\n0 0 L * * /bin/last\n# a comment\n": "x:3: cron cannot read \"L\" as day of the month: want a number from 1 to 31",
	} {
		_, err := testCrontab("x", false).Run([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func TestThoseInMAILTOAreTold(t *testing.T) {
	made, err := testCrontab("x", true).Run([]byte("MAILTO=ops@example.com\n0 1 * * * root /bin/x\n" +
		"MAILTO=ops@example.com,root\n0 2 * * * root /bin/mail ops@example.com,root\nMAILTO=\n0 3 * * * root /bin/y\n" +
		"MAILTO=<a>\n0 4 * * * root /bin/z\n"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := jobs.ParseFile("x", made.Text)
	if err != nil {
		t.Fatalf("%v\n%s", err, made.Text)
	}
	got := ""
	for _, a := range file.Alerts {
		for _, j := range file.Jobs {
			if j.Name == a.Run {
				got += a.Name + ": " + a.If + " to " + strings.Join(j.Mail.To, ", ") + " on " + strings.Join(a.On, ", ") + "\n"
			}
		}
	}
	const want = `mail-ops-example.com: labels.mailto == "ops@example.com" to ops@example.com on run.failed, run.recovered
mail-ops-example.com-root: labels.mailto == "ops@example.com,root" to ops@example.com, root@localhost on run.failed, run.recovered
`
	if got != want {
		t.Errorf("alerts are\n%s\nwant\n%s\n%s", got, want, made.Text)
	}
	for _, text := range []string{
		"MAILTO=ops@example.com,root names a mailbox of this machine", "MAILTO=<a>: nobody is told, since mail.to[0]",
		"The server sends by its --smtp", "    resolve_on_success: true\n",
	} {
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(string(made.Text), "#", "")), " "), strings.TrimSpace(text)) {
			t.Errorf("%q is not in\n%s", text, made.Text)
		}
	}
	for _, j := range file.Jobs {
		if j.Script != nil && !j.ResolveOnSuccess {
			t.Errorf("%s does not settle its failures", j.Name)
		}
	}
}

func FuzzImportCrontab(f *testing.F) {
	files, err := filepath.Glob("testdata/*.crontab")
	if err != nil || len(files) == 0 {
		f.Fatal(err, len(files))
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, line := range bytes.SplitAfter(data, []byte("\n")) {
			f.Add(line, strings.Contains(path, "system"))
		}
		f.Add(data, false)
	}
	f.Add([]byte("A=%\n* * * * * a%b\\%c%\n0 0 30 2 * x\nMAILTO=é,ü\n@daily x #\"'\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, system bool) {
		made, err := testCrontab("x", system).Run(data)
		if err != nil {
			return
		}
		file, err := jobs.ParseFile("x", made.Text)
		if err != nil {
			t.Fatalf("%v\n%s", err, made.Text)
		}
		for _, j := range file.Jobs {
			for _, s := range j.Schedules {
				if _, err := s.Timetable(0); err != nil {
					t.Errorf("%s: %v", s.Cron, err)
				}
			}
		}
		again, err := testCrontab("x", system).Run(data)
		if err != nil || !bytes.Equal(made.Text, again.Text) {
			t.Error("the same file gives another the second time")
		}
	})
}
