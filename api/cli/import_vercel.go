package cli

import (
	"net/url"
	"strings"

	"nightshift/api/cli/importer"
)

type importVercelCmd struct {
	File   string `arg:"" help:"The vercel.json; - is the standard input."`
	URL    string `name:"url" placeholder:"URL" help:"Where the project is deployed, such as https://project.vercel.app."`
	Prefix string `placeholder:"TEXT" help:"What the names of the jobs begin with."`
}

// Help says how crons are moved.
func (importVercelCmd) Help() string {
	return `Prints a job file with a job for each entry of crons, which calls its path as Vercel does. What it cannot
carry over stands there as a comment, with the reason, and is told on the standard error. It asks no server
and changes nothing.

  nightshift import vercel vercel.json --url https://project.vercel.app >jobs.yaml
  nightshift secrets set CRON_SECRET
  nightshift apply -f jobs.yaml --dry-run`
}

// Run prints the job file.
func (cmd importVercelCmd) Run(s *session) error {
	if err := checkPrefix(cmd.Prefix); err != nil {
		return err
	}
	base := strings.TrimSuffix(cmd.URL, "/")
	if u, err := url.Parse(base); base != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		u.Path != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(base, "#") || u.User != nil) {
		return usage("--url: want the address of a project without a path, such as https://project.vercel.app")
	}
	return s.importFile(cmd.File, func(name string, data []byte) (*importer.Imported, error) {
		v := importer.Vercel{Name: name, Base: base, Prefix: cmd.Prefix}
		return v.Run(data)
	})
}
