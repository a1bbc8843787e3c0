package api

import "nightshift/api/wire"

func eventRoutes() []*route {
	return []*route{{
		method: "GET", path: "/v1/events", opens: scopeRead, query: eventParams(), handle: getEvents,
		tag: "events", id: "get-events", summary: "Follow what is worth telling, or list it",
		more: "A stream of server-sent events, each with its type as event, its id, and as data a " +
			"CloudEvent 1.0 on one line. It does not end by itself; a comment every 15 s shows that it " +
			"lives. With Accept: application/json, and without text/event-stream there, it is a list, " +
			"newest first.\n\n" +
			"Each event is kept in the transaction of what it tells of, for 90 days. With " +
			"Last-Event-ID, or after, a stream begins with the first event after that one, and loses " +
			"and repeats none; without, it begins with what comes from now on. Where it stands is told " +
			"by frames that hold nothing but an id, at the beginning too: whoever goes on from the " +
			"last id that was received misses nothing. Where events after that one have been pruned, a " +
			"comment says how many, and the oldest that is kept follows. Where there is no such event " +
			"yet, which happens when an older file was put in place, a comment says so, and what comes " +
			"from now on follows. Where both are given Last-Event-ID counts.\n\n" +
			"With live=1 a stream also tells run.changed, with data RunChanged, whenever a run is made, starts, ends, " +
			"waits or says how far it is: of each run at most four times a second, as it stands then. These are kept " +
			"nowhere and have no id in the stream. Of more than 500 that change at once the rest is told by one event " +
			"whose run is null, as is a change of very many, such as a pause: look again then.\n\n" +
			"A token that is narrowed to some jobs gets the events of those jobs alone. Events of what " +
			"runs share, such as dependencies, belong to no job. Revoking the token ends its streams.",
		headers: []param{{
			name: "Last-Event-ID", doc: "go on behind this event; a list ignores it", wrong: wrongLastEvent,
		}},
		out: []outcome{{
			status: 200, body: wire.Events{}, media: []string{"text/event-stream", "application/json"},
		}},
	}}
}
