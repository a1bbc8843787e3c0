// Package jobs is the domain: jobs, runs, attempts, rules, gates and what is decided about them.
//
// It owns every type that the rest speaks in and every decision, as pure functions of their
// arguments. It does no I/O, asks no clock and draws no random numbers; it must not know of
// stores, HTTP servers or goroutines.
package jobs
