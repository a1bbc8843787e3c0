package jobs

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// facts is what expressions know (contract 3.1 and 4): the names, and their types. Each place
// where one may stand knows some of them. Where the type is any, members that are missing are nil.
// It has no methods: expressions see none.
type facts struct {
	// Of a failed attempt.
	Error       errorFacts    `expr:"error"`
	HTTP        httpFacts     `expr:"http"`
	Exit        exitFacts     `expr:"exit"`
	Output      string        `expr:"output"`
	Attempt     int           `expr:"attempt"` // the one that failed
	MaxAttempts int           `expr:"max_attempts"`
	Elapsed     time.Duration `expr:"elapsed"` // since the run was first due
	Progress    progressFacts `expr:"progress"`

	Payload    any          `expr:"payload"`
	Job        jobFacts     `expr:"job"`
	Run        runFacts     `expr:"run"`
	Checkpoint any          `expr:"checkpoint"`
	Result     any          `expr:"result"`
	Secrets    secretValues `expr:"secrets"`
	Headers    any          `expr:"headers"` // of what came in at a door

	Meter *meter `expr:"$meter"`
}

type errorFacts struct {
	Kind    string `expr:"kind"`
	Type    string `expr:"type"`
	Message string `expr:"message"`
	Stack   string `expr:"stack"`
}

type httpFacts struct {
	Status  int `expr:"status"`  // 0: none
	Headers any `expr:"headers"` // lower-case names
	Body    any `expr:"body"`    // parsed where it is JSON, else its text
}

type exitFacts struct {
	Code   int    `expr:"code"` // -1: none
	Signal string `expr:"signal"`
}

type jobFacts struct {
	Name   string `expr:"name"`
	Queue  string `expr:"queue"`
	Labels any    `expr:"labels"`
}

type progressFacts struct {
	Done  float64 `expr:"done"`
	Total float64 `expr:"total"`
}

// runFacts is a run as it was made, and the attempt under way.
type runFacts struct {
	ID            string `expr:"id"`
	OperationID   string `expr:"operation_id"`
	Trigger       string `expr:"trigger"`
	Schedule      any    `expr:"schedule"`
	ScheduledFor  any    `expr:"scheduled_for"`
	CorrelationID string `expr:"correlation_id"`
	Labels        any    `expr:"labels"`
	Attempt       int    `expr:"attempt"`
}

// secretValues are secrets by name.
type secretValues map[string]string

var secretsType = reflect.TypeFor[secretValues]()

func membersOf(t reflect.Type) map[string]reflect.Type {
	members := map[string]reflect.Type{}
	for f := range t.Fields() {
		if name := f.Tag.Get("expr"); !strings.HasPrefix(name, "$") {
			members[name] = f.Type
		}
	}
	return members
}

func listed[V any](m map[string]V) string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// needs says which of the facts that are costly to read an expression refers to.
type needs struct{ body, payload, checkpoint, result, run bool }

// note notes a fact by its path.
func (n *needs) note(path string) {
	switch path {
	case "http.body":
		n.body = true
	case "payload":
		n.payload = true
	case "checkpoint":
		n.checkpoint = true
	case "result":
		n.result = true
	default:
		n.run = n.run || strings.HasPrefix(path, "run.")
	}
}

// factsOf gathers what is cheap; body and payload are read when a rule refers to them.
func factsOf(e *Ending, f *Failure) *facts {
	job := e.Plan.Job
	known := &facts{
		Error: errorFacts{
			Kind: string(f.Kind), Type: f.Type, Message: f.Message, Stack: f.Stack,
		},
		HTTP:        httpFacts{Status: e.Report.HTTPStatus},
		Exit:        exitFacts{Code: -1},
		Output:      e.Report.OutputTail,
		Attempt:     e.Counts.Attempt(),
		MaxAttempts: e.Plan.MaxAttempts(e.MaxAttempts),
		Job:         jobFactsOf(job),
	}
	if e.RunAt != 0 && e.Now > e.RunAt {
		known.Elapsed = e.Now.Sub(e.RunAt)
	}
	if f.HTTP != nil {
		known.HTTP.Status = f.HTTP.Status
		known.HTTP.Headers = headers(f.HTTP.Headers)
	}
	if f.Exit != nil {
		known.Exit = exitFacts{Code: f.Exit.Code, Signal: f.Exit.Signal}
	}
	if e.Progress != nil {
		known.Progress = progressFacts{Done: e.Progress.Done, Total: e.Progress.Total}
	}
	return known
}

func jobFactsOf(job *Job) jobFacts {
	known := jobFacts{Name: job.Name, Queue: job.QueueOf()}
	if len(job.Labels) > 0 {
		known.Labels = job.Labels
	}
	return known
}

// bodyValue is the body of an HTTP answer as expressions see it: parsed where it is JSON.
func bodyValue(body []byte) any {
	if v, err := decodeValue(body); err == nil {
		return v
	}
	return characters(string(body))
}

// payloadValue is a payload as expressions see it; nil where it is none or no JSON.
func payloadValue(payload Raw) any {
	v, err := decodeValue(payload)
	if err != nil {
		return nil
	}
	return v
}
