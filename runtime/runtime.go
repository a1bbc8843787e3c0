// Package runtime executes: it submits runs, gives them to workers when they are due, decides
// what becomes of them and keeps house.
//
// It owns every goroutine, the clock and the randomness; what is decided lies in jobs, what is
// kept in store, what is executed in the kinds it is given. It must not know which those are.
package runtime

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	randv2 "math/rand/v2"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// Defaults of Config.
const (
	DefaultWebhookWorkers = 64
	DefaultMailWorkers    = 4
	DefaultGrace          = 30 * time.Second
)

// groupWorkers start groups, which takes no longer than working out what their members get.
const groupWorkers = 2

// Config is what a Runtime is made of. Store and Kinds are needed, other zero values work.
type Config struct {
	Store store.Store
	Kinds map[string]jobs.Kind // by jobs.KindWebhook and so on
	Log   *slog.Logger         // nil: none
	// Version is that of the program, for metrics.
	Version string
	Keys    [][]byte // KeySize each: the first seals secrets and signs, all open; none: one that lives as long as the process
	// SaveKeys replaces the keys that the next start is given, whole or not at all; nil: they are not
	// ours to change.
	SaveKeys func([][]byte) error
	Workers  [store.Pools]int // 0: 64 webhooks, 2 × cores scripts, 4 mails
	Grace    time.Duration    // what attempts may take at a stop; 0: 30 s
	// Uptime tells when the wall clock was set while nothing ran; nil: that is not noticed.
	Uptime Uptime
	// Disk tells how full the disk of the database is; nil: nobody is told when it is low.
	Disk func() (jobs.Disk, error)
	// Heartbeat tells somebody that the server is well, each minute while it is; nil: nobody.
	Heartbeat func(context.Context) error
	Tracer    Tracer // nil: runs are not traced
	// Keep is how many bytes are kept at most of a sort; one that is not in it has no bound.
	Keep    map[store.KeptKind]int64
	Backups BackupConfig
	// MaxUnfinished is how many runs that have not ended there may be when somebody makes another one; 0: any
	// number. What the server makes itself is always made: ticks, chains, members, merges, alerts.
	MaxUnfinished int
}

// Runtime owns all goroutines.
type Runtime struct {
	cfg   Config
	store store.Store
	log   *slog.Logger
	ids   *jobs.IDs
	plans plans

	alerts  alerts
	metrics *Metrics
	backups backups

	secrets  *Secrets
	prepared preparedSpecs
	served   served
	hub      hub

	active    actives
	launching sync.Mutex // held from a claim until what it gave out is in active
	ends      ends
	groups    groupEnds
	notes     notes
	waits     waits
	orders    orders
	waited    []store.WaitingRun // when the last process ended, until Start
	leases    [store.Pools]chan store.Lease
	poke      chan struct{} // something other than the store wants the dispatcher's attention
	fatal     chan error

	draining   atomic.Bool
	restored   atomic.Pointer[store.Restored] // the file is held; nil: it is not
	resuming   sync.Mutex
	begun      bool  // Start was called
	keepTold   bool  // tellOver was called
	floor      int64 // Seq of the newest run there ever was when the process began; 0: there was none
	diskFull   atomic.Bool
	clock      clock
	heartbeat  time.Duration // how often the dispatcher shows that it is well though nothing is due
	houseEvery time.Duration
	synced     chan struct{} // closed once the first claim has moved times to what the clock shows
	lastTurn   atomic.Int64  // of the dispatcher: as clock.ran
	lastWork   atomic.Int64  // of anything that wrote
	health     health

	tickPoke chan struct{} // something wants the ticker's attention
	tickBy   atomic.Int64  // by when the ticker will have come round: as clock.ran
	// tickFails is why it comes round and decides nothing; nil: it decides.
	tickFails atomic.Pointer[error]
	setBack   atomic.Bool   // the clock was, and the ticker has not taken that in
	longAt    atomic.Int64  // a jobs.Time: when a run will have taken long; 0: none is known
	beats     chan struct{} // capacity 1: a heartbeat is due
	settling  settling

	stop       context.CancelFunc // ends the dispatcher, the ticker and the upkeep
	stopping   context.Context
	end        context.CancelFunc // ends the keeping of output, after the last attempt
	over       context.Context
	base       context.Context // of attempts
	dispatcher sync.WaitGroup
	workers    sync.WaitGroup
	upkeep     sync.WaitGroup
}

