package jobs

import (
	"reflect"
	"sync"
)

// environment is a place where expressions may stand: the facts and functions known there.
type environment struct {
	place         string // in messages, as in "not known in rules"
	known         map[string]reflect.Type
	names         string // of known
	functions     map[string]function
	functionNames string
	hints         map[string]string // of names that are known elsewhere
	configs       sync.Pool         // of the library; making one costs as much as compiling
	facts         any               // a value of the struct that expressions are run on
}

// The environments there are (contract 3.1, 3.3, 4).
var (
	inRules = newEnvironment("rules", functions, noSecrets,
		"error", "http", "exit", "output", "attempt", "max_attempts", "elapsed", "payload", "job",
		"progress")
	inTemplates = newEnvironment("templates", messageFunctions, onlyChains,
		"payload", "run", "job", "checkpoint", "secrets")
	inHost    = newEnvironment("the host of a URL", textFunctions, fixedHost, "payload", "job")
	inSuccess = newEnvironment("success", functions, noSecrets,
		"http", "payload", "run", "job", "checkpoint")
	inChains = newEnvironment("on_success", textFunctions, noSecrets,
		"payload", "run", "job", "checkpoint", "result")
	inGroups = newEnvironment("the payloads of a group", textFunctions, noSecrets,
		"payload", "run", "job")
	inDoors = newEnvironment("inbound", textFunctions, noSecrets,
		"headers", "payload", "job")
	inDoorSecrets = newEnvironment("the secret of a door", textFunctions, nil, "job", "secrets")
	inKeys        = newEnvironment("keys", textFunctions, fixedKey, "payload", "run", "job")
)

// Hints for names that are known elsewhere.
var (
	noSecrets = map[string]string{
		"secrets": "; secrets are known only in webhook url, headers, body and signing_secret, " +
			"script args and env, mail, and an inbound's secret",
	}
	onlyChains = map[string]string{"result": "; the result is known in on_success only"}
	fixedHost  = map[string]string{
		"secrets": fixedHostHint, "run": fixedHostHint, "checkpoint": fixedHostHint,
	}
)

// fixedKey tells of what is not there yet when a run is made.
var fixedKey = map[string]string{
	"secrets": fixedKeyHint, "checkpoint": fixedKeyHint, "result": fixedKeyHint, "error": fixedKeyHint,
}

const fixedKeyHint = "; a key is fixed when the run is made: it depends on payload, run and job alone"

const fixedHostHint = "; the host of a URL is fixed when the run is made: it depends on the " +
	"payload and the job alone"

// newEnvironment knows some of the facts.
func newEnvironment(
	place string, calls map[string]function, hints map[string]string, names ...string,
) *environment {
	env := &environment{
		place: place, functions: calls, functionNames: listed(calls),
		known: map[string]reflect.Type{}, hints: hints, facts: facts{},
	}
	all := membersOf(reflect.TypeFor[facts]())
	for _, name := range names {
		if env.known[name] = all[name]; all[name] == nil {
			panic("jobs: no fact has the name " + name)
		}
	}
	env.names = listed(env.known)
	return env
}
