package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// checkCalls judges the attempts of a run of completion callback by what was said with their tokens.
func (h *history) checkCalls(r *record) (faults []string) {
	for i := range r.final.Attempts {
		a := &r.final.Attempts[i]
		if f := h.checkOutcome(r, a); f != "" {
			faults = append(faults, fmt.Sprintf("attempt %d %s (%v): %s", a.Number, a.Outcome, a.Error, f))
		}
	}
	if r.final.State == "succeeded" {
		faults = append(faults, checkResult(r)...)
	}
	return faults
}

// said is what an attempt said of its end.
type said struct {
	completed, failed           bool // acknowledged
	mayHaveCompleted, mayFailed bool // not refused
	succeeded                   bool // the answer to complete says that the run has
	results                     []string
}

func (r *record) said(number int) (s said) {
	for _, c := range r.calls {
		if c.attempt != number {
			continue
		}
		switch {
		case c.name == complete && c.open():
			s.mayHaveCompleted, s.completed = true, s.completed || c.taken()
			s.succeeded = s.succeeded || c.taken() && c.state == "succeeded"
			s.results = append(s.results, c.value)
		case c.name == fail && c.open():
			s.mayFailed, s.failed = true, s.failed || c.taken()
		}
	}
	return s
}

// checkOutcome says what is wrong with the outcome of an attempt; "": nothing.
func (h *history) checkOutcome(r *record, a *rig.Attempt) string {
	s, meant := r.said(a.Number), ""
	if of := r.deliveriesOf(a.Number); len(of) > 1 {
		return fmt.Sprintf("it was delivered %d times", len(of))
	} else if len(of) == 1 {
		meant = of[0].meant
	}
	kind := ""
	if a.Error != nil {
		kind = a.Error.Kind
	}
	switch {
	case a.Outcome == "cancelled" && s.succeeded:
		return "complete was answered with the state succeeded"
	case a.Outcome == "cancelled":
		return ""
	case s.failed && kind != "reported":
		return "fail was acknowledged"
	case s.completed && !s.mayFailed && a.Outcome != "succeeded":
		return "complete was acknowledged"
	}
	switch {
	case a.Outcome == "succeeded":
		return unless(s.mayHaveCompleted || meant == done, "nobody has said that it did")
	case lost(a) || kind == "shutdown":
		return unless(!r.waited[a.Number], "it had been seen waiting for its callback")
	}
	switch kind {
	case "reported":
		return unless(s.mayFailed, "no fail was sent")
	case "http":
		return unless(meant == refuses && a.HTTPStatus == 503, "the receiver meant to answer "+meant)
	case "connection":
		return unless(meant == hangsUp, "the receiver meant to answer "+meant)
	case "timeout":
		return unless(r.job == beaten && lasted(a) >= endsWithin-early, fmt.Sprintf("it lasted %v", lasted(a)))
	case "heartbeat":
		return h.checkSilence(r, a)
	}
	return "not one of the ends there are"
}

func unless(right bool, fault string) string {
	if right {
		return ""
	}
	return fault
}

func lasted(a *rig.Attempt) time.Duration {
	from, err1 := time.Parse(time.RFC3339, a.StartedAt)
	until, err2 := time.Parse(time.RFC3339, a.FinishedAt)
	if err1 != nil || err2 != nil {
		return 0
	}
	return until.Sub(from)
}

// checkSilence wants a whole heartbeat_timeout without a word, or a start of the server, before an attempt
// fails for it.
func (h *history) checkSilence(r *record, a *rig.Attempt) string {
	if r.job != beaten {
		return "the job has no heartbeat_timeout"
	}
	at, _ := r.finished(a.Number)
	var heard, before time.Time // its last two words
	for _, c := range r.calls {
		if c.attempt == a.Number && c.taken() && c.sent.Before(at) {
			before, heard = heard, c.sent
		}
	}
	// A word that comes while it is being ended changes that no more.
	if silent := max(at.Sub(heard), heard.Sub(before)); silent < beatsWithin-early {
		return fmt.Sprintf("its last word was taken %v before", at.Sub(heard))
	}
	// Nothing could be heard while it stood still either.
	for _, began := range slices.Concat(h.deaths, h.thaws) {
		if since := at.Sub(began); since > 0 && since < beatsWithin-early {
			return fmt.Sprintf("the server was started less than %v before", since)
		}
	}
	return ""
}

// checkResult wants the result of a run to be one that its last attempt has given.
func checkResult(r *record) []string {
	last := r.final.Attempts[len(r.final.Attempts)-1].Number
	s := r.said(last)
	results := s.results
	if !s.completed {
		results = append(results, plainly) // of an answer of 200
	}
	if got := strings.Trim(string(r.final.Result), `"`); !slices.Contains(results, got) {
		return []string{fmt.Sprintf("its result is %q; its last attempt gave %q", got, results)}
	}
	return nil
}
