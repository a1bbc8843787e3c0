package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"nightshift/api"
	"nightshift/api/cli/doctor"
	"nightshift/api/words"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// Parts is what only main knows: concrete stores and kinds.
type Parts struct {
	Version   string
	OpenStore func(context.Context, StoreConfig) (store.Store, error)
	MakeKinds func(KindConfig) (Kinds, error)
	// MakeTracer tells a collector of runs; nil where the environment names none. close sends the rest.
	MakeTracer func(ctx context.Context, version string, log *slog.Logger) (t runtime.Tracer, close func(), err error)
	Files      FileTools
	// FileSchema is the JSON Schema of job files.
	FileSchema func() ([]byte, error)

	// What doctor tells of.
	Peek     func(ctx context.Context, path string) doctor.Inside // of a file that nobody serves
	Sendmail func() string                                        // the machine's; "": there is none
	SQLite   func() string                                        // the version that is built in
	Schema   int64                                                // the newest that is known
}

// StoreConfig is what the flags say of the database file.
type StoreConfig struct {
	Path          string
	NoUpgradeCopy bool // --upgrade-without-copy
	Log           *slog.Logger
}

// KindConfig is what the flags say of kinds.
type KindConfig struct {
	Version    string
	Listen     netip.AddrPort // the server itself, which webhooks never call
	Private    string         // --webhook-private
	Scripts    string         // folder of the scripts named by path; "": none
	NoScripts  bool           // none runs at all
	ScriptUser string         // whom they run as whose job names nobody; "": the server's user
	Log        *slog.Logger

	SMTP, SMTPPassword, MailFrom string // --smtp, its user's password, --mail-from
}

// Kinds are the kinds of jobs the server executes.
type Kinds struct {
	ByName map[string]jobs.Kind
	Level  string // in a sentence: how scripts are kept apart; "": there are none
	Close  func()
}

