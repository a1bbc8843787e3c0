// Command nightshift runs jobs: one binary, one SQLite file. See README.md.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"time"

	"nightshift/api"
	"nightshift/api/cli"
	"nightshift/api/cli/doctor"
	"nightshift/jobs"
	"nightshift/jobs/mail"
	"nightshift/jobs/script"
	"nightshift/jobs/webhook"
	"nightshift/runtime"
	"nightshift/runtime/otlp"
	"nightshift/store"
	"nightshift/store/sqlite"
)

// version is set by the linker for a release: -ldflags "-X main.version=1.2.3".
var version = ""

// gcPercent lets the heap, which is small whatever the queue holds, grow further between
// collections: about 4 % of the server's time under load for some 20 MiB.
const gcPercent = 200

func main() {
	if script.IsShim() {
		os.Exit(script.ShimMain())
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	parts := cli.Parts{
		Version: versionText(), OpenStore: openStore, MakeKinds: makeKinds, MakeTracer: makeTracer,
		FileSchema: api.FileSchema,
		Files: cli.FileTools{
			Destination: sqlite.Destination, Backup: sqlite.BackupFile, Verify: sqlite.Verify, Restore: restore,
		},
		Peek: peek, Sendmail: mail.Sendmail, SQLite: sqlite.Version, Schema: sqlite.Schema(),
	}
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, parts))
}

// versionText is the version of a release, else the commit that was built.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "dev-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "dev"
}

func openStore(ctx context.Context, cfg cli.StoreConfig) (store.Store, error) {
	return sqlite.Open(ctx, cfg.Path, sqlite.Config{
		NoUpgradeCopy: cfg.NoUpgradeCopy, Log: cfg.Log, Now: jobs.TimeOf(time.Now()), Start: rand.Int64(),
	})
}

func restore(ctx context.Context, backup, db string, now jobs.Time) (store.Verified, string, error) {
	done, err := sqlite.Restore(ctx, backup, db, now)
	return done.Verified, done.Moved, err
}

// peek reads a file that nobody serves.
func peek(ctx context.Context, path string) doctor.Inside {
	p, err := sqlite.Peek(ctx, path)
	inside := doctor.Inside{Schema: p.Schema, Held: string(p.Held)}
	if p.Newest > 0 {
		inside.Newest = time.UnixMilli(p.Newest)
	}
	if err != nil {
		inside.Err = err.Error()
	}
	return inside
}

// makeTracer makes what tells the collector of the environment of runs; nil: it names none.
func makeTracer(ctx context.Context, version string, log *slog.Logger) (runtime.Tracer, func(), error) {
	if !otlp.Wanted(os.Getenv) {
		return nil, nil, nil
	}
	t, err := otlp.New(ctx, version, log)
	if err != nil {
		return nil, nil, err
	}
	return t, t.Close, nil
}

// makeKinds makes the kinds of jobs, one line each.
func makeKinds(cfg cli.KindConfig) (cli.Kinds, error) {
	private, err := webhook.ParsePrivate(cfg.Private)
	if err != nil {
		return cli.Kinds{}, err
	}
	mails, err := mail.New(mail.Config{SMTP: cfg.SMTP, Password: cfg.SMTPPassword, From: cfg.MailFrom})
	if err != nil {
		return cli.Kinds{}, err
	}
	hooks := webhook.New(webhook.Config{
		Version: cfg.Version, Private: private, Self: webhook.ListensOn(cfg.Listen),
	})
	kinds := cli.Kinds{
		ByName: map[string]jobs.Kind{
			jobs.KindWebhook: hooks, jobs.KindScript: scriptsOff{}, jobs.KindMail: mails,
		},
		Close: hooks.Close,
	}
	if cfg.NoScripts {
		return kinds, nil
	}
	scripts, err := script.New(script.Config{
		Scripts: cfg.Scripts, User: cfg.ScriptUser, TraceOf: jobs.TraceOf,
	})
	if err != nil {
		hooks.Close()
		return cli.Kinds{}, fmt.Errorf("get ready to run scripts: %w", err)
	}
	kinds.ByName[jobs.KindScript] = scripts
	kinds.Level = scripts.Level()
	kinds.Close = func() { hooks.Close(); scripts.Close() }
	return kinds, nil
}

// scriptsOff is the kind script of a server that was told to run none.
type scriptsOff struct{}

// Run refuses.
func (scriptsOff) Run(context.Context, *jobs.Call) jobs.Report {
	return jobs.Report{ExitCode: -1, Failure: &jobs.Failure{
		Kind: jobs.FailSpawn, Type: string(jobs.FailSpawn),
		Message: "this server runs no scripts: it was started with --scripts off",
	}}
}
