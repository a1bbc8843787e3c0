package jobs

import (
	"testing"
	"time"
)

// What an end does to a dependency of which one more error opens the breaker, and to one that is
// being probed.
const (
	opens   = "opens it"   // an error that counts; of a probe: held for twice as long
	ends    = "ends a row" // and closes what is probed
	answers = "says it is there, no more"
	silent  = "nothing"
)

func answer(status int) Report {
	return Report{Failure: &Failure{Kind: FailHTTP}, HTTPStatus: status, ExitCode: -1}
}

func failedBy(kind FailureKind) Report { return Report{Failure: &Failure{Kind: kind}, ExitCode: -1} }

func after(r Report, change func(*Report)) Report {
	change(&r)
	return r
}

func exits(code int) Report { return Report{Failure: &Failure{Kind: FailExit}, ExitCode: code} }

var heard = map[string]struct {
	report      Report
	named, host string
}{
	"success":                     {Report{HTTPStatus: 200, ExitCode: -1}, ends, ends},
	"success of a script":         {Report{}, ends, ends},
	"success by its own rule":     {Report{HTTPStatus: 503, ExitCode: -1}, ends, ends},
	"a good slice":                {Report{Continue: true, HTTPStatus: 200, ExitCode: -1}, ends, ends},
	"taken on":                    {Report{Accepted: true, HTTPStatus: 202, ExitCode: -1}, answers, ends},
	"taken on, and failed":        {failedBy(FailReported), silent, silent},
	"taken on, and silent":        {failedBy(FailHeartbeat), silent, silent},
	"timeout":                     {failedBy(FailTimeout), opens, silent},
	"our timeout":                 {Report{Stopped: ErrTimeout, ExitCode: -1}, opens, silent},
	"our timeout within a 200":    {Report{Stopped: ErrTimeout, HTTPStatus: 200, ExitCode: -1}, opens, ends},
	"our timeout of what hung":    {after(failedBy(FailTimeout), func(r *Report) { r.Stopped = ErrTimeout }), opens, silent},
	"our timeout of a script":     {after(exits(1), func(r *Report) { r.Stopped = ErrTimeout }), opens, silent},
	"connection":                  {failedBy(FailConnection), opens, opens},
	"connection lost within 200":  {after(failedBy(FailConnection), func(r *Report) { r.HTTPStatus = 200 }), opens, opens},
	"dns":                         {failedBy(FailDNS), opens, opens},
	"tls":                         {failedBy(FailTLS), silent, silent},
	"smtp":                        {failedBy(FailSMTP), silent, silent},
	"signal":                      {failedBy(FailSignal), silent, silent},
	"spawn":                       {failedBy(FailSpawn), silent, silent},
	"invalid":                     {failedBy(FailInvalid), silent, silent},
	"blocked":                     {failedBy(FailBlocked), silent, silent},
	"crash loop":                  {failedBy(FailCrashLoop), silent, silent},
	"200 that was none":           {answer(200), answers, ends},
	"204 that was none":           {answer(204), answers, ends},
	"299 that was none":           {answer(299), answers, ends},
	"redirect":                    {answer(302), answers, ends},
	"bad request":                 {answer(400), answers, ends},
	"unauthorized":                {answer(401), answers, ends},
	"not found":                   {answer(404), answers, ends},
	"request timeout":             {answer(408), answers, ends},
	"conflict":                    {answer(409), answers, ends},
	"too early":                   {answer(425), answers, ends},
	"too many requests":           {answer(429), silent, silent},
	"499":                         {answer(499), answers, ends},
	"internal error":              {answer(500), opens, ends},
	"bad gateway":                 {answer(502), opens, ends},
	"unavailable":                 {answer(503), opens, opens},
	"gateway timeout":             {answer(504), opens, ends},
	"599":                         {answer(599), opens, ends},
	"no status of HTTP":           {answer(999), silent, ends},
	"500 that cannot be judged":   {after(answer(500), func(r *Report) { r.Failure.Kind = FailInvalid }), opens, ends},
	"exit 1":                      {exits(1), silent, silent},
	"exit 75":                     {exits(75), opens, silent},
	"75 of what did not exit":     {after(failedBy(FailSignal), func(r *Report) { r.ExitCode = 75 }), silent, silent},
	"reported":                    {failedBy(FailReported), silent, silent},
	"reported, worth another try": {after(failedBy(FailReported), retryable(true)), opens, silent},
	"reported, final":             {after(failedBy(FailReported), retryable(false)), silent, silent},
	"exit 1, worth another try":   {after(exits(1), retryable(true)), opens, silent},
	"exit 75, final":              {after(exits(75), retryable(false)), opens, silent},
	"exit 1, asks for a wait":     {after(exits(1), asksFor(time.Minute)), opens, silent},
	"exit 1, final, with a wait": {
		after(after(exits(1), asksFor(time.Minute)), retryable(false)), silent, silent,
	},
	"400, worth another try":         {after(answer(400), retryable(true)), opens, ends},
	"500, final":                     {after(answer(500), retryable(false)), opens, ends},
	"success, worth another try":     {after(Report{HTTPStatus: 200}, retryable(true)), ends, ends},
	"cancelled":                      {Report{Stopped: ErrCancelled}, silent, silent},
	"cancelled within a 500":         {after(answer(500), func(r *Report) { r.Stopped = ErrCancelled }), silent, silent},
	"shutdown":                       {Report{Stopped: ErrShutdown}, silent, silent},
	"shutdown within a connection":   {after(failedBy(FailConnection), func(r *Report) { r.Stopped = ErrShutdown }), silent, silent},
	"shutdown of what would succeed": {Report{Stopped: ErrShutdown, HTTPStatus: 200}, silent, silent},
}

