package api

import (
	"nightshift/api/wire"
	"nightshift/jobs"
)

var (
	paramSet = param{
		name: "set", wrong: wrongSet,
		doc: "the set that what is made bears, and that nothing else may bear; default where left out",
	}
	paramDryRun = param{
		name: "dry_run", enum: []string{"true", "false"}, wrong: wrongFlag,
		doc: "true: tell what would become of it, and change nothing",
	}
	paramPrune = param{
		name: "prune", enum: []string{"true", "false"}, wrong: wrongFlag,
		doc: "true: remove what bears the set and is not in the body. Not for tokens that are " +
			"narrowed to some jobs",
	}
	headerNoneOf = param{
		name: "If-None-Match", many: true, wrong: wrongTags, doc: "an ETag: 304 while it stands",
	}
)

func fileRoutes() []*route {
	return []*route{
		{
			method: "POST", path: "/v1/apply", opens: scopeAdmin, body: maxBatchBody, handle: apply,
			query: []param{paramSet, paramDryRun, paramPrune},
			tag:   "jobs", id: "apply", summary: "Register or replace jobs and what they name, all or nothing",
			more: "The body is a job file in JSON: jobs, schedules, policies, queues, dependencies and alerts are " +
				"lists, or maps by name; defaults hold for each job that says nothing else, defaults.timezone for " +
				"cron lines without one; webhook: URL and script: TEXT are short forms. " +
				"What an apply makes bears its set, and so does what it finds that bears none; what " +
				"another set bears is refused. A policy or job that a document names must stand or be in " +
				"the same call; queues and dependencies come to be by being named. Secrets that are missing are warned of. Documents that stand already " +
				"change nothing, and pausing is left alone.",
			in:       applyDocument{},
			out:      []outcome{{status: 200, body: wire.Applied{}}},
			problems: []problemKind{probSet, probNamed},
		},
		{
			method: "GET", path: "/v1/export", opens: scopeRead, query: []param{{
				name: "set", wrong: wrongSet, doc: "only what bears this set; all where left out",
			}},
			handle: exportAll, tag: "jobs", id: "export",
			summary: "Give policies, queues, dependencies, jobs, schedules and alerts as a job file in JSON",
			more: "Sorted by name, byte for byte as they stand: applied again it changes nothing. The " +
				"policy default is there only where somebody has changed it, and so are queues and " +
				"dependencies.",
			out: []outcome{{status: 200, body: wire.Export{}}},
		},
		{
			method: "GET", path: "/v1/jobs/:name/retry", opens: scopeRead, handle: getRetry,
			tag: "jobs", id: "get-retry",
			summary: "Show what decides about a job's failed attempts, and where each part comes from",
			more: "Numbers come from the job, else from the policy it names, else from the policy default. " +
				"Rules are tried in this order. The one by reported has no condition: there a job is " +
				"believed that says of its own error whether another try is of use.",
			out:      []outcome{{status: 200, body: jobs.EffectiveRetry{}}},
			problems: []problemKind{probNotFound},
		},
	}
}

func policyRoutes() []*route {
	policy := []outcome{{status: 200, body: jobs.Policy{}, etag: true}}
	return []*route{
		{
			method: "GET", path: "/v1/policies", opens: scopeRead, query: paging,
			handle: listPolicies, tag: "policies", id: "list-policies",
			summary: "List policies, newest first",
			more: "The policy default always stands. While nobody has changed it, it is built_in and the " +
				"last of the list.",
			out: []outcome{{status: 200, body: wire.Policies{}}},
		},
		{
			method: "POST", path: "/v1/policies", opens: scopeAdmin, whole: true, body: maxBody,
			handle: postPolicy, tag: "policies", id: "create-policy", summary: "Register a policy",
			in: policyDocument{}, out: []outcome{{status: 201, body: jobs.Policy{}, etag: true}},
			problems: []problemKind{probExists},
		},
		{
			method: "GET", path: "/v1/policies/:name", opens: scopeRead, handle: getPolicy,
			tag: "policies", id: "get-policy", summary: "Show a policy",
			headers: []param{headerNoneOf},
			out: append(policy, outcome{
				status: 304, doc: "It is as the If-None-Match says",
			}),
			problems: []problemKind{probNotFound},
		},
		{
			method: "PUT", path: "/v1/policies/:name", opens: scopeAdmin, whole: true, body: maxBody,
			handle: putPolicy, tag: "policies", id: "put-policy", summary: "Register or replace a policy",
			more: "It counts from the next failed attempt on, for every job that falls to it. The same " +
				"document again changes nothing. State (built_in, set, times) is ignored. What the policy " +
				"default leaves out is as it is built in, its rules too: rules: [] has none.",
			in: policyDocument{}, headers: []param{headerMatch, headerNone},
			out: append(policy, outcome{
				status: 201, body: jobs.Policy{}, etag: true, doc: "Registered",
			}),
			problems: []problemKind{probStale},
		},
		{
			method: "DELETE", path: "/v1/policies/:name", opens: scopeAdmin, whole: true,
			handle: deletePolicy, tag: "policies", id: "delete-policy",
			summary: "Delete a policy that no job names",
			more:    "Deleting the policy default puts the one back that is built in.",
			headers: []param{headerMatch}, out: []outcome{{status: 204}},
			problems: []problemKind{probNotFound, probNamed, probStale},
		},
	}
}
