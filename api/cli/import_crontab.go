package cli

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"nightshift/api/cli/importer"
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
	c := importer.Crontab{
		System: cmd.System || isSystemCrontab(cmd.File), Prefix: cmd.Prefix, Home: cmd.Home, HomeFrom: "--home",
		Zone: cmd.Timezone, ZoneFrom: "--timezone", HomeOf: homeOf,
	}
	if cmd.Home != "" && !filepath.IsAbs(cmd.Home) {
		return usage("--home: want an absolute path")
	}
	if err := checkPrefix(cmd.Prefix); err != nil {
		return err
	}
	if c.Zone == "" {
		c.Zone, c.ZoneFrom = machineZone("/etc")
	}
	if _, err := jobs.LoadZone(c.Zone); err != nil {
		return usage("%s: %w", c.ZoneFrom, err)
	}
	if c.Home == "" && !c.System {
		c.Home, c.HomeFrom = filepath.Clean("/"+os.Getenv("HOME")), "HOME where this was imported"
		if os.Getenv("HOME") == "" {
			c.Home = ""
		}
	}
	return s.importFile(cmd.File, func(name string, data []byte) (*importer.Imported, error) {
		c.Name = name
		return c.Run(data)
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