// New reads what it needs and decides about the runs of a process that died. Nothing starts
// before Start.
func New(ctx context.Context, cfg Config) (*Runtime, error) {
	if cfg.Workers[store.PoolWebhook] <= 0 {
		cfg.Workers[store.PoolWebhook] = DefaultWebhookWorkers
	}
	if cfg.Workers[store.PoolScript] <= 0 {
		cfg.Workers[store.PoolScript] = 2 * goruntime.NumCPU()
	}
	if cfg.Workers[store.PoolMail] <= 0 {
		cfg.Workers[store.PoolMail] = DefaultMailWorkers
	}
	if cfg.Workers[store.PoolGroup] <= 0 {
		cfg.Workers[store.PoolGroup] = groupWorkers
	}
	if cfg.Grace <= 0 {
		cfg.Grace = DefaultGrace
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	floor, err := cfg.Store.Floor(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the newest id: %w", err)
	}
	r := &Runtime{
		cfg: cfg, store: cfg.Store, log: cfg.Log, ids: jobs.NewIDs(floor, random64),
		poke: make(chan struct{}, 1), tickPoke: make(chan struct{}, 1), beats: make(chan struct{}, 1), synced: make(chan struct{}),
		fatal: make(chan error, 1), heartbeat: heartbeat,
		houseEvery: houseEvery, floor: floor,
		base: context.WithoutCancel(ctx),
	}
	r.store.UseIDs(r.ids)
	r.clock.begin(cfg.Uptime, time.Now())
	r.plans.store, r.plans.log = cfg.Store, cfg.Log
	if r.secrets, err = newSecrets(ctx, &r.cfg, r.wrote); err != nil {
		return nil, err
	}
	r.setBack.Store(true) // while nothing ran, nobody saw it
	r.hub.init()
	r.store.OnEvents(r.hub.changedEvents)
	r.metrics = newMetrics(r)
	r.alerts.init()
	r.ends.init()
	r.groups.init()
	r.notes.init()
	r.waits.init()
	r.orders.init()
	r.active.init()
	for pool, n := range cfg.Workers {
		r.leases[pool] = make(chan store.Lease, n)
	}
	r.stopping, r.stop = context.WithCancel(r.base)
	r.over, r.end = context.WithCancel(r.base)
	held, err := r.store.Restored(ctx)
	if err != nil {
		return nil, fmt.Errorf("read whether the file is held: %w", err)
	}
	r.restored.Store(held)
	if err := r.startClock(ctx); err != nil {
		return nil, fmt.Errorf("read what the clocks showed: %w", err)
	}
	if held == nil { // else when it is let go: until then it is as it was
		if err := r.recover(ctx); err != nil {
			return nil, fmt.Errorf("recover runs of the last process: %w", err)
		}
	}
	if r.waited, err = r.store.Waiting(ctx); err != nil {
		return nil, fmt.Errorf("read which runs wait for their callback: %w", err)
	}
	return r, nil
}

func random64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return binary.LittleEndian.Uint64(b[:])
}

// Start starts workers, dispatcher, ticker and upkeep.
func (r *Runtime) Start() {
	r.lastTurn.Store(int64(r.clock.ran()))
	r.tickBy.Store(int64(r.clock.ran()))
	r.lastWork.Store(int64(r.clock.ran()))
	for pool := range r.leases {
		for range r.cfg.Workers[pool] {
			r.workers.Go(func() { r.worker(r.leases[pool]) })
		}
	}
	r.waitAgain(r.waited)
	r.waited = nil
	r.dispatcher.Go(r.dispatch)
	r.upkeep.Go(r.tellCascades)
	r.upkeep.Go(r.keepNotes)
	r.upkeep.Go(r.flushLogs)
	r.resuming.Lock()
	defer r.resuming.Unlock()
	r.begun = true
	if h := r.restored.Load(); h != nil {
		r.log.Error("the database is held: nothing starts, no tick is decided and nobody is told until nightshift "+
			"resume (or --resume)", "why", RestoredText(h), "since", h.Since)
		return
	}
	r.firstBackup()
	r.startUpkeep()
}

// Fatal gives the error after which the process must exit and recover by a start.
func (r *Runtime) Fatal() <-chan error { return r.fatal }

func (r *Runtime) die(err error) {
	select {
	case r.fatal <- err:
	default:
	}
}

// Store is for reads that need nothing of the runtime.
func (r *Runtime) Store() store.Store { return r.store }

// Secrets are the values that jobs name.
func (r *Runtime) Secrets() *Secrets { return r.secrets }

// Now is the runtime's clock: that of the wall as the store knows it. Where it was set just now, all
// waits are moved along first, with the next claim.
func (r *Runtime) Now() jobs.Time {
	now, _ := r.clock.now()
	return now
}

// wrote notes a write; an unknown commit ends the process.
func (r *Runtime) wrote(err error) error {
	r.lastWork.Store(int64(r.clock.ran()))
	if errors.Is(err, store.ErrUnknown) {
		r.die(err)
	}
	return err
}

// Wrote notes a write to the store that was made past the runtime: the newest backup is behind then too.
func (r *Runtime) Wrote(err error) error { return r.wrote(err) }

// jitter draws for backoffs.
func jitter() float64 { return randv2.Float64() }
