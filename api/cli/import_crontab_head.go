package cli

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"nightshift/jobs"
)

type importCrontabCmd struct {
	File     string `arg:"" help:"The crontab; - is the standard input."`
	System   bool   `help:"It has a user before each command, as /etc/crontab and the files in /etc/cron.d have, where it is known."`
	Timezone string `placeholder:"ZONE" help:"The zone of lines without CRON_TZ; left out: that of this machine."`
	Home     string `placeholder:"DIR" help:"The home of the crontab's owner, where commands start; left out: yours, and of a system crontab each user's."`
	Prefix   string `placeholder:"TEXT" help:"What the names of the jobs begin with."`
}

// Help says how a crontab is moved.
func (importCrontabCmd) Help() string {
	return `Prints a job file with a job for each line. What it cannot carry over stands there as a comment, with the
reason, and is told on the standard error. It asks no server and changes nothing.

  crontab -l | nightshift import crontab - >jobs.yaml
  nightshift import crontab /etc/cron.d/backup >backup.yaml
  nightshift apply -f jobs.yaml --dry-run`
}

// Run prints the job file.
func (cmd importCrontabCmd) Run(s *session) error {
	c := crontab{
		system: cmd.System || isSystemCrontab(cmd.File), prefix: cmd.Prefix, home: cmd.Home, homeFrom: "--home",
		zone: cmd.Timezone, zoneFrom: "--timezone", homeOf: homeOf,
	}
	if cmd.Home != "" && !filepath.IsAbs(cmd.Home) {
		return usage("--home: want an absolute path")
	}
	if err := checkPrefix(cmd.Prefix); err != nil {
		return err
	}
	if c.zone == "" {
		c.zone, c.zoneFrom = machineZone("/etc")
	}
	if _, err := jobs.LoadZone(c.zone); err != nil {
		return usage("%s: %w", c.zoneFrom, err)
	}
	if c.home == "" && !c.system {
		c.home, c.homeFrom = filepath.Clean("/"+os.Getenv("HOME")), "HOME where this was imported"
		if os.Getenv("HOME") == "" {
			c.home = ""
		}
	}
	return s.importFile(cmd.File, func(name string, data []byte) (*imported, error) {
		c.name = name
		return c.run(data)
	})
}

// isSystemCrontab goes by the path alone: the word behind the fields tells nothing.
func isSystemCrontab(path string) bool {
	full, err := filepath.Abs(path)
	return path != "-" && err == nil && (full == "/etc/crontab" || filepath.Dir(full) == "/etc/cron.d")
}

func homeOf(name string) string {
	if u, err := user.Lookup(name); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return ""
}

// machineZone is the name of the zone that a machine keeps in /etc, and where it says so.
func machineZone(etc string) (zone, from string) {
	localtime := filepath.Join(etc, "localtime")
	if to, err := filepath.EvalSymlinks(localtime); err == nil {
		if _, name, ok := strings.Cut(to, "/zoneinfo/"); ok && knownZone(name) {
			return name, "this machine, /etc/localtime"
		}
	}
	if text, err := os.ReadFile(filepath.Join(etc, "timezone")); err == nil {
		if name := strings.TrimSpace(string(text)); knownZone(name) {
			return name, "this machine, /etc/timezone"
		}
	}
	if _, err := os.Lstat(localtime); err == nil {
		return "UTC", ""
	}
	return "UTC", "this machine, which has no /etc/localtime"
}

func knownZone(name string) bool {
	_, err := jobs.LoadZone(name)
	return name != "" && err == nil
}

// writeHead writes what stands above the jobs: what is other than under cron.
func (c *crontab) writeHead() {
	say := func(texts ...string) { comment(&c.out.head, "", texts...) }
	say("Made of "+c.name+" by nightshift import crontab. Look it through, take the lines out of the crontab, then:", "")
	c.out.head.WriteString("#   nightshift apply -f THIS-FILE --dry-run\n#   nightshift apply -f THIS-FILE\n")
	say("", "As under cron: times, shell, environment, folder, input; one attempt; runs of a line may overlap. "+
		"Other than under cron:", "",
		"- A time missed while the server was down is made up for once, when it is up again. In a schedule "+
			"catch_up: {mode: none} forgets it, as cron does.",
		"- A command that does not exit with 0 has failed; cron does not look. What it prints is the log of its run; "+
			"cron mails it, also of a success.",
		"- When a command has ended, what it left running in the background is ended too, and after 24 h it is "+
			"itself.",
		"- A run that a stop or a crash of the server cut short runs again: retry: {interrupted: fail} lets it fail.")
	if c.hasReboot {
		say("- @reboot is each start of the server, not of the machine.")
	}
	if c.hasUsers {
		say("- As under cron each line runs as its user, for which the server has to run as root. Another refuses this " +
			"file, naming the jobs of others: take out those jobs, or their user where its own may do the work.")
	}
	if !c.system {
		say("- Commands run as the user of the server, or of its --script-user, not as the crontab's owner: script: " +
			"{user: NAME} below defaults makes them NAME's.")
	}
	say("- A failure is kept until somebody deals with it, or the next success of its line does (resolve_on_success).")
	if c.mailed {
		say("- MAILTO: those named there are told of failures, by the jobs and alerts mail-... below. The server sends by " +
			"its --smtp, else by the sendmail of its machine; one that has neither refuses this file: take them out.")
	} else {
		say("- Nobody is told of failures: nightshift alerts setup slack, email or webhook changes that.")
	}
	say("")
	c.sayZone(say)
	c.sayHome(say)
}

func (c *crontab) sayZone(say func(...string)) {
	text := "Times are of " + c.zone + " (" + c.zoneFrom + ")"
	if c.zoneFrom == "" {
		text = "WHICH ZONE THIS MACHINE IS IN IS NOT KNOWN: /etc/localtime does not name it. Times are of UTC; " +
			"--timezone names another"
	}
	if c.hasZones {
		text += ", below CRON_TZ of its zone, as cronie does; Debian's cron passes over CRON_TZ"
	}
	say(text + ".")
}

func (c *crontab) sayHome(say func(...string)) {
	switch {
	case c.home != "":
		say("Commands start in " + c.home + " (" + c.homeFrom + ").")
	case c.system:
		say("Commands start in the home of their user, as it is on this machine.")
	default:
		say("The home of the crontab's owner is not known: commands start in an empty folder. --home names it.")
	}
}
