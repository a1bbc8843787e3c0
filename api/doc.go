// Package api is the HTTP API: routes, access, the shapes of answers and the one mapping of
// errors to statuses.
//
// It owns everything about HTTP that comes in. What a call means is the runtime's business: a
// handler reads its input, makes one call and writes what came of it. It must not know of SQL, of
// concrete kinds, or decide anything about runs.
package api
