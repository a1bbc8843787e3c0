package importer

// writeHead writes what stands above the jobs: what is other than under cron.
func (c *Crontab) writeHead() {
	say := func(texts ...string) { comment(&c.out.head, "", texts...) }
	say("Made of "+c.Name+" by nightshift import crontab. Look it through, take the lines out of the crontab, then:", "")
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
	if !c.System {
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

func (c *Crontab) sayZone(say func(...string)) {
	text := "Times are of " + c.Zone + " (" + c.ZoneFrom + ")"
	if c.ZoneFrom == "" {
		text = "WHICH ZONE THIS MACHINE IS IN IS NOT KNOWN: /etc/localtime does not name it. Times are of UTC; " +
			"--timezone names another"
	}
	if c.hasZones {
		text += ", below CRON_TZ of its zone, as cronie does; Debian's cron passes over CRON_TZ"
	}
	say(text + ".")
}

func (c *Crontab) sayHome(say func(...string)) {
	switch {
	case c.Home != "":
		say("Commands start in " + c.Home + " (" + c.HomeFrom + ").")
	case c.System:
		say("Commands start in the home of their user, as it is on this machine.")
	default:
		say("The home of the crontab's owner is not known: commands start in an empty folder. --home names it.")
	}
}
