package cli

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/api/words"
	"nightshift/jobs"
)

// namesWithin is how long names may take: who has pressed Tab waits for them.
const namesWithin = time.Second

// manyNames and manyRuns bound how many are offered.
const (
	manyNames = 1000
	manyRuns  = 100
)

// source says what may stand as a value: words, or what the shell knows.
type source struct {
	kind  string // anyFile or anyFolder; "": words
	words func(*session, *place) []candidate
}

// sources are by command and name of an argument or flag, else by that name alone.
var sources = map[string]source{
	"job": asked(jobNames), "schedule": asked(scheduleNames), "queue": asked(queueNames),
	"dependency": asked(dependencyNames), "policy": asked(policyNames), "alert": asked(alertNames),
	"run": asked(runIDs(nil)), "group": asked(groupIDs), "failure": asked(failureIDs),
	"run|job": asked(jobNames, runIDs(nil)), "what": {words: pausable},
	"secrets set name": asked(secretNames), "secrets delete name": asked(secretNames),
	"tokens create name": {}, "tokens set name": asked(tokenNames), "tokens revoke name": asked(tokenNames),
	"sessions end id": asked(sessionIDs), "sessions link token": asked(tokenNames),
	"cancel run":         asked(runIDs([]string{"scheduled", "queued", "running", "retrying", "waiting"})),
	"runs run-now run":   asked(runIDs([]string{"scheduled", "retrying"})),
	"requeue run":        asked(runIDs([]string{"failed", "cancelled", "succeeded"})),
	"runs delete run":    asked(runIDs([]string{"failed", "cancelled", "succeeded"})),
	"tokens create jobs": asked(jobNames), "tokens set jobs": asked(jobNames),

	"state":     fixed("scheduled", "queued", "running", "retrying", "waiting", "succeeded", "failed", "cancelled"),
	"status":    fixed("open", "will_retry", "requeued", "resolved", "ignored"),
	"trigger":   fixed("api", "cli", "schedule", "catch_up", "inbound", "chain", "group", "requeue", "alert"),
	"scope":     fixed("read", "enqueue", "operate", "admin"),
	"log-level": fixed("debug", "info", "warn", "error"),
	"error-kind": fixed("timeout", "connection", "dns", "tls", "http", "smtp", "exit", "signal", "memory", "heartbeat",
		"spawn", "reported", "invalid", "blocked", "crash_loop", "shutdown", "lost", "group", "merge"),
	"events type":         fixed(jobs.EventTypes...),
	"audit kind":          fixed("job", "schedule", "policy", "dependency", "queue", "alert", "secret", "token", "session", "run", "server"),
	"timezone":            fixed(jobs.ZoneNames()...),
	"webhook-private":     fixed("allow", "deny"),
	"serve apply":         {kind: anyFile},
	"scripts":             {kind: anyFolder},
	"rules check error":   {kind: anyFile},
	"import vercel url":   {},
	"alerts setup job":    {},
	"file":                {kind: anyFile},
	"rules":               {kind: anyFile},
	"db":                  {kind: anyFile},
	"home":                {kind: anyFolder},
	"backup-dir":          {kind: anyFolder},
	"dest":                {kind: anyFile},
	"backup":              {kind: anyFile},
	"checkpoint set json": {},
}

// sourceOf finds what may stand as a value of a command.
func sourceOf(node *kong.Node, value *kong.Value) source {
	var path []string
	for n := node; n != nil && n.Type != kong.ApplicationNode; n = n.Parent {
		path = append([]string{n.Name}, path...)
	}
	for _, key := range []string{strings.Join(append(path, value.Name), " "), value.Name} {
		if from, known := sources[key]; known {
			return from
		}
	}
	return source{}
}

func fixed(all ...string) source {
	return source{words: func(*session, *place) []candidate { return plainWords(all) }}
}

func plainWords(all []string) []candidate {
	list := make([]candidate, len(all))
	for i, word := range all {
		list[i].word = word
	}
	return list
}

// lookup asks a server for words.
type lookup func(ctx context.Context, c *client.Client) ([]candidate, error)

// asked is what a server answers in time; nothing where it does not. Names are sorted, runs come newest first.
func asked(all ...lookup) source {
	return source{words: func(s *session, at *place) (list []candidate) {
		ctx, cancel := context.WithTimeout(s.ctx, namesWithin)
		defer cancel()
		return s.answers(ctx, at, all...)
	}}
}

