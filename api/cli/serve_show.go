package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"

	"nightshift/api"
	"nightshift/api/words"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

func (cmd *serveCmd) scriptWorkers() int {
	if cmd.ScriptWorkers > 0 {
		return cmd.ScriptWorkers
	}
	return 2 * goruntime.NumCPU()
}

func serverBy(rt *runtime.Runtime) store.By { return store.By{Actor: serverActor, Now: rt.Now()} }

// apply registers what the files of --apply hold.
func (sv *serving) apply() ([]store.SavedJob, error) {
	in := api.ChangesOf(sv.set.Documents)
	in.Set = api.DefaultSet
	saved, err := sv.rt.Save(sv.s.ctx, in, serverBy(sv.rt))
	if faults := api.SaveFaults(err); faults != nil {
		return nil, sv.set.placed(faults)
	}
	if err != nil {
		return nil, fmt.Errorf("apply %s: %w", sv.cmd.Apply, err)
	}
	return saved.Jobs, nil
}

// tellUnreachable warns where jobs stand whose receivers cannot call back. Those of --apply are told of
// as they are saved.
func (sv *serving) tellUnreachable() error {
	names, err := sv.rt.Unreachable(sv.s.ctx)
	if sv.set != nil {
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.ContainsFunc(sv.set.Jobs, func(j *jobs.Job) bool { return j.Name == name })
		})
	}
	if n := len(names); n > 0 {
		sv.log.Warn("jobs wait for callbacks to an address of this machine alone: give --url, by which their receivers "+
			"reach the server", "callback", sv.base, "jobs", strings.Join(names[:min(n, 20)], " "), "count", n)
	}
	return err
}

const quickstart = "examples/quickstart.yaml"

// greet says where the server is: as lines for people on a terminal, else in the log.
func (sv *serving) greet(saved []store.SavedJob) {
	out := sv.s.out
	if !out.term {
		sv.log.Info("serving", "version", sv.s.parts.Version, "url", sv.base,
			"listen", sv.ln.Addr().String(), "database", sv.db, "scripts", sv.scripts(),
			"token", sv.tokenPlace(), "registered", len(saved))
		if sv.token.made { // to the standard output, for a log is kept and read by others
			out.line("Sign in once, within 30 minutes: %s", sv.signInLink())
		}
		return
	}
	registered := ""
	if len(saved) > 0 {
		registered = fmt.Sprintf("%d jobs of %s", len(saved), sv.cmd.Apply)
	}
	out.fields(
		"nightshift", sv.s.parts.Version,
		"address", sv.base,
		"database", sv.db,
		"token", sv.tokenPlace(),
		"scripts", sv.scripts(),
		"registered", registered,
		"dashboard", sv.signInLink(),
	)
	out.line("\nTry in another terminal, in this folder:\n")
	if sv.base != defaultServer {
		out.line("  export NIGHTSHIFT_SERVER=%s", sv.base)
	}
	if sv.db != resolved(defaultDB) {
		out.line("  export NIGHTSHIFT_DB=%s", quoted(sv.db))
	}
	program := calledAs()
	if len(saved) > 0 {
		out.line("  %s run %s --wait", program, saved[0].Job.Name)
	} else if _, err := os.Stat(quickstart); err == nil {
		out.line("  %s apply -f %s", program, quickstart)
	}
	out.line("  %s runs", program)
	if sv.token.file != "" {
		out.line(`  curl -H "Authorization: Bearer $(cat %s)" %s/v1/runs`, quoted(sv.token.file), sv.base)
	}
	out.line("")
}

// signInLink is a link by which whoever sees it may sign in once, as a token that may do everything; else where the
// dashboard is.
func (sv *serving) signInLink() string {
	name := sv.adminToken()
	if name == "" {
		return sv.base
	}
	link, err := sv.srv.Link(sv.s.ctx, name, serverBy(sv.rt))
	if err != nil {
		sv.log.Warn("there is no link to sign in", "error", err)
		return sv.base
	}
	return link
}

