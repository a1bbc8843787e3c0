package api

import "nightshift/api/wire"

func scheduleRoutes() []*route {
	const all, named = "/v1/schedules", "/v1/schedules/:name"
	shown := outcome{status: 200, body: wire.StandingSchedule{}, etag: true}
	return []*route{
		{
			method: "GET", path: all, opens: scopeRead, handle: listSchedules,
			query: append([]param{
				{name: "job", wrong: empty, doc: "of this job"}, {name: "q", doc: "whose name holds this"},
			}, paging...),
			tag: "schedules", id: "list-schedules", summary: "List schedules, newest first, without their payloads",
			more: "Those that stand in jobs, JOB:NAME, and those that stand by themselves. A page may hold " +
				"fewer than limit while next is not null.",
			out: []outcome{{status: 200, body: wire.Schedules{}}},
		},
		{
			method: "POST", path: all, opens: scopeEnqueue, body: maxBody, handle: postSchedule,
			tag: "schedules", id: "create-schedule", summary: "Make a schedule that stands by itself",
			more: "The token must reach its job. It ticks from now on: nothing past is caught up.",
			in:   scheduleDocument{}, out: []outcome{{status: 201, body: wire.StandingSchedule{}, etag: true}},
			problems: []problemKind{probNotFound, probExists},
		},
		{
			method: "GET", path: named, opens: scopeRead, handle: getSchedule,
			tag: "schedules", id: "get-schedule", summary: "Show a schedule, when it ticks next and what became of its last tick",
			more:    "What is shown of one by itself may be PUT back: state is ignored.",
			headers: []param{headerNoneOf},
			out: []outcome{
				shown, {status: 304, doc: "It is as the If-None-Match says"},
			},
			problems: []problemKind{probNotFound},
		},
		{
			method: "PUT", path: named, opens: scopeEnqueue, body: maxBody, handle: putSchedule,
			tag: "schedules", id: "put-schedule", summary: "Make or replace a schedule that stands by itself",
			more: "The token must reach its job, and the job that it had. Ticks up to now are decided by the " +
				"old text; the new one fires nothing past, and does not move what every counts from. The same " +
				"document again changes nothing. State is ignored. Pausing is left alone. One that stands in a " +
				"job, JOB:NAME, is changed with the job: 409.",
			in: scheduleDocument{}, headers: []param{headerMatch, headerNone},
			out: []outcome{
				{status: 200, body: wire.StandingSchedule{}, etag: true, doc: "Replaced, or the same as it stood"},
				{status: 201, body: wire.StandingSchedule{}, etag: true, doc: "Made"},
			},
			problems: []problemKind{probNotFound, probInJob, probStale},
		},
		{
			method: "DELETE", path: named, opens: scopeEnqueue, handle: deleteSchedule,
			tag: "schedules", id: "delete-schedule", summary: "Delete a schedule that stands by itself",
			more: "Its runs go on, and its ledger is kept: made again, it goes on with that. One that stands in a " +
				"job, JOB:NAME, is taken out of the job: 409.",
			headers: []param{headerMatch}, out: []outcome{{status: 204}},
			problems: []problemKind{probNotFound, probInJob, probStale},
		},
		{
			method: "POST", path: named + "/pause", opens: scopeOperate, body: maxBody,
			handle: func(c *call) error { return pauseSchedule(c, true) },
			tag:    "schedules", id: "pause-schedule", summary: "Pause a schedule: its ticks are skipped",
			more: "Those up to now are decided before. It lasts until it is resumed, over restarts too.",
			in:   wire.Note{}, optional: true, out: []outcome{shown}, problems: []problemKind{probNotFound},
		},
		{
			method: "POST", path: named + "/resume", opens: scopeOperate, body: maxBody,
			handle: func(c *call) error { return pauseSchedule(c, false) },
			tag:    "schedules", id: "resume-schedule", summary: "Resume a schedule that is paused",
			more: "It goes on with its next tick. The ticks of the pause stand in the ledger as skipped, and " +
				"are not caught up.",
			in: wire.Note{}, optional: true, out: []outcome{shown}, problems: []problemKind{probNotFound},
		},
		{
			method: "GET", path: named + "/ticks", opens: scopeRead, query: paging, handle: listTicks,
			tag: "schedules", id: "list-ticks", summary: "List what became of the ticks of a schedule, newest first",
			more: "Each planned instant is decided once: it ran, was caught up, or was skipped with a reason. " +
				"Neighbours that were skipped for one reason are one row. While the schedule is paused the ticks " +
				"of that time stand first. Kept for 90 days.",
			out: []outcome{{status: 200, body: wire.Ticks{}}}, problems: []problemKind{probNotFound},
		},
		{
			method: "POST", path: all + "/preview", opens: scopeRead, body: maxBody, handle: previewSchedule,
			tag: "schedules", id: "preview-schedule", summary: "Say when a schedule would tick",
			more: "By the code that makes it tick. Its instants are those after from, which is itself left out; " +
				"@reboot has none.",
			in: wire.SchedulePreview{}, out: []outcome{{status: 200, body: wire.PreviewedSchedule{}}},
		},
	}
}
