package api

import "nightshift/api/wire"

func timelineRoutes() []*route {
	return []*route{{
		method: "GET", path: "/v1/timeline", opens: scopeRead, handle: showTimeline,
		query: append([]param{
			{name: "job", wrong: empty, doc: "of this job"},
			{name: "schedule", wrong: empty, doc: "this one alone"},
			{name: "q", doc: "whose name holds this"},
			{name: "back", wrong: wrongSpan, doc: "how far back the line goes: 24h where left out, 7d at most"},
			{name: "ahead", wrong: wrongSpan, doc: "how far ahead: 24h where left out, 7d at most"},
			{name: "step", wrong: wrongCell, doc: "the length of a cell: 30m where left out, 1m at least; a line has 500 cells at most"},
		}, paging...),
		tag: "schedules", id: "timeline", summary: "Show schedules on a time line: what became of their ticks, and those to come",
		more: "Newest first, 100 schedules at most on a page. Ticks are counted in cells of a step. Of one schedule the newest " +
			"5000 lines of its ledger are looked at, and of a page 50,000 in all.",
		out: []outcome{{status: 200, body: wire.Timeline{}}}, problems: []problemKind{probNotFound},
	}}
}
