package api

import "nightshift/api/wire"

func statsRoutes() []*route {
	return []*route{{
		method: "GET", path: "/v1/stats", opens: scopeRead, query: statsParams(), handle: getStats,
		tag: "server", id: "get-stats", summary: "Count what has ended, step by step, and what stands now",
		more: "Each run and attempt is counted in the transaction in which it ends, so the counts are as the lists " +
			"are, and they stay when runs are deleted. They are kept for 90 days: those of the last 26 hours by steps " +
			"of 5 minutes, older ones by hours. A time begins and ends with a step, as the answer says.\n\n" +
			"Percentiles are of how long the last attempt took, of runs that succeeded or failed. Durations are counted " +
			"in buckets up to 1 ms, 2 ms, 4 ms, and so on: what is told is the upper bound of a bucket, up to twice " +
			"as long as it was.\n\n" +
			"A token that is narrowed to some jobs gets the sums of those jobs.",
		out:      []outcome{{status: 200, body: wire.Stats{}}},
		problems: []problemKind{probNotFound},
	}}
}
