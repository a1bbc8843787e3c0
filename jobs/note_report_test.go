package jobs

import (
	"reflect"
	"testing"
	"time"
)

func TestWhatWasSaidLaterCounts(t *testing.T) {
	boom, bang := &SaidError{Message: "boom"}, &SaidError{Message: "bang"}
	failed := &SaidError{Message: "failed", Fail: true}
	for name, c := range map[string]struct {
		said []Said
		want Said
	}{
		"the last result":              {[]Said{{Result: Raw("1")}, {Result: Raw("2")}, {Error: boom}}, Said{Result: Raw("2"), Error: boom}},
		"a result that is too large":   {[]Said{{Result: Raw("1")}, {Truncated: true}}, Said{Truncated: true}},
		"one that is not, after it":    {[]Said{{Truncated: true}, {Result: Raw("1")}}, Said{Result: Raw("1")}},
		"the last error":               {[]Said{{Error: boom}, {Error: bang}}, Said{Error: bang}},
		"complete does not undo":       {[]Said{{Error: failed}, {Complete: true, Result: Raw("1")}}, Said{Error: failed, Complete: true, Result: Raw("1")}},
		"nor does an error undo fail":  {[]Said{{Error: failed}, {Error: boom}}, Said{Error: failed}},
		"fail goes before an error":    {[]Said{{Error: boom}, {Error: failed}}, Said{Error: failed}},
		"nothing after it":             {[]Said{{Complete: true, Result: Raw("1")}, {}}, Said{Complete: true, Result: Raw("1")}},
		"and nothing is nothing still": {[]Said{{}, {}}, Said{}},
	} {
		var got Said
		for i := range c.said {
			got.Add(&c.said[i])
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v: want %+v", name, got, c.want)
		}
	}
}

func TestReportHearsWhatWasSaid(t *testing.T) {
	exit1 := func() *Failure { return failExit(1, "Weird") }
	line := Said{Error: &SaidError{Type: "E", Message: "boom", Retryable: new(false)}}
	fail := Said{Error: &SaidError{Message: "no", RetryAfter: new(Duration(time.Minute)), Fail: true}}
	complete := Said{Complete: true, Result: Raw(`{"n":1}`)}
	both := Said{Complete: true, Result: Raw("1"), Error: fail.Error}
	reported := func(f Failure) *Failure {
		f.Kind = FailReported
		return &f
	}
	for name, c := range map[string]struct {
		report    Report
		said      Said
		callsBack bool
		want      Report
	}{
		"nothing":           {report: report(exit1()), want: report(exit1())},
		"a result":          {said: Said{Result: Raw("1")}, want: Report{Result: Raw("1")}},
		"before the answer": {report: Report{Result: Raw("1"), HTTPStatus: 200}, said: complete, want: Report{Result: complete.Result, HTTPStatus: 200}},
		"too large":         {report: Report{Result: Raw("1")}, said: Said{Truncated: true}, want: Report{ResultTruncated: true}},
		"no result of what failed": {
			report: report(exit1()), said: complete, want: report(exit1()),
		},
		"an error makes exit 0 a failure": {
			said: line,
			want: Report{Failure: reported(Failure{Type: "E", Message: "boom"}), Retryable: new(false)},
		},
		"an error says why it failed": {
			report: Report{Failure: exit1(), ExitCode: 1}, said: line,
			want: Report{
				Failure:  &Failure{Kind: FailExit, Type: "E", Message: "boom", Exit: &ExitFailure{Code: 1}},
				ExitCode: 1, Retryable: new(false),
			},
		},
		"an error without words": {
			report: report(exit1()), said: Said{Error: &SaidError{}}, want: report(exit1()),
		},
		"fail without words": {
			said: Said{Error: &SaidError{Fail: true}},
			want: report(reported(Failure{Message: "the job reported a failure"})),
		},
		"fail beats exit 1": {
			report: report(exit1()), said: fail,
			want: Report{Failure: reported(Failure{Message: "no", Exit: &ExitFailure{Code: 1}}), RetryAfter: new(time.Minute)},
		},
		"fail beats another slice": {
			report: Report{Continue: true, HTTPStatus: 200, Checkpoint: Raw("1")}, said: fail,
			want: Report{Failure: reported(Failure{Message: "no"}), HTTPStatus: 200, Checkpoint: Raw("1"), RetryAfter: new(time.Minute)},
		},
		"complete waits for the last slice": {
			report: Report{Continue: true, Checkpoint: Raw("1")}, said: complete,
			want: Report{Continue: true, Checkpoint: Raw("1"), Result: complete.Result},
		},
		"complete does not undo fail": {
			said: both, want: Report{Failure: reported(Failure{Message: "no"}), RetryAfter: new(time.Minute)},
		},
		"what the server stopped": {
			report: Report{Stopped: ErrTimeout}, said: both, want: Report{Stopped: ErrTimeout},
		},
		"taken on, nothing said": {
			report: Report{Accepted: true, HTTPStatus: 202}, callsBack: true, want: Report{Accepted: true, HTTPStatus: 202},
		},
		"complete before 202": {
			report: Report{Accepted: true, HTTPStatus: 202}, said: complete, callsBack: true,
			want: Report{Result: complete.Result, HTTPStatus: 202},
		},
		"fail before 202": {
			report: Report{Accepted: true, HTTPStatus: 202}, said: fail, callsBack: true,
			want: Report{Failure: reported(Failure{Message: "no"}), HTTPStatus: 202, RetryAfter: new(time.Minute)},
		},
		"complete counts though the request failed": {
			report: Report{Failure: failHTTP(503), HTTPStatus: 503, RetryAfterFloor: time.Minute, Retryable: new(true)}, said: complete,
			callsBack: true, want: Report{Result: complete.Result, HTTPStatus: 503, Notes: []string{"its request: answered"}},
		},
		"complete counts though the request was not answered": {
			report: Report{Stopped: ErrTimeout}, said: complete, callsBack: true,
			want: Report{Result: complete.Result, Notes: []string{"its request: the attempt's time is up"}},
		},
		"a cancel goes before complete": {
			report: Report{Stopped: ErrCancelled}, said: complete, callsBack: true, want: Report{Stopped: ErrCancelled},
		},
	} {
		c.report.Hear(&c.said, c.callsBack)
		if !reflect.DeepEqual(c.report, c.want) {
			t.Errorf("%s:\ngot  %+v, failure %+v\nwant %+v, failure %+v", name, c.report, c.report.Failure, c.want, c.want.Failure)
		}
	}
	none := report(exit1())
	none.Hear(nil, true)
	if !reflect.DeepEqual(none, report(exit1())) {
		t.Errorf("nothing said: %+v", none)
	}
}
