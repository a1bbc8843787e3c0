// Package webhook is the kind of job that calls an HTTP endpoint (contract 5).
//
// It owns the request, the addresses it may go to and what is made of the answer. It must not know
// of stores, retries or states.
//
// HTTP is spoken by [net/http.Transport], called without an http.Client: no redirect is followed
// that the job does not ask for (redirect.go says which), no cookie kept. The Transport sends a
// request again by itself only if it may take it for one that can be replayed; ours never can
// (plan.request says how). What is added is the wrapper conn around each connection, for what the
// Transport does not tell: whether anything of a request was written, and whether what is read
// belongs to it.
//
// Kept connections: one is used again at most 30 s after its last answer, sooner where the answer
// said so (Keep-Alive: timeout=N). One that is found closed before a byte was written costs the
// attempt nothing: another is taken. If it breaks later the attempt fails with kind connection; it
// is not sent again, for nobody can tell whether it arrived.
package webhook