// adminToken is a token that may do everything: that of the environment, of the first start, or any; "": there is
// none.
func (sv *serving) adminToken() string {
	all, err := sv.st.Tokens(sv.s.ctx)
	if err != nil {
		sv.log.Warn("the tokens cannot be read", "error", err)
	}
	name := ""
	for i := range all {
		t := &all[i]
		if isAdmin(t) && (name == "" || t.Name == envToken || t.Name == firstToken && name != envToken) {
			name = t.Name
		}
	}
	return name
}

func (sv *serving) scripts() string {
	if sv.kinds.Level == "" {
		return "off"
	}
	return sv.kinds.Level
}

func (sv *serving) tokenPlace() string {
	switch {
	case sv.token.env:
		return "NIGHTSHIFT_TOKEN of the environment"
	case sv.token.made:
		return sv.token.file + " (made just now: it may do everything)"
	case sv.token.file != "":
		return sv.token.file
	}
	return "made earlier; no file holds one (NIGHTSHIFT_TOKEN in the server's environment sets one)"
}

// show follows some runs for the terminal.
type show struct {
	out  *printer
	mine map[jobs.ID]bool // that have not ended
	wide int              // of the longest name
}

// runAll makes one run of each job of --apply.
func (sv *serving) runAll() (*show, error) {
	v := &show{out: sv.s.out, mine: map[jobs.ID]bool{}}
	reqs := make([]jobs.Request, len(sv.set.Jobs))
	for i, j := range sv.set.Jobs {
		reqs[i] = jobs.Request{Job: j.Name, Trigger: jobs.TriggerCLI}
		v.wide = max(v.wide, len(j.Name))
	}
	subs, err := sv.rt.Submit(sv.s.ctx, false, reqs)
	if err != nil {
		return nil, fmt.Errorf("run the jobs of %s: %w", sv.cmd.Apply, err)
	}
	shown := map[string]bool{}
	for _, sub := range subs {
		v.mine[sub.ID], shown[sub.ID.String()] = true, true
		v.out.line("%-*s  run %s", v.wide, sub.Job, sub.ID)
	}
	if sv.s.out.term && isTerminal(sv.s.stderr) {
		sv.shown.Store(&shown)
	}
	return v, nil
}

// event prints a line for each attempt that ended: what came of it and why.
func (v *show) event(e runtime.Event) {
	if e.Run == nil || !v.mine[e.Run.ID] || e.Attempt == nil {
		return
	}
	v.out.line("%-*s  attempt %d  %s",
		v.wide, e.Run.Job, e.Attempt.Number, words.Clean(attemptText(e.Attempt)))
	if !e.Run.State.Terminal() {
		return
	}
	if delete(v.mine, e.Run.ID); len(v.mine) == 0 {
		v.out.line("All runs have ended. The server goes on; Ctrl-C stops it.")
	}
}

// attemptText says how an attempt ended, how long it took, and what was decided.
func attemptText(a *jobs.Attempt) string {
	text := fmt.Sprintf("%s in %s", a.Outcome, words.Took(a.StartedAt, a.FinishedAt))
	if a.Error != nil && a.Outcome != jobs.OutcomeSucceeded {
		text += ": " + words.Short(words.Error(a.Error), 100)
	}
	if a.Decision != nil {
		text += " → " + words.Decision(a.Decision)
	}
	return text
}

// hushed is a log without the ends of attempts that a show tells of on the same terminal.
type hushed struct {
	slog.Handler
	shown *atomic.Pointer[map[string]bool] // ids of runs; nil: none
}

// Handle drops the end of an attempt of a run that is shown: such a line says how long it took.
func (h hushed) Handle(ctx context.Context, r slog.Record) error {
	shown := h.shown.Load()
	if shown == nil {
		return h.Handler.Handle(ctx, r)
	}
	ours, end := false, false
	r.Attrs(func(a slog.Attr) bool {
		ours = ours || a.Key == "run" && (*shown)[a.Value.String()]
		end = end || a.Key == "took"
		return !ours || !end
	})
	if ours && end {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the handler hushed.
func (h hushed) WithAttrs(attrs []slog.Attr) slog.Handler {
	return hushed{h.Handler.WithAttrs(attrs), h.shown}
}

// WithGroup keeps the handler hushed.
func (h hushed) WithGroup(name string) slog.Handler {
	return hushed{h.Handler.WithGroup(name), h.shown}
}
