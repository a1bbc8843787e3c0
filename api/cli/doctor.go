package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"nightshift/api/cli/doctor"
	"nightshift/api/client"
	"nightshift/api/words"
)

type doctorCmd struct {
	DB            string `name:"db" default:"nightshift.db" env:"NIGHTSHIFT_DB" placeholder:"FILE" help:"The database file (${env})."`
	Scripts       string `env:"NIGHTSHIFT_SCRIPTS" placeholder:"DIR|off" help:"As given to serve (${env})."`
	ScriptUser    string `env:"NIGHTSHIFT_SCRIPT_USER" placeholder:"USER" help:"As given to serve (${env})."`
	Workers       int    `default:"64" env:"NIGHTSHIFT_WORKERS" placeholder:"N" help:"As given to serve (${env})."`
	ScriptWorkers int    `env:"NIGHTSHIFT_SCRIPT_WORKERS" placeholder:"N" help:"As given to serve (${env})."`
	SMTP          string `name:"smtp" env:"NIGHTSHIFT_SMTP" placeholder:"URL" help:"As given to serve (${env})."`
	BackupDir     string `env:"NIGHTSHIFT_BACKUP_DIR" placeholder:"DIR" help:"As given to serve (${env})."`
	forceFlag     `embed:""`
	NTP           string `name:"ntp" placeholder:"HOST" help:"Ask this time server how wrong the clock is; left out: nobody outside is asked."`
}

// forceFlag is of serve and doctor.
type forceFlag struct {
	ForceNetworkFilesystem bool `env:"NIGHTSHIFT_FORCE_NETWORK_FILESYSTEM" help:"Serve a file on NFS, SMB, FUSE and the like all the same, where locks and shared memory do not hold and the file may be damaged (${env})."`
}

// Help is the text below that of the flags.
func (doctorCmd) Help() string {
	return "Looks at the file, its folder, the disk, the clock, limits, what runs scripts, and the server that works on the file, " +
		"and says what to do about what is wrong. It works with and without a running server, and changes nothing. " +
		"Exit code 1: something is wrong that should not wait."
}

// answersWithin is how long the server may take for one answer.
const answersWithin = 5 * time.Second

// Run looks, judges and prints.
func (cmd *doctorCmd) Run(s *session) error {
	if cmd.DB == "" {
		return usage("--db: want the path of a file")
	}
	f := doctor.Probe(cmd.place(s))
	doctor.FindServer(f)
	cmd.askServer(s, f)
	cmd.lookInside(s, f)
	if f.Scripts.Level == "" && !f.Scripts.Off {
		cmd.tryScripts(s, f)
	}
	doctor.ProbePrograms(f)
	f.Network = doctor.ProbeNetwork(s.ctx)
	f.Mail = &doctor.Mail{SMTP: cmd.SMTP != "", Sendmail: s.parts.Sendmail()}
	if cmd.NTP != "" {
		if off, err := doctor.AskTime(s.ctx, cmd.NTP, time.Now); err != nil {
			f.Clock.OffErr = err.Error()
		} else {
			f.Clock.Offset = &off
		}
	}
	all := doctor.Examine(f)
	s.printFindings(f.DB, all)
	if doctor.Count(all, doctor.Error) > 0 {
		return failedError{}
	}
	return nil
}

func (cmd *doctorCmd) place(s *session) doctor.Place {
	as := serveCmd{
		DB: cmd.DB, Scripts: cmd.Scripts, Workers: cmd.Workers, ScriptWorkers: cmd.ScriptWorkers, forceFlag: cmd.forceFlag,
		BackupDir: cmd.BackupDir,
	}
	return as.place(s, resolved(cmd.DB))
}

// place is what the checks are to look at for a server with these flags.
func (cmd *serveCmd) place(s *session, db string) doctor.Place {
	p := doctor.Place{
		Now: time.Now(), DB: db, Backups: cmd.backupDir(db),
		NoScripts: cmd.Scripts == "off", Force: cmd.ForceNetworkFilesystem, Keys: os.Getenv("NIGHTSHIFT_KEY") != "",
		Workers: cmd.Workers, ScriptWorkers: cmd.scriptWorkers(),
		Program: doctor.Program{Version: s.parts.Version, SQLite: s.parts.SQLite(), Schema: s.parts.Schema},
	}
	if !p.NoScripts {
		p.Scripts = cmd.Scripts
	}
	return p
}

