package api

import "nightshift/api/wire"

// groupRoutes are about members that run side by side, and the run that gets their results.
func groupRoutes() []*route {
	return []*route{
		{
			method: "POST", path: "/v1/groups", opens: scopeEnqueue, body: maxBatchBody, query: []param{paramWait},
			handle: postGroup, tag: "groups", id: "run-group", summary: "Run a group that no job describes",
			more: "Its run is one of the job _group, which answers as that of any other job does: idempotency keys, ?wait= " +
				"and the watch link are as of an enqueue. The same key with other members, or another payload, is 409. The " +
				"payloads of the members may hold {{ expression }} over payload, run and job of the group. Every fault is " +
				"listed, such as body.members[3].job. A token that is narrowed to some jobs may name these alone, and sees the " +
				"runs of _group that it made.",
			headers: []param{headerKey, {name: "traceparent", doc: "W3C trace context, passed on to members and merge"}},
			in:      wire.RunGroup{},
			out: []outcome{
				{status: 202, body: wire.Run{}, doc: "On disk. Location names the run"},
				{
					status: 200, body: wire.Run{}, brief: wire.Brief{},
					doc: "An earlier run; with ?wait=, the run has ended",
				},
			},
			problems: []problemKind{probKey, probTooMany},
		},
		{
			method: "GET", path: "/v1/groups", opens: scopeRead | scopeEnqueue, query: runFilters(), handle: listGroups,
			tag: "groups", id: "list-groups", summary: "List the runs of groups, newest first",
			more: "Those of jobs that are groups, and of _group. Filters and rows are those of the list of runs.",
			out:  []outcome{{status: 200, body: wire.Runs{}}},
		},
		{
			method: "GET", path: "/v1/runs/:id/members", opens: scopeRead | scopeEnqueue, query: paging, handle: listMembers,
			tag: "groups", id: "list-members", summary: "Show how a group stands, with its members in their order",
			more: "The newest run of each member: one that was requeued stands in the place of the one before. There is no " +
				"item before the group has started. Members of jobs that the token does not reach are left out; counts hold " +
				"them all. 404 for a run that is no group.",
			out: []outcome{{status: 200, body: wire.GroupMembers{}}}, problems: []problemKind{probNotFound},
		},
		{
			method: "POST", path: "/v1/runs/:id/remerge", opens: scopeOperate, body: maxBody, handle: remerge,
			tag: "groups", id: "remerge-group", summary: "Merge the members of a group once more",
			more: "Makes one more merge run, over the newest run of each member: after a member that had failed was " +
				"requeued. The state of the group stays as it is, and need is not asked. 409 while the group, a member or a " +
				"merge has not ended, and where the group has no merge.",
			in: wire.Note{}, optional: true,
			out:      []outcome{{status: 202, body: wire.Run{}, doc: "The new merge run"}},
			problems: []problemKind{probNotFound, probState},
		},
	}
}
