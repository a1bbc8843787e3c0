// Package cli is the command line: the commands that call a server, and serve, which is one.
//
// It owns flags, what is printed and exit codes. It must not know of concrete stores and kinds:
// main hands them over as Parts.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// commands are all commands.
type commands struct {
	Serve        serveCmd        `cmd:"" help:"Run the server."`
	Apply        applyCmd        `cmd:"" help:"Register the jobs, schedules, policies, queues, dependencies and alerts of files, all or nothing."`
	Export       exportCmd       `cmd:"" help:"Print policies, queues, dependencies, jobs, schedules and alerts as a job file."`
	Schema       schemaCmd       `cmd:"" help:"Print a JSON Schema of job files, for editors."`
	Run          runCmd          `cmd:"" help:"Run a job."`
	Runs         runsCmd         `cmd:"" help:"List or show runs."`
	Logs         logsCmd         `cmd:"" help:"Print what a run, or the newest run of a job, printed."`
	Events       eventsCmd       `cmd:"" help:"List or follow what is worth telling, such as a dependency that is held."`
	Cancel       cancelCmd       `cmd:"" help:"Cancel runs."`
	Requeue      requeueCmd      `cmd:"" help:"Run an ended run again."`
	Groups       groupsCmd       `cmd:"" help:"List or show groups and their members, run one, merge one again."`
	Failures     failuresCmd     `cmd:"" help:"List or show runs that failed, run them again, resolve or ignore them, one or many."`
	Jobs         jobsCmd         `cmd:"" help:"List, show or change jobs."`
	Schedules    schedulesCmd    `cmd:"" help:"List, show or change schedules, what became of their ticks, and previews."`
	Policies     policiesCmd     `cmd:"" help:"List, show or change retry policies."`
	Rules        rulesCmd        `cmd:"" help:"Try rules on failures, told or recorded."`
	Queues       queuesCmd       `cmd:"" help:"List or show queues, drop their limits, pause or resume them."`
	Dependencies dependenciesCmd `cmd:"" help:"List or show what runs share, trip or reset breakers, drop limits, pause or resume."`
	Alerts       alertsCmd       `cmd:"" help:"List or show who is told of what, set up Slack, mail or a webhook, try it."`
	Pause        pauseCmd        `cmd:"" help:"Pause a job, a schedule, a queue or a dependency."`
	Resume       resumeCmd       `cmd:"" help:"Resume what is paused, or the server after a drain or a restore."`
	Secrets      secretsCmd      `cmd:"" help:"List, set or delete secrets, or rotate their key."`
	Tokens       tokensCmd       `cmd:"" help:"List, create or revoke tokens."`
	Sessions     sessionsCmd     `cmd:"" help:"List browsers that have signed in, or end their sessions."`
	Audit        auditCmd        `cmd:"" help:"List who changed what, with the difference."`
	Drain        drainCmd        `cmd:"" help:"Start no attempt until resume; wait until none runs."`
	Backup       backupCmd       `cmd:"" help:"Write a whole, checked copy of the database."`
	Restore      restoreCmd      `cmd:"" help:"Put a backup in the place of the database; what was there is kept."`
	Verify       verifyCmd       `cmd:"" help:"Say whether a database or a backup is whole, and what is in it."`
	Import       importCmd       `cmd:"" help:"Print a job file made of a crontab, or of the crons of a vercel.json."`
	Ready        readyCmd        `cmd:"" help:"Say whether the server takes work: exit 0 where it does."`
	Doctor       doctorCmd       `cmd:"" help:"Say what is wrong with the file, its folder, the disk, the clock and limits, and what to do."`
	Completion   completionCmd   `cmd:"" help:"Print a script by which bash, zsh or fish complete commands, flags and names."`
	Version      versionCmd      `cmd:"" help:"Print the version."`

	Checkpoint checkpointCmd `cmd:"" help:"Inside a script: print or save what the next attempt starts from."`
	Progress   progressCmd   `cmd:"" help:"Inside a script: say how far it is, such as 40/100."`
	Result     resultCmd     `cmd:"" help:"Inside a script: set the result of the run."`
	Fail       failCmd       `cmd:"" help:"Inside a script: say that the attempt has failed, and why."`

	Remote remoteFlags `embed:""`
	JSON   bool        `name:"json" help:"Print JSON."`
}

// remoteFlags say which server to call.
type remoteFlags struct {
	Server string `env:"NIGHTSHIFT_SERVER" default:"http://127.0.0.1:8700" placeholder:"URL" help:"The server to call (${env})."`
	Token  string `env:"NIGHTSHIFT_TOKEN" placeholder:"TOKEN" help:"The token to call it with (${env}); else the file nightshift.db.token."`
}

// remoteOf is what the environment says of them.
func remoteOf(env func(string) string) remoteFlags {
	r := remoteFlags{Server: env("NIGHTSHIFT_SERVER"), Token: env("NIGHTSHIFT_TOKEN")}
	if r.Server == "" {
		r.Server = defaultServer
	}
	return r
}

