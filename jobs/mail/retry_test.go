package mail

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// decision is what the policy default makes of a first attempt.
func decision(t testing.TB, rep jobs.Report) jobs.Decision {
	t.Helper()
	plan, err := jobs.Compile(&jobs.Job{Name: "a", Mail: mailTo("ops@example.com").Mail}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return jobs.Decide(jobs.Ending{Plan: plan, Counts: jobs.Counts{Number: 1}, Report: rep}).Decision
}

func wantDecision(t testing.TB, rep jobs.Report, action string) {
	t.Helper()
	if d := decision(t, rep); d.Action != action {
		t.Errorf("decision %+v: want %s", d, action)
	}
}

// again is the next attempt of the same run.
func again(call *jobs.Call, rep jobs.Report) *jobs.Call {
	next := *call
	next.Number++
	next.Attempt++
	if rep.Checkpoint != nil {
		next.Checkpoint = rep.Checkpoint
	}
	return &next
}

func wantAccepted(t testing.TB, rep jobs.Report, call *jobs.Call, want ...string) {
	t.Helper()
	wantSent(t, rep)
	var result struct {
		Accepted  []string `json:"accepted"`
		MessageID string   `json:"message_id"`
	}
	if err := json.Unmarshal(rep.Result, &result); err != nil {
		t.Fatalf("result %s: %v", rep.Result, err)
	}
	if !slices.Equal(result.Accepted, want) {
		t.Errorf("accepted %q: want %q", result.Accepted, want)
	}
	if id := "<" + call.Operation.String() + "@here.test>"; result.MessageID != id {
		t.Errorf("message id %s: want %s", result.MessageID, id)
	}
}

func TestRetryGoesOnlyToRecipientsNotYetAcceptedWithTheSameMessageID(t *testing.T) {
	b := startBox(t, options{})
	k := b.inClear()
	spec := mailTo("one@example.com", "Two <two@EXAMPLE.com>")
	spec.Mail.CC = []string{"grey-450@example.com", "one@Example.com"}
	call := kindtest.NewCall(spec)
	first := run(t, k, call)
	wantFailure(t, first, jobs.FailSMTP, "450", "grey-450@example.com: 450 4.7.1 come back later", "taken by 2 of 3")
	wantDecision(t, first, jobs.ThenRetry)
	second := again(call, first)
	wantAccepted(t, run(t, k, second), call, "one@example.com", "two@example.com", "grey-450@example.com")
	m := b.messages()
	if len(m) != 2 {
		t.Fatalf("%d messages", len(m))
	}
	if got := m[0].Envelope.To; !slices.Equal(got, []string{"one@example.com", "two@example.com"}) {
		t.Errorf("first to %q", got)
	}
	if got := m[1].Envelope.To; !slices.Equal(got, []string{"grey-450@example.com"}) {
		t.Errorf("then to %q", got)
	}
	for _, name := range []string{"Message-ID", "To", "Cc", "Subject"} {
		if a, b := m[0].header(name), m[1].header(name); a != b || a == "" {
			t.Errorf("%s: %q, then %q", name, a, b)
		}
	}
	if n := len(b.all("to")); n != 4 {
		t.Errorf("%d times a recipient was named", n)
	}
}

func TestRecipientRefusedForGoodFailsTheRunAndIsNamed(t *testing.T) {
	b := startBox(t, options{})
	call := kindtest.NewCall(mailTo("one@example.com", "two@example.com", "no-550@example.com"))
	rep := run(t, b.inClear(), call)
	wantFailure(t, rep, jobs.FailSMTP, "550", "refused by no-550@example.com: 550 5.1.1", "taken by 2 of 3")
	wantDecision(t, rep, jobs.ThenFail)
	if m := b.messages(); len(m) != 1 || len(m[0].Envelope.To) != 2 {
		t.Errorf("messages: %+v", m)
	}
	log := string(call.Log.(*kindtest.Log).Bytes())
	if !strings.Contains(log, "one@example.com: 250") || !strings.Contains(log, "no-550@example.com: 550") ||
		rep.OutputTail != log {
		t.Errorf("log %q, tail %q", log, rep.OutputTail)
	}
}

func TestPassingRefusalsAreTriedAgainBeforeTheOthersFailTheRun(t *testing.T) {
	b := startBox(t, options{})
	k := b.inClear()
	call := kindtest.NewCall(mailTo("no-551@example.com", "grey-451@example.com", "one@example.com"))
	first := run(t, k, call)
	wantFailure(t, first, jobs.FailSMTP, "451", "not taken yet by grey-451@", "refused by no-551@", "taken by 1 of 3")
	wantDecision(t, first, jobs.ThenRetry)
	second := again(call, first)
	last := run(t, k, second)
	wantFailure(t, last, jobs.FailSMTP, "551", "refused by no-551@example.com: 551 5.1.1", "taken by 2 of 3")
	wantDecision(t, last, jobs.ThenFail)
	if strings.Contains(last.Failure.Message, "grey") {
		t.Errorf("message %q", last.Failure.Message)
	}
	if m := b.messages(); len(m) != 2 || !slices.Equal(m[1].Envelope.To, []string{"grey-451@example.com"}) {
		t.Errorf("messages: %+v", m)
	}
	// A requeue is another run of the operation: what was refused is asked once more, what was
	// taken is not.
	requeued := again(call, last)
	requeued.Run = kindtest.NewCall(call.Spec).Run
	before := len(b.all("to"))
	wantFailure(t, run(t, k, requeued), jobs.FailSMTP, "551", "taken by 2 of 3")
	b.until("the connections to be closed", b.idle)
	if asked := b.all("to")[before:]; len(asked) != 1 || asked[0].Address != "no-551@example.com" {
		t.Errorf("asked again: %+v", asked)
	}
}

func TestAnswerToTheMessageHoldsForAllWhoWereTaken(t *testing.T) {
	b := startBox(t, options{})
	k := b.inClear()
	rep := send(t, k, mailTo("one@example.com", "end-554@example.com"))
	wantFailure(t, rep, jobs.FailSMTP, "554", "one@example.com: 554 5.7.1 the message is not liked", "end-554@")
	wantDecision(t, rep, jobs.ThenFail)
	rep = send(t, k, mailTo("one@example.com", "end-452@example.com", "no-550@example.com"))
	wantFailure(t, rep, jobs.FailSMTP, "452", "not taken yet by one@example.com: 452", "refused by no-550@")
	wantDecision(t, rep, jobs.ThenRetry)
	if n := len(b.messages()); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func TestServerThatGivesUpTheConnectionIsTriedAgainForAll(t *testing.T) {
	b := startBox(t, options{})
	rep := send(t, b.inClear(), mailTo("one@example.com", "gone-421@example.com", "two@example.com"))
	wantFailure(t, rep, jobs.FailSMTP, "421", "one@example.com: 421 closing", "two@example.com: 421 closing")
	wantDecision(t, rep, jobs.ThenRetry)
	if n := len(b.messages()); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func TestNobodyTakenSendsNoMessage(t *testing.T) {
	b := startBox(t, options{})
	rep := send(t, b.inClear(), mailTo("no-450@example.com", "no-550@example.com"))
	wantFailure(t, rep, jobs.FailSMTP, "450")
	if strings.Contains(rep.Failure.Message, "taken by 0") {
		t.Errorf("message %q", rep.Failure.Message)
	}
	if n := len(b.messages()); n != 0 {
		t.Errorf("%d messages", n)
	}
}

// All have taken it, and the server died before that was on record as a success.
func TestAttemptWithNobodyLeftSendsNothing(t *testing.T) {
	b := startBox(t, options{})
	k := b.inClear()
	call := kindtest.NewCall(mailTo("one@example.com"))
	call.Checkpoint = jobs.Raw(`{"run":"x","accepted":["one@example.com"],"later":1}`)
	wantAccepted(t, run(t, k, call), call, "one@example.com")
	if n := len(b.all("open")); n != 0 {
		t.Errorf("%d connections", n)
	}
	call.Checkpoint = jobs.Raw(`{"accepted":"one@example.com"}`)
	rep := run(t, k, call)
	wantSent(t, rep)
	if len(rep.Notes) != 1 || !strings.Contains(rep.Notes[0], "not one of a mail") || len(b.messages()) != 1 {
		t.Errorf("notes %q, %d messages", rep.Notes, len(b.messages()))
	}
}
