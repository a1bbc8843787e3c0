package importer

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nightshift/jobs"
)

// mailTo is a MAILTO of lines that are carried over.
type mailTo struct {
	line int // of the first of them
	text string
}

// addresses are those of a MAILTO. A name alone is a mailbox of the machine, as it is under cron.
func (m mailTo) addresses() (to []string, local bool) {
	to = strings.FieldsFunc(m.text, func(r rune) bool { return r == ',' || r == ' ' })
	for i := range to {
		if !strings.Contains(to[i], "@") {
			to[i] += "@localhost"
			local = true
		}
		to[i] = asTemplate(to[i])
	}
	return to, local
}

// writeAlerts writes the jobs and alerts that mail failures to those in MAILTO.
func (c *Crontab) writeAlerts() {
	taken := slices.Collect(maps.Values(c.names))
	for _, m := range c.mails {
		name := nameParts("mail", m.text)
		for n := 2; slices.Contains(taken, name); n++ {
			name = nameParts("mail", m.text, strconv.Itoa(n))
		}
		taken = append(taken, name)
		c.writeAlert(m, name)
	}
}

func (c *Crontab) writeAlert(m mailTo, name string) {
	to, local := m.addresses()
	var job bytes.Buffer
	yaml(&job, jobIndent, map[string]any{name: &struct {
		Mail    jobs.Mail      `json:"mail"`
		Timeout string         `json:"timeout"`
		Retry   map[string]int `json:"retry"`
	}{
		jobs.Mail{To: to, Subject: "{{ text(payload, 1) }}", Body: "{{ text(payload) }}"},
		"1m",
		map[string]int{"max_attempts": jobs.DefaultMaxAttempts},
	}})
	c.out.space()
	if why := c.out.refused(job.Bytes()); why != "" {
		c.out.note(m.line, "MAILTO=%s: nobody is told, since %s", m.text, why)
		return
	}
	if local {
		c.out.note(m.line, "MAILTO=%s names a mailbox of this machine, which a mail server elsewhere does not know: "+
			"put an address in its place where the server sends by --smtp", m.text)
	}
	c.out.begin()
	c.out.body.Write(job.Bytes())
	tail := &c.out.tail
	if !c.mailed {
		tail.WriteString("\nalerts:\n")
	}
	c.mailed = true
	yaml(tail, jobIndent, map[string]any{name: &struct {
		On  []string `json:"on"`
		If  string   `json:"if"`
		Run string   `json:"run"`
	}{
		[]string{jobs.EventRunFailed, jobs.EventRunRecovered},
		"labels.mailto == " + string(jobs.AppendJSONString(nil, m.text)), name,
	}})
}
