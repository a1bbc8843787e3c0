// Nightshift runs jobs: webhooks and scripts, with retries by rule and a durable history, from one
// binary on one SQLite file.
package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"

	"nightshift/api/cli"
	"nightshift/jobs"
	"nightshift/jobs/script"
	"nightshift/jobs/webhook"
	"nightshift/store"
	"nightshift/store/sqlite"
)

// version is set by a release build: -ldflags "-X main.version=1.2.3".
var version = ""

func main() {
	// Between the server and each script stands this binary again: before anything else.
	if script.IsShim() {
		os.Exit(script.ShimMain())
	}
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, cli.Parts{
		Version: buildVersion(), OpenStore: openStore, MakeKinds: makeKinds,
	}))
}

// buildVersion is the release, else the commit this was built from, else "dev".
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			revision = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision == "" {
		return "dev"
	}
	return "dev-" + revision + dirty
}

func openStore(ctx context.Context, path string, log *slog.Logger) (store.Store, error) {
	return sqlite.Open(ctx, path, sqlite.Config{Log: log})
}

func makeKinds(cfg cli.KindConfig) (cli.Kinds, error) {
	private, err := webhook.ParsePrivate(cfg.Private)
	if err != nil {
		return cli.Kinds{}, err
	}
	hooks := webhook.New(webhook.Config{
		Version: cfg.Version, Private: private, Self: webhook.ListensOn(cfg.Listen),
	})
	kinds := cli.Kinds{ByName: map[string]jobs.Kind{jobs.KindWebhook: hooks}, Close: hooks.Close}
	if cfg.NoRun {
		return kinds, nil
	}
	scripts, err := script.New(script.Config{Scripts: cfg.Scripts, TraceOf: jobs.TraceOf})
	if err != nil {
		hooks.Close()
		return cli.Kinds{}, err
	}
	kinds.ByName[jobs.KindScript], kinds.Level = scripts, scripts.Level()
	kinds.Close = func() {
		hooks.Close()
		scripts.Close()
	}
	return kinds, nil
}
