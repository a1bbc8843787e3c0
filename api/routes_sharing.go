package api

import "nightshift/api/wire"

func sharingRoutes() []*route {
	return append(sharedRoutes(queues, sharedTexts{
		in: queueDocument{}, out: wire.Queue{}, page: wire.Queues{}, list: listQueues,
		tag: "queues", one: "queue", a: "a queue", many: "queues",
		paused: "nothing of it starts, retries included",
		put: "Queues come to be by being named: the document says what they may do at once, and null " +
			"takes the limit away.",
		deleted: "It falls back to no limit. Jobs may go on naming it, and a pause stays.",
	}), append(sharedRoutes(dependencies, sharedTexts{
		in: dependencyDocument{}, out: wire.Dependency{}, page: wire.Dependencies{},
		list: listDependencies,
		tag:  "dependencies", one: "dependency", a: "a dependency", many: "dependencies",
		paused: "no attempt that uses it starts",
		put: "Dependencies come to be by being named, those of webhooks, host:port, by being called. " +
			"What the document leaves out is as it is built in: no concurrency (16 for a host), no rate, " +
			"a breaker that opens after 5 passing errors in a row. null turns it off.",
		deleted: "It falls back to what is built in. Jobs may go on naming it; a pause and the state of " +
			"its breaker stay.",
	}), dependencyRoutes()...)...)
}

// sharedTexts are what the descriptions of two resources differ in.
type sharedTexts struct {
	in, out, page        any
	list                 func(*call) error
	tag, one, a, many    string
	paused, put, deleted string
}

// sharedRoutes are the routes that queues and dependencies have alike.
func sharedRoutes(s *shared, t sharedTexts) []*route {
	all, named := "/v1/"+s.list, "/v1/"+s.list+"/:name"
	shown := outcome{status: 200, body: t.out, etag: true}
	return []*route{
		{
			method: "GET", path: all, opens: scopeRead, query: paging, handle: t.list,
			tag: t.tag, id: "list-" + t.many, summary: "List " + t.many + ", newest first",
			more: "Also those that nobody has put and that are only named. Runs that wait are counted up " +
				"to 10,000. A token that is narrowed to some jobs sees all of them, and of the jobs that " +
				"name them those that it reaches.",
			out: []outcome{{status: 200, body: t.page}},
		},
		{
			method: "POST", path: all, opens: scopeAdmin, whole: true, body: maxBody, handle: s.post,
			tag: t.tag, id: "create-" + t.one, summary: "Set the limits of " + t.a, in: t.in,
			more:     "409 where somebody has: that it is named, or paused, is no hindrance.",
			out:      []outcome{{status: 201, body: t.out, etag: true}},
			problems: []problemKind{probExists},
		},
		{
			method: "GET", path: named, opens: scopeRead, handle: s.get,
			tag: t.tag, id: "get-" + t.one, summary: "Show " + t.a + " and what it holds",
			more:    "What is shown may be PUT back: state is ignored.",
			headers: []param{headerNoneOf},
			out: []outcome{
				shown, {status: 304, doc: "It is as the If-None-Match says"},
			},
			problems: []problemKind{probNotFound},
		},
		{
			method: "PUT", path: named, opens: scopeAdmin, whole: true, body: maxBody, handle: s.put,
			tag: t.tag, id: "put-" + t.one, summary: "Set or replace the limits of " + t.a,
			more: t.put + " A lower limit ends nothing, and lets nothing start until there is room. The " +
				"same document again changes nothing. State is ignored. Pausing is left alone.",
			in: t.in, headers: []param{headerMatch, headerNone},
			out: []outcome{
				{status: 200, body: t.out, etag: true, doc: "Replaced, or the same as it stood"},
				{status: 201, body: t.out, etag: true, doc: "Made: it had no document"},
			},
			problems: []problemKind{probStale},
		},
		{
			method: "DELETE", path: named, opens: scopeAdmin, whole: true, handle: s.delete,
			tag: t.tag, id: "delete-" + t.one, summary: "Drop the limits of " + t.a, more: t.deleted,
			headers: []param{headerMatch}, out: []outcome{{status: 204}},
			problems: []problemKind{probNotFound, probStale},
		},
		{
			method: "POST", path: named + "/pause", opens: scopeOperate, whole: true, body: maxBody,
			handle: func(c *call) error { return s.pause(c, true) },
			tag:    t.tag, id: "pause-" + t.one, summary: "Pause " + t.a + ": " + t.paused,
			more: "It lasts until it is resumed, over restarts too.",
			in:   wire.Note{}, optional: true, out: []outcome{shown},
			problems: []problemKind{probNotFound},
		},
		{
			method: "POST", path: named + "/resume", opens: scopeOperate, whole: true, body: maxBody,
			handle: func(c *call) error { return s.pause(c, false) },
			tag:    t.tag, id: "resume-" + t.one, summary: "Resume " + t.a + " that is paused",
			in: wire.Note{}, optional: true, out: []outcome{shown},
			problems: []problemKind{probNotFound},
		},
	}
}

func dependencyRoutes() []*route {
	shown := []outcome{{status: 200, body: wire.Dependency{}, etag: true}}
	return []*route{
		{
			method: "POST", path: "/v1/dependencies/:name/trip", opens: scopeOperate, whole: true,
			body: maxBody, handle: tripDependency, tag: "dependencies", id: "trip-dependency",
			summary: "Open the breaker of a dependency by hand",
			more: "Attempts under way go on. After for, or the open_for of its breaker, one run probes it " +
				"as always. One that is open already stays so for that long from now on.",
			in: wire.Trip{}, optional: true, out: shown,
			problems: []problemKind{probNotFound, probState},
		},
		{
			method: "POST", path: "/v1/dependencies/:name/reset", opens: scopeOperate, whole: true,
			body: maxBody, handle: resetDependency, tag: "dependencies", id: "reset-dependency",
			summary: "Close the breaker of a dependency, and forget what a Retry-After asked for",
			more:    "What waited for it starts slowly: 1 run in the first second, then 2, 4, and so on.",
			in:      wire.Note{}, optional: true, out: shown,
			problems: []problemKind{probNotFound},
		},
	}
}