// session is what a command works with.
type session struct {
	ctx    context.Context
	out    *printer
	stderr io.Writer
	parts  Parts
	remote remoteFlags
}

// newParser reads a command line into cmds.
func newParser(cmds *commands, stdout, stderr io.Writer, exit func(code int)) *kong.Kong {
	parser, err := kong.New(cmds,
		kong.Name("nightshift"),
		kong.Description("Runs jobs: webhooks, scripts, mails and groups of them, with retries by rule and a durable history."),
		kong.Writers(stdout, stderr),
		kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.UsageOnError(),
	)
	if err != nil {
		panic(err) // a mistake in the structs above
	}
	return parser
}

// Main runs the command line args (without the program's name) and gives the exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer, parts Parts) int {
	var cmds commands
	code := -1
	parser := newParser(&cmds, stdout, stderr, func(c int) { code = c })
	if len(args) == 0 {
		args = []string{"--help"}
	}
	s := &session{ctx: ctx, out: newPrinter(stdout, false), stderr: stderr, parts: parts}
	if args[0] == completeWord {
		s.remote = remoteOf(os.Getenv)
		s.complete(parser.Model.Node, args[1:])
		return exitDone
	}
	parsed, err := parser.Parse(numbersAreNoFlags(args))
	if code >= 0 { // --help
		return code
	}
	if err != nil {
		fmt.Fprintf(stderr, "nightshift: %s\nTry %s --help.\n", err, calledAs())
		return exitUsage
	}
	s.out, s.remote = newPrinter(stdout, cmds.JSON), cmds.Remote
	return s.exit(parsed.Run(s))
}

// exit says what went wrong and gives the exit code.
func (s *session) exit(err error) int {
	var usage usageError
	var quiet failedError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &quiet):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(s.stderr, "nightshift: %s\n", err)
		return exitUsage
	}
	if s.out.json {
		problem := &client.Problem{Problem: wire.Problem{
			Type: "about:blank", Title: "The command failed", Detail: err.Error(),
		}}
		errors.As(err, &problem)
		fmt.Fprintf(s.stderr, "%s\n", jobs.AppendJSON(nil, &problem.Problem))
		return exitFailed
	}
	fmt.Fprintf(s.stderr, "nightshift: %s\n", err)
	var ofAttempt attemptError
	switch {
	case errors.As(err, &ofAttempt): // another token or server would be no help
	case client.StatusOf(err) == 401:
		fmt.Fprintln(s.stderr, "Give a token with --token or NIGHTSHIFT_TOKEN, or call from the "+
			"folder of the server's nightshift.db.token.")
	case errors.Is(err, syscall.ECONNREFUSED):
		fmt.Fprintf(s.stderr, "No server answers there. Start one with %s serve, or name another with "+
			"--server or NIGHTSHIFT_SERVER.\n", calledAs())
	}
	return exitFailed
}

// usageError is a mistake in how the command was called.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// failedError ends with exit code 1; all has been said.
type failedError struct{}

func (failedError) Error() string { return "failed" }

// client is the client for the server that the flags name.
func (s *session) client() (*client.Client, error) {
	token := s.remote.Token
	if token == "" {
		text, err := readToken()
		if err != nil {
			return nil, err
		}
		token = text
	}
	return s.clientWith(token)
}

func (s *session) clientWith(token string) (*client.Client, error) {
	if !strings.Contains(s.remote.Server, "://") {
		return nil, usage("--server: want an address such as http://127.0.0.1:8700")
	}
	c := client.New(s.remote.Server, token)
	c.Agent = wire.AgentCLI + s.parts.Version
	return c, nil
}

// readToken reads the token file of the server's database, where it is; else "".
func readToken() (string, error) {
	db := os.Getenv("NIGHTSHIFT_DB")
	if db == "" {
		db = defaultDB
	}
	text, err := os.ReadFile(tokenPath(resolved(db)))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Defaults of flags.
const (
	defaultDB     = "nightshift.db"
	defaultListen = "127.0.0.1:8700"
	defaultServer = "http://" + defaultListen
)

func tokenPath(db string) string { return db + ".token" }

func keyPath(db string) string { return db + ".key" }

// resolved is the path with links followed, so that what lies beside the database is found
// whatever name it is called by. The file itself need not exist.
func resolved(db string) string {
	if full, err := filepath.Abs(db); err == nil {
		db = full
	}
	if real, err := filepath.EvalSymlinks(db); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(db)); err == nil {
		return filepath.Join(dir, filepath.Base(db))
	}
	return db
}

// runID reads an id that was given as an argument.
func runID(text string) (jobs.ID, error) {
	id, err := jobs.ParseID(text)
	if err != nil {
		return id, usage("%q is not the id of a run", text)
	}
	return id, nil
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(s *session) error {
	if s.out.json {
		s.out.value(&struct {
			Version string `json:"version"`
		}{s.parts.Version})
		return nil
	}
	s.out.line("nightshift %s", s.parts.Version)
	return nil
}
