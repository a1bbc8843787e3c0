package api

import (
	"nightshift/api/wire"
	"nightshift/jobs"
)

func alertRoutes() []*route {
	shown := []outcome{{status: 200, body: jobs.Alert{}, etag: true}}
	return []*route{
		{
			method: "GET", path: "/v1/alerts", opens: scopeRead, query: paging,
			handle: listAlerts, tag: "alerts", id: "list-alerts", summary: "List alerts, newest first",
			more: "A token that is narrowed to some jobs sees those whose job it reaches.",
			out:  []outcome{{status: 200, body: wire.Alerts{}}},
		},
		{
			method: "POST", path: "/v1/alerts", opens: scopeAdmin, whole: true, body: maxBody,
			handle: postAlert, tag: "alerts", id: "create-alert", summary: "Make an alert",
			in: alertDocument{}, out: []outcome{{status: 201, body: jobs.Alert{}, etag: true}},
			problems: []problemKind{probExists},
		},
		{
			method: "POST", path: "/v1/alerts/test", opens: scopeAdmin, whole: true, body: maxBody,
			handle: testAlerts, tag: "alerts", id: "test-alerts",
			summary: "Have a failure told that is made up",
			more: "It goes the whole way, marked as a test (data.test), and is counted nowhere. An alert whose if does not " +
				"hold for it is not among the answer's; the runs that tell of it have the correlation id of the answer.",
			in: wire.AlertTest{}, optional: true,
			out: []outcome{{status: 202, body: wire.AlertTested{}, doc: "On disk: those alerts tell of it"}},
		},
		{
			method: "GET", path: "/v1/alerts/:name", opens: scopeRead, handle: getAlert,
			tag: "alerts", id: "get-alert", summary: "Show an alert",
			headers: []param{headerNoneOf},
			out: append(shown, outcome{
				status: 304, doc: "It is as the If-None-Match says",
			}),
			problems: []problemKind{probNotFound},
		},
		{
			method: "PUT", path: "/v1/alerts/:name", opens: scopeAdmin, whole: true, body: maxBody,
			handle: putAlert, tag: "alerts", id: "put-alert", summary: "Make or replace an alert",
			more: "It tells of what happens from then on. The same document again changes nothing. State (set, times) " +
				"is ignored. The job that it runs must stand, and may have neither on_success nor group.",
			in: alertDocument{}, headers: []param{headerMatch, headerNone},
			out: append(shown, outcome{
				status: 201, body: jobs.Alert{}, etag: true, doc: "Made",
			}),
			problems: []problemKind{probStale},
		},
		{
			method: "DELETE", path: "/v1/alerts/:name", opens: scopeAdmin, whole: true,
			handle: deleteAlert, tag: "alerts", id: "delete-alert", summary: "Delete an alert",
			more:    "What it has folded and not told yet is told no more. Runs that it has made go on.",
			headers: []param{headerMatch}, out: []outcome{{status: 204}},
			problems: []problemKind{probNotFound, probStale},
		},
	}
}
