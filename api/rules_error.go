package api

import (
	"fmt"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
)

// failureOf is the failure that a check tells of, as an attempt would have recorded it, and what is
// wrong with it.
func failureOf(in *wire.RulesError) (*jobs.Failure, []jobs.Fault) {
	var found []jobs.Fault
	f := &jobs.Failure{
		Kind: jobs.FailureKind(in.Kind), Type: in.Type, Message: in.Message, Stack: in.Stack,
		Reported: in.Reported,
	}
	if h := in.HTTP; h != nil {
		f.HTTP = &jobs.HTTPFailure{Status: h.Status, Headers: h.Headers, Body: bodyText(h.Body)}
		if h.Status < 0 || h.Status > 999 {
			found = append(found, jobs.Fault{
				Location: "error.http.status", Message: "want a status such as 503",
			})
		}
	}
	if x := in.Exit; x != nil {
		f.Exit = &jobs.ExitFailure{Code: -1, Signal: x.Signal}
		if x.Code != nil {
			f.Exit.Code = *x.Code
		}
	}
	if f.Kind == "" {
		f.Kind = kindOf(f)
	}
	if message := wrongKind(f.Kind); message != "" {
		found = append(found, jobs.Fault{Location: "error.kind", Message: message})
	}
	return f.Bound(), found
}

// bodyText is the text of an answer that was written as JSON, or as a string of its text.
func bodyText(body jobs.Raw) string {
	var text string
	if jobs.DecodeJSON(body, &text) == nil {
		return text
	}
	return string(body)
}

// kindOf is the kind of a failure that has none: what its parts say.
func kindOf(f *jobs.Failure) jobs.FailureKind {
	switch {
	case f.HTTP != nil:
		return jobs.FailHTTP
	case f.Exit != nil && f.Exit.Code < 0:
		return jobs.FailSignal
	case f.Exit != nil:
		return jobs.FailExit
	}
	return ""
}

// wrongKind says what is wrong with a kind of which rules are asked.
func wrongKind(kind jobs.FailureKind) string {
	list := strings.Join(jobs.RuleKinds, ", ")
	switch kind {
	case "":
		return "is missing: want one of " + list
	case jobs.FailShutdown, jobs.FailLost, jobs.FailCrashLoop:
		return fmt.Sprintf("rules are not asked about %s: the server ended the attempt, not the job", kind)
	}
	for _, known := range jobs.RuleKinds {
		if known == string(kind) {
			return ""
		}
	}
	return "want one of " + list
}

// tailOf is what of an output is kept with an attempt.
func tailOf(output string) string {
	return strings.ToValidUTF8(output[max(0, len(output)-jobs.MaxOutput):], "")
}
