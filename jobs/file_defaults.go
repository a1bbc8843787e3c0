package jobs

import "strings"

const defaultsKey = "defaults"

// fileDefaults are fields of jobs that hold for each job of the file which says nothing else, and the
// time zone of schedules with a cron line which say none.
type fileDefaults struct {
	Job
	Timezone string `json:"timezone"`
}

// FieldHint says where in the defaults a field belongs.
func (*fileDefaults) FieldHint(parent, name string) string {
	return new(Job).FieldHint(parent, name)
}

// findDefaults is where the defaults of a file begin in its text, and their text; 0, nil: it has
// none that could be read.
func findDefaults(text []byte) (at int, defaults []byte) {
	d := newDecoder(text, decodeOptions{})
	defer d.release()
	if !d.find(defaultsKey, -1) {
		return 0, nil
	}
	d.space()
	if at = d.pos; d.peek() != '{' || !d.skip() {
		return 0, nil
	}
	return at, text[at:d.pos]
}

// startFrom fills a job with the defaults, over which its text is then read: fields, and members of
// objects and maps, that the text does not have stay. What is executed is only a default for jobs
// that have the same kind.
func startFrom(defaults []byte, j *Job, text []byte) {
	// What is wrong with them is said where they stand.
	_, _ = decode(defaults, j, decodeOptions{lenient: true, short: shortForms})
	j.Name = ""
	j.dropState()
	if j.Webhook != nil && !says(text, KindWebhook) {
		j.Webhook = nil
	}
	if j.Script != nil && !says(text, KindScript) {
		j.Script = nil
	}
	if j.Mail != nil && !says(text, KindMail) {
		j.Mail = nil
	}
	if j.Group != nil && !says(text, KindGroup) {
		j.Group = nil
	}
	if says(text, KindGroup) { // what is no part of a group is no default for one
		j.Timeout, j.Retry, j.Checkpoint = nil, Retry{}, nil
	}
}

// says reports whether the object that begins a text has a member that is not null.
func says(text []byte, key string) bool {
	d := newDecoder(text, decodeOptions{})
	defer d.release()
	return d.find(key, -1) && d.peek() != 'n'
}

// checkDefaults notes what can be no default. What is wrong with the values of jobs' fields shows in
// the jobs.
func (f *File) checkDefaults(defaults *fileDefaults) {
	wrong := func(field, msg string) {
		line, column := f.at(f.defaults + locate(f.text[f.defaults:], field))
		f.fault(line, column, defaultsKey+"."+field, msg)
	}
	if defaults.Name != "" {
		wrong("name", "want no name: the defaults are for all jobs of the file")
	}
	if _, err := LoadZone(defaults.Timezone); err != nil {
		wrong("timezone", err.Error())
		defaults.Timezone = "" // it is told once, not for each schedule
	}
}

// zone gives the default time zone to schedules with a cron line that say none.
func (doc *fileDocument) zone() {
	give := func(s *Schedule) {
		if s.Cron != "" && s.Timezone == "" {
			s.Timezone = doc.Defaults.Timezone
		}
	}
	for _, j := range doc.Jobs.list {
		for i := range j.Schedules {
			give(&j.Schedules[i])
		}
	}
	for _, s := range doc.Schedules.list {
		give(s)
	}
}

func fromDefaults(location string) bool { return strings.HasPrefix(location, defaultsKey+".") }
