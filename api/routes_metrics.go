package api

func metricsRoutes() []*route {
	return []*route{{
		method: "GET", path: "/metrics", opens: scopeRead, whole: true, handle: getMetrics, tag: "server", id: "get-metrics",
		summary: "Metrics for Prometheus, in its text format",
		more: "jobs_processed_total, jobs_failed_total, jobs_retry_total and job_duration_seconds by job; what is the server's own " +
			"begins with nightshift_. Counters begin at zero with the process, and are counted when what they count is on disk. " +
			"Of jobs, queues, dependencies and alerts the first 500 have series of their own, the others count as _other together; " +
			"no label holds an id. Prometheus reads the token from a file: authorization.credentials_file.",
		out: []outcome{{status: 200, media: []string{metricsMedia}}},
	}}
}