func (s *session) answers(ctx context.Context, at *place, all ...lookup) (list []candidate) {
	if at.server != "" {
		s.remote.Server = at.server
	}
	if at.token != "" {
		s.remote.Token = at.token
	}
	c, err := s.client()
	if err != nil {
		return nil
	}
	for _, ask := range all {
		found, err := ask(ctx, c)
		if err != nil {
			return list
		}
		list = append(list, found...)
	}
	return list
}

// pausable are jobs, and the kinds of what else can be paused; behind a kind its names.
func pausable(s *session, at *place) []candidate {
	ctx, cancel := context.WithTimeout(s.ctx, namesWithin)
	defer cancel()
	kinds := map[string]lookup{
		"job/": jobNames, "schedule/": scheduleNames, "queue/": queueNames, "dependency/": dependencyNames,
	}
	if kind, _, given := strings.Cut(at.typed, "/"); given {
		names := kinds[kind+"/"]
		if names == nil {
			return nil
		}
		list := s.answers(ctx, at, names)
		for i := range list {
			list[i].word = kind + "/" + list[i].word
		}
		return list
	}
	list := s.answers(ctx, at, jobNames)
	for kind := range kinds {
		list = append(list, candidate{word: kind})
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return strings.Compare(a.word, b.word) })
	return list
}

// listed makes candidates of a page.
func listed[T any](items []T, err error, one func(T) candidate) ([]candidate, error) {
	list := make([]candidate, len(items))
	for i := range items {
		list[i] = one(items[i])
		list[i].help = oneLine(words.Clean(list[i].help))
	}
	return list, err
}

// named is listed, sorted by word.
func named[T any](items []T, err error, one func(T) candidate) ([]candidate, error) {
	list, err := listed(items, err, one)
	slices.SortFunc(list, func(a, b candidate) int { return strings.Compare(a.word, b.word) })
	return list, err
}

var allNames = client.Page{Limit: manyNames}

func jobNames(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Jobs(ctx, allNames)
	return named(list.Items, err, func(j *jobs.Job) candidate { return candidate{j.Name, j.Description} })
}

func scheduleNames(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Schedules(ctx, "", allNames)
	return named(list.Items, err, func(s wire.StandingSchedule) candidate { return candidate{s.Name, s.Reads} })
}

func queueNames(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Queues(ctx, allNames)
	return named(list.Items, err, func(q wire.Queue) candidate { return candidate{q.Name, ""} })
}

func dependencyNames(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Dependencies(ctx, allNames)
	return named(list.Items, err, func(d wire.Dependency) candidate { return candidate{d.Name, d.State} })
}

func policyNames(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Policies(ctx, allNames)
	return named(list.Items, err, func(p *jobs.Policy) candidate { return candidate{p.Name, ""} })
}

func alertNames(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Alerts(ctx, allNames)
	return named(list.Items, err, func(a *jobs.Alert) candidate { return candidate{a.Name, strings.Join(a.On, ", ")} })
}

func secretNames(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Secrets(ctx, allNames)
	return named(list.Items, err, func(s wire.Secret) candidate { return candidate{s.Name, ""} })
}

func tokenNames(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Tokens(ctx, allNames)
	return named(list.Items, err, func(t wire.Token) candidate { return candidate{t.Name, strings.Join(t.Scopes, ", ")} })
}

func sessionIDs(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Sessions(ctx, allNames)
	return listed(list.Items, err, func(s wire.Session) candidate { return candidate{s.ID, s.Agent} })
}

// runIDs are the newest, in one of these states where some are given.
func runIDs(states []string) lookup {
	return func(ctx context.Context, c *client.Client) ([]candidate, error) {
		list, err := c.Runs(ctx, url.Values{"state": states}, client.Page{Limit: manyRuns})
		return listed(list.Items, err, runCandidate)
	}
}

func runCandidate(r wire.Run) candidate {
	return candidate{r.ID.String(), r.Job + " " + r.State + " " + clock(r.CreatedAt)}
}

func groupIDs(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Groups(ctx, nil, client.Page{Limit: manyRuns})
	return listed(list.Items, err, runCandidate)
}

func failureIDs(ctx context.Context, c *client.Client) ([]candidate, error) {
	list, err := c.Failures(ctx, nil, client.Page{Limit: manyRuns})
	return listed(list.Items, err, func(f wire.FailureRow) candidate {
		return candidate{f.ID.String(), f.JobType + " " + f.ErrorType + " " + clock(f.CreatedAt)}
	})
}
