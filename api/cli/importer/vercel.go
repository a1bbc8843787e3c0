package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nightshift/jobs"
)

// Vercel is a vercel.json that is imported.
type Vercel struct {
	Name   string // of the file, in messages
	Base   string // of the project, "": not given
	Prefix string // of the jobs' names

	data []byte
	out  importWriter
}

// vercelCron is an entry of crons.
type vercelCron struct {
	line           int
	text           string // as it stands
	path, schedule string
	others         []string // members that are not known
	never          bool     // no day of any year matches
	wrong          string
}

// NoProject is where nothing answers: names below invalid are never given out (RFC 2606).
const noProject = "https://your-project.invalid"

// Run imports a vercel.json.
func (v *Vercel) Run(data []byte) (*Imported, error) {
	v.data = bytes.TrimPrefix(data, []byte("\ufeff"))
	crons, err := v.read()
	if err != nil {
		return nil, err
	}
	v.out.defaults = &struct {
		Timeout string         `json:"timeout"`
		Retry   map[string]int `json:"retry"`
	}{"15m", map[string]int{"max_attempts": 1}}
	v.writeHead()
	names := v.names(crons)
	for i, c := range crons {
		v.write(names[i], c)
	}
	made := &Imported{Text: v.out.file(), notes: v.out.notes, noun: "cron"}
	if len(crons) > 0 && v.out.jobs == 0 {
		return nil, made.firstNotes(v.Name)
	}
	return made, nil
}

// names are those of the jobs, by the paths.
func (v *Vercel) names(crons []vercelCron) map[int]string {
	var at []int
	var wanted, of []string
	for i, c := range crons {
		if c.wrong != "" {
			continue
		}
		path, _, _ := strings.Cut(c.path, "?")
		if path = strings.Trim(path, "/"); path == "" {
			path = "index"
		}
		at = append(at, i)
		wanted, of = append(wanted, v.Prefix+nameParts(path)), append(of, c.schedule+"\x00"+c.path)
	}
	names := map[int]string{}
	for i, name := range namesakes(wanted, of) {
		names[at[i]] = name
	}
	return names
}

// read finds the crons.
func (v *Vercel) read() ([]vercelCron, error) {
	var syntax *jobs.SyntaxError
	if err := jobs.ValidJSON(v.data); errors.As(err, &syntax) {
		return nil, &unusable{v.Name, syntax.Line, syntax.Column, "not JSON: " + syntax.Msg}
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", v.Name, err)
	}
	d := json.NewDecoder(bytes.NewReader(v.data))
	if t, _ := d.Token(); t != json.Delim('{') {
		return nil, v.unusable(0, "want an object with crons, as in a vercel.json")
	}
	for d.More() {
		key, _ := d.Token() // it is JSON
		if key == "crons" {
			return v.readList(d)
		}
		var skipped json.RawMessage
		_ = d.Decode(&skipped)
	}
	return nil, v.unusable(0, "it has no crons: there is nothing to import")
}

func (v *Vercel) readList(d *json.Decoder) (crons []vercelCron, err error) {
	at := int(d.InputOffset()) // behind the key
	at += bytes.IndexByte(v.data[at:], ':') + 1
	at += len(v.data[at:]) - len(bytes.TrimLeft(v.data[at:], " \t\r\n"))
	if t, _ := d.Token(); t != json.Delim('[') {
		return nil, v.unusable(int64(at), "crons: want a list of {path, schedule}")
	}
	for d.More() {
		var raw json.RawMessage
		_ = d.Decode(&raw)
		c := vercelCron{line: v.unusable(d.InputOffset()-int64(len(raw)), "").line, text: string(raw)}
		c.parse(raw)
		crons = append(crons, c)
	}
	return crons, nil
}

// unusable is a fault at an offset.
func (v *Vercel) unusable(at int64, msg string) *unusable {
	before := v.data[:min(max(int(at), 0), len(v.data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:])))
	return &unusable{v.Name, line, column, msg}
}

