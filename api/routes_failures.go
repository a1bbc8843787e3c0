package api

import "nightshift/api/wire"

func failureRoutes() []*route {
	return append([]*route{
		{
			method: "GET", path: "/v1/failures", opens: scopeRead, query: failureFilters(), handle: listFailures,
			tag: "failures", id: "list-failures", summary: "List runs that failed and that nobody has dealt with, newest first",
			more: "A failure is a run that ended failed. It is open, and kept, until it was resolved or ignored, or a " +
				"requeue of it has succeeded. With status others are listed: will_retry are runs that are retrying. Rows " +
				"leave out payload and stack_trace. A page may hold fewer than limit while next is not null. The view " +
				"failed_jobs of the database file holds the same.",
			out: []outcome{{status: 200, body: wire.Failures{}}},
		},
		{
			method: "GET", path: "/v1/failures/:id", opens: scopeRead, handle: getFailure,
			tag: "failures", id: "get-failure", summary: "Show a failure with all that is known of it",
			more: "The id is that of the run. The chain are the runs that it was requeued from and to.",
			out:  []outcome{{status: 200, body: wire.FailureDetail{}}}, problems: []problemKind{probNotFound},
		},
		{
			method: "GET", path: "/v1/failure-groups", opens: scopeRead, query: groupFilters(), handle: listFailureGroups,
			tag: "failures", id: "list-failure-groups", summary: "List failures that are alike as one, newest first",
			more: "Alike are those of one job, kind, type and message, numbers and ids in it aside: they have the same " +
				"fingerprint. A group is open while one of them is. The next failure opens a resolved one again; in an " +
				"ignored one what comes is ignored too, until the time that was said, and then it opens if more came. " +
				"To deal with all of a group give an order with its fingerprint as filter.",
			out: []outcome{{status: 200, body: wire.FailureGroups{}}},
		},
		{
			method: "POST", path: "/v1/failures/:id/resolve", opens: scopeOperate, body: maxBody, handle: resolveFailure,
			tag: "failures", id: "resolve-failure", summary: "Resolve a failure: it has been dealt with",
			more: "Those that it was requeued from go with it. Where it is so already nothing changes, but for a note " +
				"that is given.",
			in: wire.Note{}, optional: true, out: []outcome{{status: 200, body: wire.FailureDetail{}}},
			problems: []problemKind{probNotFound, probState},
		},
		{
			method: "POST", path: "/v1/failures/:id/ignore", opens: scopeOperate, body: maxBody, handle: ignoreFailure,
			tag: "failures", id: "ignore-failure", summary: "Ignore a failure: nothing will be done about it",
			more: "When it was the last open one of its group, those that come are born ignored and nobody is told of " +
				"them, until the time that is given; if more came by then, these are open again.",
			in: wire.Ignore{}, optional: true, out: []outcome{{status: 200, body: wire.FailureDetail{}}},
			problems: []problemKind{probNotFound, probState},
		},
		{
			method: "POST", path: "/v1/failures/:id/requeue", opens: scopeOperate, body: maxBody, handle: requeueFailure,
			tag: "failures", id: "requeue-failure", summary: "Run a failed run again, as a new run",
			more: "As POST /v1/runs/ID/requeue, and with a patch of its payload. The failure is requeued then, also one " +
				"that was resolved or ignored. Where a requeue of it has ended without success the new run stands behind " +
				"that, and its requeued_from says so. The success of the new run resolves it; where that fails, that one is open " +
				"in its place; where that is cancelled, it is open again.",
			in: wire.RequeueFailure{}, optional: true,
			out: []outcome{
				{status: 202, body: wire.Run{}, doc: "The new run"},
				{status: 200, body: wire.Run{}, doc: "The requeue that is under way"},
			},
			problems: []problemKind{probNotFound, probState, probUnique, probTooMany},
		},
	}, orderRoutes()...)
}

func orderRoutes() []*route {
	taken := []outcome{
		{status: 202, body: wire.Ordered{}, doc: "On disk, and being carried out. Location names the order"},
		{status: 200, body: wire.OrderTried{}, doc: "dry_run: what it would be for"},
	}
	which := "For the failures that a filter holds for, 10,000 by their ids, or all that are open; which these are is " +
		"fixed at once. It is carried out in small steps while other calls go on, and goes on after a restart: follow " +
		"it at the Location. Requeues wait while too many runs have not ended (--max-unfinished). What has changed meanwhile, or cannot be, is left as it is, and the order says why. A token " +
		"that is narrowed to some jobs reaches the failures of those alone. "
	return []*route{
		{
			method: "POST", path: "/v1/failures/requeue", opens: scopeOperate, body: maxBody, handle: orderRequeue,
			tag: "failures", id: "requeue-failures", summary: "Order: requeue many failures",
			more: which + "All runs are made at once; with rate they are due one after another. With stop_after the rest " +
				"is called off as soon as that many of them have failed again: those that have not started are cancelled, " +
				"and their failures are open again.",
			in: wire.RequeueFailures{}, out: taken,
		},
		{
			method: "POST", path: "/v1/failures/resolve", opens: scopeOperate, body: maxBody, handle: orderResolve,
			tag: "failures", id: "resolve-failures", summary: "Order: resolve many failures", more: which,
			in: wire.ResolveFailures{}, out: taken,
		},
		{
			method: "POST", path: "/v1/failures/ignore", opens: scopeOperate, body: maxBody, handle: orderIgnore,
			tag: "failures", id: "ignore-failures", summary: "Order: ignore many failures", more: which,
			in: wire.IgnoreFailures{}, out: taken,
		},
		{
			method: "GET", path: "/v1/requeues/:id", opens: scopeRead, handle: getOrder,
			tag: "failures", id: "get-order", summary: "Show how an order stands",
			more: "Also one to resolve or to ignore. A token that is narrowed to some jobs sees those that it gave.",
			out:  []outcome{{status: 200, body: wire.Order{}}}, problems: []problemKind{probNotFound},
		},
		{
			method: "DELETE", path: "/v1/requeues/:id", opens: scopeOperate, handle: stopOrder,
			tag: "failures", id: "stop-order", summary: "Call off what an order has not begun",
			more: "Failures that were not dealt with stay as they are. Its runs that have not started are cancelled, and " +
				"their failures are open again. Runs under way go on. One that is over stays as it is.",
			out: []outcome{{status: 200, body: wire.Order{}}}, problems: []problemKind{probNotFound},
		},
	}
}
