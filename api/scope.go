package api

import (
	"path"
	"strings"
)

// scopes is a set of rights.
type scopes uint8

// The rights. Operate holds read and enqueue, admin all.
const (
	scopeRead    scopes = 1 << iota // every GET, but of tokens and the audit; questions about rules
	scopeEnqueue                    // makes runs, and reads those it made
	scopeOperate                    // cancel, run-now, requeue, pause, resume, trip, reset
	scopeAdmin                      // everything
)

// scopeNames are the names in documents, in order of the bits.
var scopeNames = []string{"read", "enqueue", "operate", "admin"}

// scopesOf reads names; ok is false where one is unknown.
func scopesOf(names []string) (set scopes, ok bool) {
	for _, name := range names {
		switch name {
		case "read":
			set |= scopeRead
		case "enqueue":
			set |= scopeEnqueue
		case "operate":
			set |= scopeOperate | scopeRead | scopeEnqueue
		case "admin":
			set |= scopeAdmin | scopeOperate | scopeRead | scopeEnqueue
		default:
			return 0, false
		}
	}
	return set, true
}

// String lists the rights of which one is needed.
func (set scopes) String() string {
	var names []string
	for i, name := range scopeNames {
		if set&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// matches reports whether a job's name fits one of the patterns, where * stands for any
// characters. No patterns: it does.
func matches(patterns []string, job string) bool {
	if patterns == nil {
		return true
	}
	for _, p := range patterns {
		if ok, err := path.Match(p, job); err == nil && ok {
			return true
		}
	}
	return false
}