func (c *vercelCron) parse(raw []byte) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		c.wrong = "want {path, schedule}"
		return
	}
	for name, to := range map[string]*string{"path": &c.path, "schedule": &c.schedule} {
		if err := json.Unmarshal(members[name], to); err != nil || *to == "" {
			c.wrong = "want path and schedule, each a text"
		}
		delete(members, name)
	}
	for name := range members {
		c.others = append(c.others, name)
	}
	slices.Sort(c.others)
	switch {
	case c.wrong != "":
	case c.path[0] != '/':
		c.wrong = "path: want it to begin with /"
	case c.schedule[0] == '@':
		c.wrong = "schedule: Vercel knows no words such as @daily: want five fields"
	}
	if c.wrong != "" {
		return
	}
	c.checkSchedule()
}

// checkSchedule wants five fields. A line of another dialect gets the text that names it.
func (c *vercelCron) checkSchedule() {
	_, c.never, _, _ = cutFields(c.schedule)
	_, err := jobs.ParseCron(c.schedule)
	switch foreign := jobs.ForeignCron(c.schedule); {
	case foreign != "":
		c.wrong = "schedule: " + foreign
	case err != nil && !c.never:
		c.wrong = "schedule: " + err.Error()
	case len(strings.Fields(c.schedule)) != len(cronFields):
		c.wrong = "schedule: Vercel reads five fields, of which the first is the minute"
	}
}

// write writes the job of an entry.
func (v *Vercel) write(name string, c vercelCron) {
	v.out.space()
	lines := strings.Split(c.text, "\n")
	if c.wrong != "" {
		v.out.lose(c.line, lines, c.wrong)
		return
	}
	base := v.Base
	if base == "" {
		base = noProject
	}
	inner := jobIndent + "  "
	var text bytes.Buffer
	text.WriteString(jobIndent + yamlKey(name) + ":\n")
	yaml(&text, inner, map[string]any{"webhook": &jobs.Webhook{
		URL: base + asTemplate(c.path), Method: "GET",
		Headers: map[string]string{"Authorization": "Bearer {{ secrets.CRON_SECRET }}"},
	}})
	comment(&text, inner+"    ", "User-Agent: vercel-cron/1.0")
	if !c.never {
		yaml(&text, inner, map[string]any{"schedules": []jobs.Schedule{{
			Cron: strings.Join(strings.Fields(c.schedule), " "), Timezone: "UTC", Overlap: jobs.OverlapAllow,
		}}})
	}
	yaml(&text, inner, map[string]any{"resolve_on_success": true})
	if why := v.out.refused(text.Bytes()); why != "" {
		v.out.lose(c.line, lines, why)
		return
	}
	for _, other := range c.others {
		v.out.note(c.line, "%q is not carried over: Vercel knows path and schedule alone", other)
	}
	if c.never {
		v.out.note(c.line, "%s never comes: the job has no schedule, and is run by hand", c.schedule)
	}
	v.out.job(text.Bytes())
}

func (v *Vercel) writeHead() {
	say := func(texts ...string) { comment(&v.out.head, "", texts...) }
	say("Made of "+v.Name+" by nightshift import vercel. Look it through, take the crons out of the project, then:", "")
	v.out.head.WriteString("#   nightshift secrets set CRON_SECRET\n#   nightshift apply -f THIS-FILE --dry-run\n" +
		"#   nightshift apply -f THIS-FILE\n")
	say("")
	if v.Base == "" {
		say("Put the address of the project in the place of "+noProject+", where nothing answers. "+
			"--url writes it at once.", "")
	}
	say("CRON_SECRET is the project's environment variable of that name: a run waits until the secret is set. Where the "+
		"project has none, take the headers out.", "",
		"As at Vercel: GET, times of UTC, one attempt, no redirect is followed, calls of an entry may overlap. A call has "+
			"15 minutes, more than a function there. Other than at Vercel:", "",
		"- A time missed while the server was down is made up for once, when it is up again. In a schedule "+
			"catch_up: {mode: none} forgets it.",
		"- An answer other than 200 to 299 is a failure, redirects among them.",
		"- A call comes with the headers of Nightshift, and its User-Agent. Where a function looks for Vercel's, take the "+
			"# before User-Agent away.",
		"- A failure is kept until somebody deals with it, or the next success of its entry does (resolve_on_success). "+
			"So that you are told of it: nightshift alerts setup slack, email or webhook.")
}
