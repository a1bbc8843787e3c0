package importer

import (
	"strings"
	"testing"

	"nightshift/jobs"
)

func TestLinesThatSetAVariableAreReadAsCronReadsThem(t *testing.T) {
	for line, want := range map[string]string{
		`A=b`: "A=b", `A = b c  `: "A=b c", `A="  b "  `: "A=  b ", `A='b"c'`: `A=b"c`, "A\t=\t'b'": "A=b",
		`"A B"=c`: "A B=c", `'A'="$B"`: "A=$B", `A=b # c`: "A=b # c", `A=`: "A=", `A=""`: "A=", `A="b`: "no",
		`A="b" c`: "no", `A b=c`: "no", `"A=b"=c`: "no", `* * * * * A=b`: "no", `@daily A=b`: "no", `=b`: "=b",
		`A`: "no", ``: "no", `A="b"c"`: "no", `A==b`: "A==b",
	} {
		name, value, ok := parseEnv(line)
		if got := name + "=" + value; ok && got != want || !ok && want != "no" {
			t.Errorf("%s: %q %v, want %q", line, got, ok, want)
		}
	}
}

func TestPercentSignsAreReadAsCronReadsThem(t *testing.T) {
	// What Debian's cron 3.0pl1-162 did with each.
	for text, want := range map[string][2]string{
		`a b`:                            {`a b`, ""},
		`a%`:                             {`a`, ""},
		`a%b%`:                           {`a`, "b\n"},
		`a%%b`:                           {`a`, "\nb\n"},
		`echo \% '\%' \\x`:               {`echo % '%' \\x`, ""},
		`a\\%b`:                          {`a\\`, "b\n"},
		`a\`:                             {`a\`, ""},
		`a % in1%in\%2\\x\\\%y\\%%last\`: {`a `, " in1\nin%2\\\\x\\\\%y\\%\nlast\\\n"},
	} {
		command, input := splitPercent(text)
		if got := [2]string{command, input}; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestFieldsThatCronTakesMeanTheSameHere(t *testing.T) {
	for _, line := range []string{
		"* * * * *", "*/7 */5 * * *", "0 0 1-31/3 * *", "0 0 * jan-MAR,12 *", "0 0 * * sun,7", "0 0 * * 5-7",
		"0 0 13 * fri", "0 0 */2 * fri", "0 0 13 * */2", "0 0 29 2 *", "5-5 09 * * 0-7/2", "0 0 *,3 * 2",
	} {
		schedule, never, rest, err := cutFields(line + "\tx  y")
		if err != nil || never || rest != "x  y" || schedule != line {
			t.Errorf("%s: %q %v %q %v", line, schedule, never, rest, err)
			continue
		}
		sameTicks(t, line)
	}
	for _, line := range []string{"0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 */2", "0 0 31 feb 0-7"} {
		_, never, _, err := cutFields(line + " x")
		if _, here := jobs.ParseCron(line); err != nil || never != (here != nil) {
			t.Errorf("%s: never: %v, %v; here %v", line, never, err, here)
		}
	}
}

// sameTicks compares the days and minutes of two years with what cron's rule gives.
func sameTicks(t *testing.T, line string) {
	t.Helper()
	texts := strings.Fields(line)
	var sets []uint64
	for i, f := range cronFields {
		set, err := f.read(texts[i])
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, set)
	}
	sets[4] |= sets[4] >> 7 & 1
	s := jobs.Schedule{Cron: line}
	table, err := s.Timetable(0)
	if err != nil {
		t.Fatal(err)
	}
	const minute = 60_000
	begin := jobs.Time(1_750_000_000_000 / minute * minute)
	next := table.Next(begin)
	for at := begin + minute; at < begin+400*24*60*minute; at += minute {
		u := at.Std().UTC()
		dom, dow := sets[2]&(1<<u.Day()) != 0, sets[4]&(1<<int(u.Weekday())) != 0
		day := dom || dow
		if texts[2][0] == '*' || texts[4][0] == '*' {
			day = dom && dow
		}
		if day && sets[0]&(1<<u.Minute()) != 0 && sets[1]&(1<<u.Hour()) != 0 && sets[3]&(1<<int(u.Month())) != 0 {
			if next != at {
				t.Fatalf("%s: cron runs it at %s, a schedule at %s", line, at, next)
			}
			next = table.Next(at)
		} else if next == at {
			t.Fatalf("%s: cron does not run it at %s", line, at)
		}
	}
}

func TestJobsAreNamedByTheirCommands(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/bin/backup.sh --full":                                              "backup",
		"cd /srv/app && RAILS_ENV=production bundle exec rake":                   "bundle-exec-rake",
		"nice -n 19 ionice -c3 /opt/x/reindex":                                   "reindex",
		"flock -n /tmp/l timeout 5m php -q /srv/artisan schedule:run":            "artisan-schedule-run",
		"test -x /usr/bin/certbot && perl -e 'sleep rand 9' && certbot -q renew": "certbot",
		"mysqldump -u root -p hunter2 shop | gzip >/backup/shop.gz":              "mysqldump",
		"curl -s 'https://u:hunter2@example.com/a/b?token=hunter2'":              "curl-example.com-a-b",
		"[ $(date +%d) -le 7 ] && /usr/share/check":                              "check",
		"if [ -x /a ]; then /a/b; fi":                                            "b",
		"2>/dev/null >>/var/log/x /bin/first":                                    "first",
		"echo hi":                                                                "echo-hi",
		"[ a = b ] && echo hi":                                                   "echo-hi",
		"'' ; [ a ] ; ''":                                                        "job",
		"# nothing":                                                              "job",
		"/srv/Größe":                                                             "gr-e",
		"'/srv/with space/run me.py' --x":                                        "run-me",
		"/a/" + strings.Repeat("long", 100):                                      strings.Repeat("long", 15),
		"A=1 B=2":                                                                "job",
		"sudo -u www-data /usr/bin/env python3 -m pkg":                           "pkg",
	} {
		if got := commandName(command); got != want || !jobs.ValidName(got) {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

func TestNamesStayWhenLinesMove(t *testing.T) {
	lines := []string{"0 1 * * * /bin/x a", "0 2 * * * /bin/x a", "0 3 * * * /bin/y", "0 1 * * * /bin/x a"}
	names := func(order ...int) map[string]string {
		var text string
		for _, i := range order {
			text += lines[i] + "\n"
		}
		made, err := testCrontab("x", false).Run([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		file, err := jobs.ParseFile("x", made.Text)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, j := range file.Jobs {
			all[j.Name] = j.Schedules[0].Cron + j.Script.Source
		}
		return all
	}
	first := names(0, 1, 2, 3)
	if len(first) != 4 || first["y"] == "" {
		t.Fatal(first)
	}
	for name, what := range names(3, 2, 1, 0) {
		if first[name] != what {
			t.Errorf("%s was %q and is %q", name, first[name], what)
		}
	}
}

func TestScriptsOfOddShellsAreHandedTheCommand(t *testing.T) {
	for _, c := range []struct{ shell, command, interpreter, source string }{
		{"/bin/sh", "a  ", "/bin/sh", "exec </dev/null\na\n"},
		{"/bin/bash", `a \ `, "/bin/bash", "exec </dev/null\na \\ \n"},
		{"/bin/sh", `a\`, "/bin/sh", "exec /bin/sh -c 'a\\' </dev/null\n"},
		{"/usr/bin/fish", "it's", "/bin/sh", `exec /usr/bin/fish -c 'it'\''s' </dev/null` + "\n"},
		{"/opt/my shell", "a%END", "/bin/sh", "exec '/opt/my shell' -c a <<'END_'\nEND\nEND_\n"},
	} {
		interpreter, source := cronScript(c.shell, c.command)
		if interpreter != c.interpreter || source != c.source {
			t.Errorf("%s %s: %s %q", c.shell, c.command, interpreter, source)
		}
	}
}
