package importer

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"nightshift/jobs"
)

// cronSettings are what lines of a crontab set for those after them.
type cronSettings struct {
	env    map[string]string
	zone   string
	home   string
	spread *jobs.Duration

	badZone string // why the zone is none: what follows must not run in another
}

// defaultPath is cron's, where the crontab has none.
const defaultPath = "/usr/bin:/bin"

var envName1 = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// set takes a line that sets a variable.
func (c *Crontab) set(i int) {
	text := c.lines[i].text
	name, value, _ := parseEnv(text)
	if why := c.setting(i+1, name, value); why != "" {
		c.out.lose(i+1, []string{text}, why)
	}
}

// setting takes a variable, or says why not.
func (c *Crontab) setting(line int, name, value string) (why string) {
	switch {
	case !envName1.MatchString(name):
		return "the environment of a script has names of letters, digits and _ alone"
	case strings.HasPrefix(name, "NIGHTSHIFT_"):
		return "names that begin with NIGHTSHIFT_ are set by the server"
	case !utf8.ValidString(value):
		return "it is not UTF-8, which a job file has to be"
	}
	switch name {
	case "LOGNAME":
		return "cron does not let a crontab set it"
	case "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING":
		return "it is about cron's mails, which Nightshift does not send"
	case "CRON_TZ":
		return c.setZone(value)
	case "RANDOM_DELAY":
		return c.setSpread(value)
	case "SHELL":
		if value == "" {
			return "want the path of a shell"
		}
	case "HOME":
		if !path.IsAbs(value) {
			return "want an absolute path: cron cannot go to another"
		}
	case "MAILTO":
		if value != "" && !mailLabel(value) {
			c.out.note(line, "MAILTO is too long for a label, or holds what is not printable: there is no alert for it")
		}
	}
	c.env[name] = value
	return ""
}

// setZone takes cronie's zone of the lines that follow.
func (c *Crontab) setZone(value string) (why string) {
	if value == "" {
		c.cronSettings.zone, c.badZone = c.Zone, ""
		return ""
	}
	c.hasZones = true
	c.cronSettings.zone, c.badZone = value, ""
	if _, err := jobs.LoadZone(value); err != nil {
		c.badZone = err.Error()
	}
	return c.badZone
}

// setSpread takes cronie's RANDOM_DELAY, in minutes.
func (c *Crontab) setSpread(value string) (why string) {
	n, err := strconv.Atoi(value)
	spread := time.Duration(n) * time.Minute
	switch {
	case err != nil || n < 0 || n > int(jobs.MaxSpread/time.Minute):
		return fmt.Sprintf("want whole minutes from 0 to %d", jobs.MaxSpread/time.Minute)
	case n == 0:
		c.spread = nil
	default:
		c.spread = new(jobs.Duration(spread))
	}
	return ""
}

// mailLabel reports whether a MAILTO can be a label, by which an alert finds the jobs.
func mailLabel(value string) bool {
	return value != "" && len(value) <= jobs.MaxLabelValue &&
		!strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError })
}

// defaults are the settings before the first line.
func (c *Crontab) defaults() any {
	script := jobs.Script{Interpreter: []string{defaultShell}, Dir: c.Home, Env: c.initial()}
	for name, value := range script.Env {
		script.Env[name] = asTemplate(value)
	}
	return &struct {
		Timeout string         `json:"timeout"`
		Retry   map[string]int `json:"retry"`
		Script  jobs.Script    `json:"script"`
	}{"24h", map[string]int{"max_attempts": 1}, script}
}

// initial is the environment before the first line.
func (c *Crontab) initial() map[string]string {
	env := map[string]string{"SHELL": defaultShell, "PATH": defaultPath}
	if c.Home != "" {
		env["HOME"] = c.Home
	}
	return env
}

// script is what a line runs, as far as it is other than the defaults.
func (c *Crontab) script(e *cronEntry) *jobs.Script {
	shell := defaultShell
	if s := c.env["SHELL"]; s != "" {
		shell = s
	}
	interpreter, source := cronScript(shell, e.command)
	s := jobs.Script{Source: source, User: e.user, Env: map[string]string{}}
	if interpreter != defaultShell {
		s.Interpreter = []string{interpreter}
	}
	before := c.initial()
	for name, value := range c.env {
		if before[name] != value && (name != "MAILTO" || value != "") {
			s.Env[name] = asTemplate(value)
		}
	}
	if home := c.env["HOME"]; home != "" {
		s.Dir = home
	} else {
		s.Dir = c.homeOfUser(e.user) // which is its HOME too
	}
	return &s
}

// homeOfUser is where the lines of a user of a system crontab start; "": not known, or there is none.
func (c *Crontab) homeOfUser(user string) string {
	if user == "" || c.Home != "" {
		return ""
	}
	return c.HomeOf(user)
}

// asTemplate writes a text so that as a template it gives that text.
func asTemplate(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if two := text[i:min(i+2, len(text))]; two == "{{" || two == "}}" {
			b.WriteString(`{{ "` + two + `" }}`)
			i += 2
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// knownUsers are users of whose name there is no program.
var knownUsers = strings.Fields("root www-data nobody daemon www apache postgres mailman munin amavis ubuntu debian ec2-user")

// fileHints are notes on how the lines of the file end.
func (c *Crontab) fileHints(i int) {
	if c.carriage > 0 && i+1 >= c.carriage {
		c.out.note(c.carriage, "the line ends with a carriage return, as files of Windows do. Cron hands it to the command; "+
			"here it is left out, on all lines")
		c.carriage = 0
	}
	if c.openEnd && i == len(c.lines)-1 {
		c.out.note(i+1, "the last line does not end with a newline: cron refuses the file, or passes over the line")
	}
}

// hints are notes on a line that is carried over.
func (c *Crontab) hints(i int) {
	e := &c.lines[i].entry
	line := i + 1
	if word, rest := cutWord(e.command); !c.System && rest != "" && slices.Contains(knownUsers, word) {
		c.out.note(line, "the command is %q. Where this is a system crontab, with a user before the command, "+
			"import it with --system", word)
	}
	if e.quiet {
		c.out.note(line, "the - before it, which keeps a line out of cronie's log, is left out")
	}
	if len(e.command) > 998 {
		c.out.note(line, "the command has more than 998 characters: Debian's cron refuses it, others cut it off")
	}
	if e.never {
		c.out.note(line, "%s never comes: the job has no schedule, and is run by hand", e.schedule)
	}
	if e.user != "" && c.env["HOME"] == "" && c.Home == "" && c.HomeOf(e.user) == "" {
		c.out.note(line, "the home of %s is not known on this machine: give the script a dir, else it starts in an "+
			"empty folder; where there is no such user, the server refuses the job", e.user)
	}
}