func retryable(yes bool) func(*Report) { return func(r *Report) { r.Retryable = &yes } }

func asksFor(d time.Duration) func(*Report) { return func(r *Report) { r.RetryAfter = &d } }

// dependencyAt is a dependency of which one error more opens the breaker.
func gateOfTest(host bool) *Gate {
	g := &Gate{Kind: GateDependency, Name: "d", Host: host, Breaker: DefaultBreaker()}
	g.State.Failures = g.Breaker.Failures - 1
	return g
}

// probedBy is one that is being probed.
func probedBy(run ID, host bool) *Gate {
	g := gateOfTest(host)
	g.Trip(at-30_000, "", 0)
	g.Take(at, run)
	return g
}

func TestEachEndSaysOfADependencyWhatTheContractSays(t *testing.T) {
	for name, c := range heard {
		t.Run(name, func(t *testing.T) {
			checkHeard(t, SignalOf(&c.report), false, c.named)
			checkHeard(t, SignalOf(&c.report), true, c.host)
		})
	}
}

func TestEndsOfNothingAreNeutral(t *testing.T) {
	for _, s := range []Signal{
		{Ended: true}, // the server died under it
		{Void: true},
		{Ended: true, Kind: FailConnection, HTTPStatus: 503},
		{Void: true, Kind: FailConnection, HTTPStatus: 503},
	} {
		checkHeard(t, s, false, silent)
		checkHeard(t, s, true, silent)
	}
}

func checkHeard(t *testing.T, s Signal, host bool, want string) {
	t.Helper()
	checkClosed(t, s, host, want)
	checkProbed(t, s, host, want)
}

func checkClosed(t *testing.T, s Signal, host bool, want string) {
	t.Helper()
	g := gateOfTest(host)
	event := g.Hear(at, NilID, s)
	wantEvent, phase, failures := "", BreakerClosed, g.Breaker.Failures-1
	switch want {
	case opens:
		wantEvent, phase, failures = EventDependencyOpened, BreakerOpen, g.Breaker.Failures
	case ends:
		failures = 0
	}
	if st := g.State; event != wantEvent || st.Phase != phase || st.Failures != failures {
		t.Errorf("%+v, host %t: %q, %s after %d errors: want %q, %s after %d",
			s, host, event, st.Phase, st.Failures, wantEvent, phase, failures)
	}
}

func checkProbed(t *testing.T, s Signal, host bool, want string) {
	t.Helper()
	run := testIDs(1)[0]
	g := probedBy(run, host)
	event := g.Hear(at, run, s)
	wantEvent, phase, probe := "", BreakerOpen, at+30_000
	switch want {
	case opens:
		probe = at + 60_000
	case ends, answers:
		wantEvent, phase, probe = EventDependencyClosed, BreakerClosed, 0
	}
	if s.Void {
		probe = at
	}
	if st := g.State; event != wantEvent || st.Phase != phase || st.ProbeAt != probe || st.Probe != NilID {
		t.Errorf("%+v, host %t, as a probe: %q, %s, next probe at %d: want %q, %s, %d",
			s, host, event, st.Phase, st.ProbeAt, wantEvent, phase, probe)
	}
}

func TestSignalsReadWell(t *testing.T) {
	for want, r := range map[string]Report{
		"success":                        {HTTPStatus: 200},
		"HTTP 503":                       answer(503),
		"exit 75":                        exits(75),
		"timeout":                        {Stopped: ErrTimeout, HTTPStatus: 200},
		"connection":                     after(failedBy(FailConnection), func(r *Report) { r.HTTPStatus = 200 }),
		"dns":                            failedBy(FailDNS),
		"an error that the job reported": after(failedBy(FailReported), retryable(true)),
	} {
		if got := SignalOf(&r).String(); got != want {
			t.Errorf("%+v reads %q, want %q", r, got, want)
		}
	}
}