type serveCmd struct {
	DB            string        `name:"db" default:"nightshift.db" env:"NIGHTSHIFT_DB" placeholder:"FILE" help:"The database file (${env})."`
	Listen        string        `default:"127.0.0.1:8700" env:"NIGHTSHIFT_LISTEN" placeholder:"ADDR" help:"Where to listen, ${default} unless told (${env}). A socket that systemd hands over counts instead."`
	URL           string        `name:"url" env:"NIGHTSHIFT_URL" placeholder:"URL" help:"Base of links and callbacks, as others reach the server (${env})."`
	Scripts       string        `env:"NIGHTSHIFT_SCRIPTS" placeholder:"DIR|off" help:"Folder of scripts that jobs name by path; off: no scripts at all (${env})."`
	ScriptUser    string        `env:"NIGHTSHIFT_SCRIPT_USER" placeholder:"USER" help:"Whom scripts run as whose job names no user; the server's own user unless told (${env})."`
	Apply         string        `env:"NIGHTSHIFT_APPLY" placeholder:"FILE" help:"Register what a job file holds, or a folder of them, before taking work (${env})."`
	RunAll        bool          `env:"NIGHTSHIFT_RUN_ALL" help:"Make one run of each job of --apply and show what becomes of them (${env})."`
	LogLevel      logLevel      `default:"info" env:"NIGHTSHIFT_LOG_LEVEL" placeholder:"LEVEL" help:"debug, info, warn or error (${env})."`
	Workers       int           `default:"64" env:"NIGHTSHIFT_WORKERS" placeholder:"N" help:"Webhooks at a time (${env})."`
	ScriptWorkers int           `env:"NIGHTSHIFT_SCRIPT_WORKERS" placeholder:"N" help:"Scripts at a time; 0: 2 for each core (${env})."`
	ShutdownGrace jobs.Duration `default:"30s" env:"NIGHTSHIFT_SHUTDOWN_GRACE" placeholder:"DURATION" help:"How long attempts may go on after SIGTERM (${env})."`
	WebhookPriv   string        `name:"webhook-private" default:"allow" env:"NIGHTSHIFT_WEBHOOK_PRIVATE" placeholder:"allow|deny|LIST" help:"Whether webhooks may call private addresses (${env})."`
	SMTP          string        `name:"smtp" env:"NIGHTSHIFT_SMTP" placeholder:"URL" help:"Mail server, such as smtp://user@mail.example.com:587 or smtps://mail.example.com, its password in NIGHTSHIFT_SMTP_PASSWORD; ?tls=none sends in clear. Else the machine's sendmail (${env})."`
	MailFrom      string        `env:"NIGHTSHIFT_MAIL_FROM" placeholder:"ADDRESS" help:"Sender of mail whose job names none (${env})."`
	HeartbeatURL  string        `name:"heartbeat-url" env:"NIGHTSHIFT_HEARTBEAT_URL" placeholder:"URL" help:"Called every minute while the server is well, so that somebody notices when it is not (${env})."`
	MaxUnfinished int           `default:"10000000" env:"NIGHTSHIFT_MAX_UNFINISHED" placeholder:"N" help:"How many runs that have not ended there may be, ${default} unless told: past it new ones are refused with 429, but for those that the server makes itself (${env})."`
	Resume        bool          `env:"NIGHTSHIFT_RESUME" help:"Let a database go that is held, for it was restored or its path did not serve it last (${env})."`
	SnapshotEvery everyFlag     `default:"5m" env:"NIGHTSHIFT_SNAPSHOT_EVERY" placeholder:"DURATION|off" help:"How often backups/latest.db is published at most, where something was written; at least 20 times as long apart as one takes (${env})."`
	BackupEvery   everyFlag     `default:"24h" env:"NIGHTSHIFT_BACKUP_EVERY" placeholder:"DURATION|off" help:"How often a backup is kept under a name with its time, ${default} unless told (${env})."`
	BackupKeep    int           `default:"7" env:"NIGHTSHIFT_BACKUP_KEEP" placeholder:"N" help:"How many of these are kept, ${default} unless told (${env})."`
	BackupDir     string        `env:"NIGHTSHIFT_BACKUP_DIR" placeholder:"DIR" help:"Folder of backups; backups beside the database unless told (${env})."`
	KeepLogs      keepFlag      `env:"NIGHTSHIFT_KEEP_LOGS" placeholder:"SIZE" help:"What attempts have printed is kept up to this size, such as 2GiB, and the oldest goes first; unless told it is kept as long as its run (${env})."`
	KeepRuns      keepFlag      `env:"NIGHTSHIFT_KEEP_RUNS" placeholder:"SIZE" help:"Runs that have ended are kept up to this size, and those that ended first go first, sooner than retain says; never one whose failure is open, nor of a group that has not ended (${env})."`
	KeepEvents    keepFlag      `env:"NIGHTSHIFT_KEEP_EVENTS" placeholder:"SIZE" help:"Events are kept up to this size, and the oldest go first, sooner than after 90 days (${env})."`
	UpgradeNoCopy bool          `name:"upgrade-without-copy" env:"NIGHTSHIFT_UPGRADE_WITHOUT_COPY" help:"Change an older file's schema without keeping a copy of it as backups/before-schema-N.db, for which there must be room (${env})."`
	forceFlag     `embed:""`
	TrustedProxy  []string `env:"NIGHTSHIFT_TRUSTED_PROXY" placeholder:"CIDR" help:"Proxies whose X-Forwarded-* count (${env})."`

	proxies []netip.Prefix
}

// Validate checks the flags as far as they can be without opening anything.
func (cmd *serveCmd) Validate() error {
	if cmd.RunAll && cmd.Apply == "" {
		return errors.New("--run-all: needs --apply")
	}
	if cmd.DB == "" {
		return errors.New("--db: want the path of a file")
	}
	// Without this an empty NIGHTSHIFT_LISTEN would listen everywhere.
	if _, port, err := net.SplitHostPort(cmd.Listen); err != nil || port == "" {
		return errors.New("--listen: want an address and a port, such as 127.0.0.1:8700")
	}
	if cmd.Workers < 1 || cmd.Workers > 10_000 {
		return errors.New("--workers: want 1 to 10000")
	}
	if cmd.MaxUnfinished < 1 {
		return errors.New("--max-unfinished: want 1 or more")
	}
	if cmd.ScriptWorkers < 0 || cmd.ScriptWorkers > 10_000 {
		return errors.New("--script-workers: want 1 to 10000, or 0 for 2 for each core")
	}
	if cmd.BackupKeep < 1 || cmd.BackupKeep > 10_000 {
		return errors.New("--backup-keep: want 1 to 10000; --backup-every off keeps none")
	}
	if cmd.URL != "" {
		u, err := url.Parse(cmd.URL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") ||
			u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return errors.New("--url: want an address such as https://jobs.example.com")
		}
	}
	if cmd.HeartbeatURL != "" {
		if err := checkHeartbeat(cmd.HeartbeatURL); err != nil {
			return err
		}
	}
	for _, text := range cmd.TrustedProxy {
		p, err := prefixOf(text)
		if err != nil {
			return fmt.Errorf("--trusted-proxy: %q is neither an address nor a range such as "+
				"10.0.0.0/8", text)
		}
		cmd.proxies = append(cmd.proxies, p)
	}
	return nil
}

