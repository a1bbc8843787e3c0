package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Scripts is what is known of running them.
type Scripts struct {
	Off    bool
	Folder *Mount // of --scripts; nil: none is named
	Level  string // how they are kept apart, in a sentence; "": not known
	Err    string // why none can run
	Found  []string
	Missed []string
}

func checkScripts(f *Facts) []Finding {
	const check = "scripts"
	s := &f.Scripts
	switch {
	case s.Off:
		return one(check, OK, "off: this server runs none", "")
	case s.Err != "":
		return one(check, Error, "no script can run: "+s.Err, "mend that, or start with --scripts off")
	case s.Level == "":
		return nil
	case strings.Contains(s.Level, "subreaper: "):
		return one(check, OK, s.Level, "where a script may try to escape, let the server have a cgroup: Delegate=yes in its systemd unit")
	}
	return one(check, OK, s.Level, "")
}

// Interpreters are those that are looked for.
var Interpreters = []string{"sh", "bash", "python3", "node", "ruby", "php", "perl"}

func checkInterpreters(f *Facts) []Finding {
	const check = "interpreters"
	s := &f.Scripts
	if s.Off || len(s.Found)+len(s.Missed) == 0 {
		return nil
	}
	found := "on PATH: " + strings.Join(s.Found, ", ")
	if len(s.Missed) > 0 {
		found += "; not there: " + strings.Join(s.Missed, ", ")
	}
	switch {
	case slices.Contains(s.Missed, "sh"):
		return one(check, Error, found, "install a shell, or start with --scripts off: no script can run without sh")
	case slices.Contains(s.Missed, "bash"):
		return one(check, Warning, found, "install bash: without it a script that names no interpreter runs with sh -e, where a pipe that breaks in the middle goes unseen")
	}
	return one(check, OK, found, "")
}

// Mail is by what mail goes out.
type Mail struct {
	SMTP     bool
	Sendmail string // the program; "": there is none
}

func checkMail(f *Facts) []Finding {
	const check = "mail"
	switch m := f.Mail; {
	case m == nil:
		return nil
	case m.SMTP:
		return one(check, OK, "by --smtp", "")
	case m.Sendmail != "":
		return one(check, OK, "by "+m.Sendmail, "")
	}
	return one(check, OK, "no --smtp and no sendmail: jobs of kind mail are refused when saved", "give --smtp where mail is wanted")
}

// Network is whether this machine can be called by itself.
type Network struct {
	Localhost    []string // addresses of that name
	LocalhostErr string
	V4, V6       string // why none can listen on its loopback address; "": one can
}

func checkNetwork(f *Facts) []Finding {
	const check = "network"
	n := f.Network
	if n == nil {
		return nil
	}
	var wrong []Finding
	add := func(level Level, advice, found string) {
		wrong = append(wrong, Finding{check, level, found, advice})
	}
	if n.V4 != "" {
		add(Error, "ip link set lo up: the server listens and scripts call back there", "nothing can listen on 127.0.0.1: "+n.V4)
	}
	resolves := "localhost is " + strings.Join(n.Localhost, " and ")
	switch {
	case n.LocalhostErr != "":
		add(Warning, "put 127.0.0.1 localhost into /etc/hosts", "the name localhost is not known: "+n.LocalhostErr)
	case !slices.Contains(n.Localhost, "127.0.0.1") && n.V6 != "":
		add(Warning, "put 127.0.0.1 localhost into /etc/hosts", resolves+", and nothing can listen there: "+n.V6)
	}
	if n.V6 != "" {
		resolves += "; no IPv6"
	}
	return orOK(check, wrong, resolves)
}

// Server is who serves the file, and what answers at the address.
type Server struct {
	Held    bool // a process holds the lock of the file
	PID     int  // of that process; 0: not known
	Address string
	Answers bool   // a Nightshift answers there
	Err     string // why nothing, or nothing that can be read, answers
	Ready   string // why it takes no work; "": it does
	Idle    string // why it starts nothing; "": it does
	Version string // "": it was not told: the token opens too little
	DB      string // what it serves; "": likewise
	Told    *bool  // whether people are told of failures; nil: not known
}

func checkServer(f *Facts) []Finding {
	const check = "server"
	s := f.Server
	if s == nil {
		return nil
	}
	who := "a process"
	if s.PID > 0 {
		who = fmt.Sprintf("process %d", s.PID)
	}
	other := s.Answers && s.DB != "" && s.DB != f.DB
	switch {
	case !s.Held && !s.Answers:
		return one(check, OK, "no server serves "+f.DB, "nightshift serve --db "+f.DB+" starts one")
	case !s.Held && s.DB == f.DB:
		return one(check, Error, "the server at "+s.Address+" says that it serves "+f.DB+", and no process of this machine holds its lock",
			"stop it: its lock file was removed, or it is on another machine that shares the folder; a second server could start and damage the file")
	case !s.Held:
		return one(check, OK, "no server serves "+f.DB+"; the one at "+s.Address+" serves another file", "")
	case !s.Answers && s.Err != "":
		return one(check, Error, fmt.Sprintf("%s serves %s, and %s answers nothing: %s", who, f.DB, s.Address, s.Err),
			"name its address with --server; where that is it, the server hangs: see its log")
	case other:
		return one(check, Warning, fmt.Sprintf("%s serves %s, and the server at %s another file, %s", who, f.DB, s.Address, s.DB),
			"name the address of the one that serves it with --server")
	}
	var wrong []Finding
	if s.Ready != "" {
		what := "see its log"
		if strings.Contains(s.Ready, "nightshift resume") {
			what = "look at what is in it, then nightshift resume"
		}
		wrong = append(wrong, Finding{check, Error, "the server at " + s.Address + " takes no work: " + s.Ready, what})
	}
	if s.Idle != "" {
		wrong = append(wrong, Finding{check, Warning, "the server at " + s.Address + " starts nothing: " + s.Idle, "nightshift resume"})
	}
	switch {
	case s.Version == "":
		wrong = append(wrong, Finding{
			check, Warning, "the server at " + s.Address + " does not tell of itself: " + s.Err,
			"give a token that may read with --token or NIGHTSHIFT_TOKEN",
		})
	case s.Version != f.Program.Version:
		wrong = append(wrong, Finding{
			check, Warning,
			"the server at " + s.Address + " is " + s.Version + ", this binary " + f.Program.Version,
			"restart the server where the binary was replaced, or call it with its own",
		})
	}
	return orOK(check, wrong, fmt.Sprintf("%s serves the file at %s, version %s, ready", who, s.Address, s.Version))
}

func checkAlerts(f *Facts) []Finding {
	const check = "alerts"
	switch s := f.Server; {
	case s == nil || s.Told == nil || s.DB != "" && s.DB != f.DB:
		return nil
	case !*s.Told:
		return one(check, Warning, "nobody is told of failures", "nightshift alerts setup slack|email|webhook")
	}
	return one(check, OK, "people are told of failures", "nightshift alerts test tries it")
}
