package importer

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"nightshift/jobs"
)

// maxImportedJobs is how many a job file may hold.
const maxImportedJobs = 10_000

// Crontab is a crontab that is imported.
type Crontab struct {
	Name   string // of the file, in messages
	System bool   // it has a user column
	Prefix string // of the jobs' names

	Zone     string // of the machine, "": not known
	ZoneFrom string // where that is known from
	Home     string // of a user crontab's owner, "": not known
	HomeFrom string
	HomeOf   func(user string) string // "": not known

	lines []cronLine
	names map[int]string // of jobs, by line
	out   importWriter
	cronSettings

	carriage int  // the first line that ends with \r\n
	openEnd  bool // the last line does not end

	hasUsers, hasReboot, hasZones bool
	mails                         []mailTo // of MAILTO, in order
	mailed                        bool     // an alert is made for some of them
}

// cronLine is a line of a crontab.
type cronLine struct {
	text  string // without blanks before it and the line end
	sort  cronSort
	entry cronEntry
	wrong error    // why cron would not take it
	about []string // of an entry: the comment above it
	spent bool     // a comment that became a description
}

type cronSort int

const (
	cronBlank cronSort = iota
	cronComment
	cronEnv
	cronCommand
	cronWrong
)

// Run imports a crontab.
func (c *Crontab) Run(data []byte) (*Imported, error) {
	if err := c.read(data); err != nil {
		return nil, err
	}
	count := 0
	for i := range c.lines {
		if c.lines[i].sort == cronCommand {
			count++
		}
		if count > maxImportedJobs {
			return nil, &unusable{c.Name, i + 1, 0, fmt.Sprintf("want at most %d lines that run a command, as a job file "+
				"holds no more jobs: split it", maxImportedJobs)}
		}
	}
	c.describe()
	c.nameJobs()
	c.cronSettings = cronSettings{env: map[string]string{}, zone: c.Zone, home: c.Home}
	c.out.defaults = c.defaults()
	for i := range c.lines {
		c.write(i)
		if c.out.body.Len() > jobs.MaxFile {
			return nil, fmt.Errorf("%s: what comes of it is larger than a job file may be: split it", c.Name)
		}
	}
	c.writeAlerts()
	c.writeHead()
	made := &Imported{Text: c.out.file(), notes: c.out.notes, noun: "line"}
	if lost := slices.ContainsFunc(made.notes, func(n importNote) bool { return n.lost }); lost && c.out.jobs == 0 {
		return nil, made.firstNotes(c.Name)
	}
	return made, nil
}

// read cuts the file into lines.
func (c *Crontab) read(data []byte) error {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if i := strings.IndexByte(text, 0); i >= 0 {
		return &unusable{
			file: c.Name, line: 1 + strings.Count(text[:i], "\n"),
			msg: "it holds a NUL byte: want a text file in UTF-8",
		}
	}
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		c.openEnd = !ended
		if strings.HasSuffix(line, "\r") && c.carriage == 0 {
			c.carriage = len(c.lines) + 1
		}
		line = strings.TrimRight(line, "\r")
		c.lines = append(c.lines, c.classify(strings.TrimLeft(line, blanks)))
	}
	return nil
}

func (c *Crontab) classify(text string) cronLine {
	l := cronLine{text: text}
	switch {
	case strings.Trim(text, cSpace) == "":
		l.sort = cronBlank
		return l
	case text[0] == '#':
		l.sort = cronComment
		return l
	}
	if _, _, ok := parseEnv(text); ok {
		l.sort = cronEnv
		return l
	}
	l.sort = cronCommand
	if l.entry, l.wrong = parseCronEntry(text, c.System); l.wrong == nil && !utf8.ValidString(text) {
		l.wrong = fmt.Errorf("it is not UTF-8, which a job file has to be")
	}
	if l.wrong != nil {
		l.sort = cronWrong
	}
	return l
}

// columnHead is the comment that names the columns, as crontab writes it into new files.
var columnHead = regexp.MustCompile(`(?i)^\W*m(in(ute)?s?)?\W+h(ours?|r)?\W.*command\W*$`)

// describe makes the comments right above a line its description. Lines that are commented out, and
// the names of the columns, are none.
func (c *Crontab) describe() {
	var above []int
	for i := range c.lines {
		l := &c.lines[i]
		switch {
		case l.sort == cronComment && c.isText(l.text):
			above = append(above, i)
			continue
		case l.sort == cronCommand:
			c.describeBy(l, above)
		}
		above = nil
	}
}

