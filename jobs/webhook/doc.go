// Package webhook is the kind of job that calls an HTTP endpoint (contract 5).
//
// It owns the request, the connection it goes out on, the addresses it may go to and what is made
// of the answer. It must not know of stores, retries or states.
//
// It speaks HTTP/1.1 over connections of its own instead of through [net/http.Transport], which
// sends a request a second time by itself when a kept connection turns out to be broken: always
// for GET and HEAD, and for everything that carries an Idempotency-Key. Here an attempt writes
// its request once, by construction: there is one place that writes and no loop around it. It also
// saves the two goroutines per connection and the hand-over to them for each request. Answers are
// read by [net/http.ReadResponse].
//
// Kept connections: one is used again at most 30 s after its last answer, sooner where the answer
// said so (Keep-Alive: timeout=N), and only after a look that the other side has not closed it.
// If it closes in the instant between that look and the request, the attempt fails with kind
// connection; it is not sent again, for nobody can tell whether it arrived.
package webhook