// askServer asks the server at the address of the flags for what it knows.
func (cmd *doctorCmd) askServer(s *session, f *doctor.Facts) {
	sv := f.Server
	sv.Address = s.remote.Server
	token := s.remote.Token
	if token == "" {
		text, _ := os.ReadFile(tokenPath(f.DB)) // without it the server says so
		token = strings.TrimSpace(string(text))
	}
	if !strings.Contains(sv.Address, "://") {
		sv.Err = "that is no address such as " + defaultServer
		return
	}
	c := client.New(sv.Address, token)
	ctx, cancel := context.WithTimeout(s.ctx, answersWithin)
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		var p *client.Problem
		if !errors.As(err, &p) {
			sv.Err = err.Error()
			return
		}
		sv.Ready = p.Title
		if p.Detail != "" {
			sv.Ready = p.Detail
		}
	}
	sv.Answers = true
	state, err := c.Server(ctx)
	if err != nil {
		sv.Err = words.Clean(err.Error())
		return
	}
	sv.Version, sv.Told = state.Version, &state.Alerts.FailuresTold
	switch {
	case state.Restored != nil:
		sv.Idle = words.Clean(state.Restored.Reason)
	case state.Draining:
		sv.Idle = "it was drained"
	}
	if state.Database != nil {
		sv.DB = state.Database.Path
	}
	if sv.Held && sv.DB == f.DB {
		f.Scripts.Level, f.Scripts.Off = state.Scripts, state.Scripts == ""
		if newest, err := c.Runs(ctx, nil, client.Page{Limit: 1}); err == nil && len(newest.Items) > 0 {
			f.Inside = &doctor.Inside{Newest: newest.Items[0].CreatedAt.Std()}
		}
	}
}

// lookInside reads the file where nobody serves it.
func (cmd *doctorCmd) lookInside(s *session, f *doctor.Facts) {
	if f.Server.Held || f.Inside != nil {
		return
	}
	unread := slices.ContainsFunc(f.Files, func(file doctor.File) bool {
		switch file.Role {
		case doctor.RoleFolder:
			return file.Err != ""
		case doctor.RoleFile:
			return !file.Mode.IsRegular() || file.Deny != "" || file.Err != ""
		}
		return false
	})
	if !unread {
		inside := s.parts.Peek(s.ctx, f.DB)
		f.Inside = &inside
	}
}

// tryScripts gets ready to run scripts, as a start does, to see whether and how they can run.
func (cmd *doctorCmd) tryScripts(s *session, f *doctor.Facts) {
	cfg := KindConfig{Version: s.parts.Version, Private: "allow", Scripts: cmd.Scripts, ScriptUser: cmd.ScriptUser}
	kinds, err := s.parts.MakeKinds(cfg)
	if err != nil {
		f.Scripts.Err = words.Clean(err.Error())
		return
	}
	f.Scripts.Level = kinds.Level
	kinds.Close()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// examination is what is printed as JSON.
type examination struct {
	Database string           `json:"database"`
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Checks   []doctor.Finding `json:"checks"`
}

func (s *session) printFindings(db string, all []doctor.Finding) {
	sum := examination{
		Database: db, Errors: doctor.Count(all, doctor.Error), Warnings: doctor.Count(all, doctor.Warning), Checks: all,
	}
	if s.out.json {
		s.out.value(&sum)
		return
	}
	for _, f := range all {
		s.out.line("%-8s %-15s %s", f.Level, f.Check, words.Clean(f.Found))
		if f.Advice != "" {
			s.out.line("%24s → %s", "", words.Clean(f.Advice))
		}
	}
	s.out.line("\n%s: %s, %s", words.Clean(db), plural(sum.Errors, "error"), plural(sum.Warnings, "warning"))
}