func prefixOf(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

// Run serves until a signal, or an error after which only a restart helps.
func (cmd *serveCmd) Run(s *session) error {
	sv := &serving{cmd: cmd, s: s}
	sv.log = slog.New(hushed{newLogHandler(s.stderr, slog.Level(cmd.LogLevel)), &sv.shown})
	defer sv.close()
	if err := sv.meetSupervisor(); err != nil {
		return err
	}
	if err := sv.open(); err != nil {
		return err
	}
	return sv.run()
}

// serving is a server from its start to its end.
type serving struct {
	cmd *serveCmd
	s   *session
	log *slog.Logger

	db    string // the resolved path
	base  string // of links
	ln    net.Listener
	taken bool // another server goes on with ln: it was handed over
	sup   *supervisor
	st    store.Store
	kinds Kinds
	trace func() // ends the telling of traces; nil: none are told
	rt    *runtime.Runtime
	srv   *api.Server
	token tokenState
	set   *fileSet
	shown atomic.Pointer[map[string]bool] // see hushed
}

// open gets everything ready; close gives back what it took.
func (sv *serving) open() (err error) {
	cmd, ctx := sv.cmd, sv.s.ctx
	if cmd.Apply != "" {
		if sv.set, err = readFiles([]string{cmd.Apply}, os.Stdin); err != nil {
			return err
		}
	}
	if sv.taken {
		cmd.Listen = sv.ln.Addr().String()
	} else if sv.ln, err = net.Listen("tcp", cmd.Listen); err != nil {
		return fmt.Errorf("listen on %s: %w", cmd.Listen, err)
	}
	local := "http://" + sv.address()
	if sv.base = strings.TrimRight(cmd.URL, "/"); sv.base == "" {
		sv.base = local
	}
	sv.db = resolved(cmd.DB)
	facts := doctor.Probe(cmd.place(sv.s, sv.db))
	if refusal := facts.Folder.Refusal(); refusal != "" && !facts.Force {
		return errors.New(refusal)
	}
	if sv.st, err = sv.s.parts.OpenStore(ctx, StoreConfig{
		Path: sv.db, NoUpgradeCopy: cmd.UpgradeNoCopy, Log: sv.log,
	}); err != nil {
		return err
	}
	sv.tellWrong(facts)
	keys, err := loadKeys(keyPath(sv.db), os.Getenv("NIGHTSHIFT_KEY"))
	if err != nil {
		return err
	}
	if sv.token, err = bootstrap(ctx, sv.st, sv.db, os.Getenv("NIGHTSHIFT_TOKEN")); err != nil {
		return err
	}
	listen, _ := netip.ParseAddrPort(sv.ln.Addr().String())
	if sv.kinds, err = sv.s.parts.MakeKinds(sv.kindConfig(listen)); err != nil {
		return err
	}
	var workers [store.Pools]int
	workers[store.PoolWebhook] = cmd.Workers
	workers[store.PoolScript] = cmd.scriptWorkers()
	tracer, endTrace, err := sv.s.parts.MakeTracer(ctx, sv.s.parts.Version, sv.log)
	if err != nil {
		return err
	}
	sv.trace = endTrace
	sv.rt, err = runtime.New(ctx, runtime.Config{
		Store: sv.st, Kinds: sv.kinds.ByName, Log: sv.log, Version: sv.s.parts.Version,
		Keys: keys.roots, SaveKeys: keys.save, Workers: workers, Grace: cmd.ShutdownGrace.Std(),
		Uptime: runtime.MachineUptime, Disk: runtime.DiskOf(filepath.Dir(sv.db)),
		Keep:      cmd.keep(),
		Heartbeat: heartbeatTo(cmd.HeartbeatURL, sv.s.parts.Version),
		Tracer:    tracer, Backups: cmd.backups(sv.db), MaxUnfinished: cmd.MaxUnfinished,
	})
	if err != nil {
		return err
	}
	sv.rt.ServeAt(sv.base, local)
	sv.srv, err = api.New(ctx, api.Config{
		Runtime: sv.rt, Log: sv.log, Listen: cmd.Listen, URL: sv.base, Version: sv.s.parts.Version,
		Proxies: cmd.proxies, Handover: sv.taken, Scripts: sv.kinds.Level,
	})
	return err
}

// everyFlag is a duration, or off: 0.
type everyFlag time.Duration

// UnmarshalText reads it.
func (e *everyFlag) UnmarshalText(text []byte) error {
	if string(text) == "off" {
		*e = 0
		return nil
	}
	var d jobs.Duration
	if err := d.UnmarshalText(text); err != nil || d <= 0 {
		return fmt.Errorf("want a duration such as 5m, or off, got %q", words.Short(string(text), 40))
	}
	*e = everyFlag(d.Std())
	return nil
}

func (cmd *serveCmd) backupDir(db string) string {
	if cmd.BackupDir != "" {
		if full, err := filepath.Abs(cmd.BackupDir); err == nil { // it is told to others
			return full
		}
		return cmd.BackupDir
	}
	return filepath.Join(filepath.Dir(db), "backups")
}

// backups is where copies of a database go, and when.
func (cmd *serveCmd) backups(db string) runtime.BackupConfig {
	dir := cmd.backupDir(db)
	if cmd.SnapshotEvery == 0 && cmd.BackupEvery == 0 {
		return runtime.BackupConfig{}
	}
	// Its disk can be asked once it is there; that it is made is seen to at the start.
	return runtime.BackupConfig{
		Dir: dir, Snapshot: time.Duration(cmd.SnapshotEvery), Every: time.Duration(cmd.BackupEvery), Keep: cmd.BackupKeep,
		Disk: runtime.DiskOf(dir),
	}
}

func (sv *serving) kindConfig(listen netip.AddrPort) KindConfig {
	cfg := KindConfig{
		Version: sv.s.parts.Version, Listen: listen, Private: sv.cmd.WebhookPriv, Log: sv.log,
		SMTP: sv.cmd.SMTP, SMTPPassword: os.Getenv("NIGHTSHIFT_SMTP_PASSWORD"), MailFrom: sv.cmd.MailFrom,
	}
	if cfg.NoScripts = sv.cmd.Scripts == "off"; !cfg.NoScripts {
		cfg.Scripts, cfg.ScriptUser = sv.cmd.Scripts, sv.cmd.ScriptUser
	}
	return cfg
}

// address is where the server can be called on this machine.
func (sv *serving) address() string {
	host, port, err := net.SplitHostPort(sv.ln.Addr().String())
	if err != nil {
		return sv.ln.Addr().String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// run serves until it is told to stop.
func (sv *serving) run() error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if err := sv.tellUnreachable(); err != nil {
		return err
	}
	var saved []store.SavedJob
	if sv.set != nil {
		var err error
		if saved, err = sv.apply(); err != nil {
			return err
		}
	}
	events, stopEvents := sv.rt.Live()
	defer stopEvents()
	if cmd := sv.cmd; cmd.Resume && sv.rt.Restored() != nil {
		if _, err := sv.rt.Resume(sv.s.ctx, false, serverBy(sv.rt)); err != nil {
			return fmt.Errorf("--resume: %w", err)
		}
	}
	sv.rt.Start()
	served := make(chan error, 1)
	go func() { served <- sv.srv.Serve(sv.ln) }()
	sv.sup.follow(sv.ready, sv.rt.Turning)
	sv.greet(saved)
	var shown *show
	if sv.cmd.RunAll {
		var err error
		if shown, err = sv.runAll(); err != nil {
			return errors.Join(err, sv.stop(nil))
		}
	}
	for {
		select {
		case e := <-events:
			if shown != nil {
				shown.event(e)
			}
		case sig := <-signals:
			sv.log.Info("stopping", "signal", sig.String(), "grace", sv.cmd.ShutdownGrace.String())
			return sv.stop(signals)
		case <-sv.s.ctx.Done():
			return sv.stop(signals)
		case err := <-sv.rt.Fatal():
			sv.abandon()
			return fmt.Errorf("the server must restart to find out what is on disk: %w", err)
		case err := <-served:
			return errors.Join(err, sv.stop(nil))
		}
	}
}