func (c *Crontab) describeBy(l *cronLine, above []int) {
	var about []string
	for _, i := range above {
		text := strings.Trim(strings.TrimLeft(c.lines[i].text, "#"), cSpace+"-=*#")
		if text != "" {
			about = append(about, escaped(text))
		}
	}
	if len(about) == 0 || len(strings.Join(about, " ")) > jobs.MaxDescription {
		return
	}
	l.about = about
	for _, i := range above {
		c.lines[i].spent = true
	}
}

// isText reports whether a comment is one for people.
func (c *Crontab) isText(comment string) bool {
	text := strings.TrimLeft(strings.TrimLeft(comment, "#"), blanks)
	if columnHead.MatchString(text) {
		return false
	}
	if _, err := parseCronEntry(text, c.System); err == nil {
		return false
	}
	name, _, ok := parseEnv(text)
	return !ok || strings.ContainsAny(name, cSpace) || name != strings.ToUpper(name)
}

// nameJobs names the jobs by their commands.
func (c *Crontab) nameJobs() {
	var at []int
	var wanted, of []string
	for i, l := range c.lines {
		if l.sort != cronCommand {
			continue
		}
		command, _ := splitPercent(l.entry.command)
		at = append(at, i)
		wanted = append(wanted, c.Prefix+commandName(command))
		of = append(of, l.entry.schedule+"\x00"+l.entry.user+"\x00"+l.entry.command)
	}
	c.names = map[int]string{}
	for i, name := range namesakes(wanted, of) {
		c.names[at[i]] = name
	}
}

// write writes what comes of a line.
func (c *Crontab) write(i int) {
	l := &c.lines[i]
	switch l.sort {
	case cronBlank:
		c.out.space()
	case cronComment:
		if !l.spent {
			c.out.begin()
			c.out.body.WriteString(strings.TrimRight(jobIndent+escaped(l.text), blanks) + "\n")
		}
	case cronEnv:
		c.set(i)
	case cronCommand:
		c.writeJob(i)
	case cronWrong:
		c.out.lose(i+1, []string{l.text}, l.wrong.Error())
	}
}

// writeJob writes the job of a line, or why there is none.
func (c *Crontab) writeJob(i int) {
	l := &c.lines[i]
	text := c.job(i)
	why := ""
	if c.badZone != "" && l.entry.schedule != "@reboot" {
		why = "CRON_TZ before it: " + c.badZone
	} else {
		why = c.out.refused(text)
	}
	if why != "" {
		c.out.lose(i+1, append(slices.Clone(l.about), l.text), why)
		return
	}
	c.fileHints(i)
	c.hints(i)
	c.out.job(text)
	c.hasUsers = c.hasUsers || l.entry.user != ""
	c.hasReboot = c.hasReboot || l.entry.schedule == "@reboot"
	if mail := c.env["MAILTO"]; mailLabel(mail) &&
		!slices.ContainsFunc(c.mails, func(m mailTo) bool { return m.text == mail }) {
		c.mails = append(c.mails, mailTo{i + 1, mail})
	}
}

// job is the text of a line's job.
func (c *Crontab) job(i int) []byte {
	l := &c.lines[i]
	var text bytes.Buffer
	text.WriteString(jobIndent + yamlKey(c.names[i]) + ":\n")
	inner := jobIndent + "  "
	if len(l.about) > 0 {
		yaml(&text, inner, map[string]string{"description": strings.Join(l.about, "\n")})
	}
	if mail := c.env["MAILTO"]; mailLabel(mail) {
		yaml(&text, inner, map[string]any{"labels": map[string]string{"mailto": mail}})
	}
	yaml(&text, inner, map[string]any{"script": c.script(&l.entry)})
	if !l.entry.never {
		yaml(&text, inner, map[string]any{"schedules": []jobs.Schedule{c.schedule(&l.entry)}})
	}
	yaml(&text, inner, map[string]any{"resolve_on_success": true})
	return text.Bytes()
}

// schedule is when a line runs its command.
func (c *Crontab) schedule(e *cronEntry) jobs.Schedule {
	s := jobs.Schedule{Cron: e.schedule, Overlap: jobs.OverlapAllow, Spread: c.spread}
	if s.Timezone = c.cronSettings.zone; s.Cron == "@reboot" {
		s.Timezone, s.Spread = "", nil
	}
	return s
}
