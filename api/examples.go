package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"nightshift/jobs"
	"nightshift/store"
)

// Examples of the description (OpenAPI: examples). Bodies of calls are texts, since they are what
// somebody writes; answers are values of the types that are answered, so that they have all members
// and no other. Tests hold them against their types and schemas, and send those of calls to a server.

// sample is an example: a Go value of the type that is answered, or the text of a body.
type sample struct {
	name  string // of letters, digits and dashes
	title string
	value any // jobs.Raw where it is a text of JSON, string where it is no JSON
}

// sampleKey says what samples are of: an operation's body (status 0) or its answer. An id of "" stands
// for all operations. media is given where it is not JSON.
type sampleKey struct {
	id     string
	status int
	media  string
}

// joined are the examples of all tables.
func joined(tables ...map[sampleKey][]sample) map[sampleKey][]sample {
	all := map[sampleKey][]sample{}
	for _, table := range tables {
		maps.Copy(all, table)
	}
	return all
}

// samplesOf are the examples of a body (status 0) or an answer.
func samplesOf(r *route, status int, media string, body any) []sample {
	if media == "application/json" {
		media = ""
	}
	if of := samples[sampleKey{r.id, status, media}]; of != nil {
		return of
	}
	if status == 0 || media != "" {
		return nil
	}
	return samplesByType(body)
}

// examplesOf are those samples as the description holds them.
func examplesOf(of []sample) map[string]*huma.Example {
	if len(of) == 0 {
		return nil
	}
	all := map[string]*huma.Example{}
	for _, s := range of {
		all[s.name] = &huma.Example{Summary: s.title, Value: s.json()}
	}
	return all
}

// json is the value as it stands in the description.
func (s sample) json() any {
	switch v := s.value.(type) {
	case string:
		return v
	case jobs.Raw:
		return json.RawMessage(v)
	}
	return json.RawMessage(jobs.AppendJSON(nil, s.value))
}

// problemSamples are errors of each kind, as they come up. What the client gets is made from them
// as it is in a call.
var problemSamples = map[problemKind]error{
	probSyntax:       &jobs.SyntaxError{Line: 1, Column: 14, Msg: "want a value"},
	probRequest:      refuse(probRequest, "the query cannot be read"),
	probUnauthorized: refuse(probUnauthorized, "the token is not known"),
	probSignature:    refuse(probSignature, "the signature is not that of this body by the secret of this door"),
	probShut:         refuse(probShut, "a secret that this door needs is not set on the server; send it again later"),
	probForbidden:    refuse(probForbidden, "it needs the scope %s", scopeOperate),
	probOrigin:       refuse(probOrigin, "the Origin is not this server"),
	probNotFound:     noJob(),
	probMethod:       refuse(probMethod, "allowed here: GET, PUT, DELETE"),
	probSlow:         refuse(probSlow, "the body did not come whole in time"),
	probExists:       store.ErrExists,
	probOver:         &store.OverError{State: jobs.Succeeded},
	probState:        store.ErrState,
	probSet:          &store.SetError{Kind: "job", Name: "nightly-sync", Set: "warehouse"},
	probNamed:        &store.NamedError{Kind: "policy", Name: "gentle", By: []string{"nightly-sync"}},
	probInJob:        inJob("nightly-sync"),
	probKey:          &store.KeyConflict{Key: "order-8812"},
	probUnique: &store.UniqueConflict{
		Job: "nightly-sync", Run: sampleID(sampleRun), Until: sampleStart.Add(24 * time.Hour),
	},
	probStale: store.ErrStale,
	probTooLarge: tooLarge([]jobs.Fault{{
		Location: "body.payload", Message: payloadFault("", 300_000).Message,
	}}),
	probEncoding: refuse(probEncoding, "send it without Content-Encoding"),
	probHost: refuse(probHost, "call it by an IP address, a loopback name, or the host of its "+
		"--listen or --url"),
	probInvalid: invalid([]jobs.Fault{
		{Location: "body.priority", Message: "must be from -100 to 100"},
		{Location: "body.max_attempts", Message: "unknown field: it belongs below retry"},
	}),
	probOverload: &problem{
		kind: probOverload, retryAfter: time.Second, detail: "it took too long",
	},
	probTooMany:  &store.TooManyError{Unfinished: 10_000_000, Limit: 10_000_000},
	probInternal: refuse(probInternal, "the log of the server tells more under %s", "3F2KQX7MZD5A"),
	probBusy:     store.ErrBusy,
	probUnknown:  store.ErrUnknown,
	probStopping: store.ErrClosed,
	probNotReady: refuse(probNotReady, "the database cannot be written"),
	probFull:     store.ErrFull,
}

// problemExamples are the examples of all kinds of problems by their names.
func problemExamples() (map[string]*huma.Example, error) {
	all := map[string]*huma.Example{}
	s := &Server{log: slog.New(slog.DiscardHandler)}
	for _, k := range problemKinds {
		err := problemSamples[k]
		if err == nil {
			return nil, errors.New("the problem " + k.name + " has no example")
		}
		view := s.problemOf(err).view()
		all[k.name] = &huma.Example{Summary: k.title, Value: sample{value: &view}.json()}
	}
	return all, nil
}

const examplePrefix = "#/components/examples/"

// paramExamples are values of parameters: of the path, the query and headers.
var paramExamples = map[string]any{
	"id": sampleRun, "name": "nightly-sync", "version": 3,

	"limit": 20, "cursor": "412", "wait": "30s", "job": "nightly-sync",
	"schedule": "nightly-sync:nightly", "state": "failed", "queue": "default",
	"label": "team:data", "correlation_id": "order-8812", "error_kind": "http",
	"error_type": "ValidationError", "trigger": "api", "since": "2026-11-29T00:00:00Z",
	"until": "2026-11-30T00:00:00Z", "q": "timed out", "back": "24h", "ahead": "24h", "key": "Yk3vZ0o2l4Qd3mJ8rTn1Vw",

	"fingerprint": sampleFingerprint, "status": "open", "live": "1", "step": "1h",

	"actor": "token admin", "action": "pause", "kind": "job",

	"door": "github", "secret": "a-long-random-text",

	"type": "dependency.opened", "after": 411,

	"set": "default", "dry_run": "true", "prune": "true",

	"If-Match": `"3"`, "If-None-Match": `"3"`, "Idempotency-Key": "order-8812",
	"traceparent":   "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	"Last-Event-ID": "4096",
}

// paramExample is the example of a parameter of a route; nil: none.
func paramExample(r *route, name string) any {
	switch {
	case strings.HasPrefix(r.path, "/v1/requeues") && name == "id":
		return sampleOrderID
	case r.tag == "tokens" && name == "name":
		return "deploy"
	case r.tag == "secrets" && name == "name":
		return "SYNC"
	case r.tag == "policies" && name == "name":
		return "gentle"
	case r.tag == "alerts" && name == "name":
		return "data-failures"
	case r.tag == "schedules" && name == "name":
		return "sync-acme"
	case r.tag == "queues" && name == "name":
		return "mail"
	case r.tag == "dependencies" && name == "name":
		return "stripe"
	case r.id == "enqueue-batch" && name == "Idempotency-Key":
		return nil // it is refused
	}
	return paramExamples[name]
}
