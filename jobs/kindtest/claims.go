package kindtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"nightshift/jobs"
)

// ends: an attempt that ends by itself is reported as it ended.
func (s Subject) ends(t *testing.T) {
	t.Run("AnAttemptThatEndsWellHasNoFailure", func(t *testing.T) {
		rep, _ := s.run(t, s.Succeeds(t))
		if rep.Failure != nil || rep.Stopped != nil {
			t.Fatalf("failure %v, stopped %v: want neither", rep.Failure, rep.Stopped)
		}
	})
	t.Run("AnAttemptThatEndsBadlyHasAFailureOfItsKind", func(t *testing.T) {
		spec, kind := s.Fails(t)
		rep, _ := s.run(t, spec)
		wantFailure(t, rep, kind)
	})
	for name, broken := range s.Unstartable {
		t.Run("WhatCannotBeginFails/"+name, func(t *testing.T) {
			rep, _ := s.run(t, broken.Spec)
			wantFailure(t, rep, broken.Kind)
		})
	}
	t.Run("AnEmptySpecFailsAndDoesNotPanic", func(t *testing.T) {
		rep, _ := s.run(t, jobs.Spec{})
		if rep.Failure == nil || rep.Stopped != nil {
			t.Fatalf("failure %v, stopped %v: want a failure", rep.Failure, rep.Stopped)
		}
	})
}

func wantFailure(t *testing.T, rep jobs.Report, kind jobs.FailureKind) {
	t.Helper()
	if rep.Stopped != nil {
		t.Fatalf("stopped: %v", rep.Stopped)
	}
	if rep.Failure == nil || rep.Failure.Kind != kind {
		t.Fatalf("failure %v: want kind %s", rep.Failure, kind)
	}
}

// stops: what the server ends is reported as ended by the server, and is gone.
func (s Subject) stops(t *testing.T) {
	t.Run("AttemptIsStoppedAtItsDeadline", func(t *testing.T) {
		h := s.Hangs(t)
		a := s.start(t, h.Spec, 300*time.Millisecond)
		rep := a.report(t)
		wantStopped(t, rep, jobs.ErrTimeout)
		if f := rep.Failure; f != nil && f.Exit == nil && f.Kind != jobs.FailTimeout {
			t.Errorf("failure of kind %s beside a time-out: want timeout, or how a process ended", f.Kind)
		}
		if time.Now().Before(a.call.Deadline) {
			t.Error("it ended before its deadline")
		}
		until(t, "the attempt to be gone", h.Gone)
	})
	for _, cause := range []error{jobs.ErrCancelled, jobs.ErrShutdown} {
		t.Run("AttemptIsStoppedWithItsCause/"+cause.Error(), func(t *testing.T) {
			h := s.Hangs(t)
			a := s.start(t, h.Spec, 0)
			await(t, "the attempt to start", h.Started)
			a.cancel(cause)
			wantStopped(t, a.report(t), cause)
			until(t, "the attempt to be gone", h.Gone)
		})
	}
	t.Run("KillAloneEndsAnAttempt", func(t *testing.T) {
		h := s.Hangs(t)
		a := s.start(t, h.Spec, 0)
		await(t, "the attempt to start", h.Started)
		close(a.kill)
		wantStopped(t, a.report(t), jobs.ErrShutdown)
		until(t, "the attempt to be gone", h.Gone)
	})
	t.Run("NothingStartsAfterTheEnd", s.startsNothing)
	if s.Stubborn != nil {
		t.Run("KillEndsWhatIgnoresAPoliteStop", func(t *testing.T) {
			h := s.Stubborn(t)
			a := s.start(t, h.Spec, 0)
			await(t, "the attempt to start", h.Started)
			a.cancel(jobs.ErrCancelled)
			close(a.kill)
			wantStopped(t, a.report(t), jobs.ErrCancelled)
			until(t, "the attempt to be gone", h.Gone)
		})
	}
	if s.Polite != nil {
		t.Run("WhatEndsWellWhenStoppedIsStillStopped", func(t *testing.T) {
			h := s.Polite(t)
			a := s.start(t, h.Spec, 0)
			await(t, "the attempt to start", h.Started)
			a.cancel(jobs.ErrShutdown)
			wantStopped(t, a.report(t), jobs.ErrShutdown)
			until(t, "the attempt to be gone", h.Gone)
		})
	}
}

// startsNothing: an attempt whose context has ended is not begun.
func (s Subject) startsNothing(t *testing.T) {
	h := s.Hangs(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(jobs.ErrCancelled)
	rep := s.Kind.Run(ctx, NewCall(h.Spec))
	CheckReport(t, rep)
	wantStopped(t, rep, jobs.ErrCancelled)
	select {
	case <-h.Started:
		t.Error("it started")
	default:
	}
	until(t, "the attempt to be gone", h.Gone)
}

func wantStopped(t *testing.T, rep jobs.Report, cause error) {
	t.Helper()
	if rep.Stopped != cause {
		t.Fatalf("stopped: %v (failure %v): want %v", rep.Stopped, rep.Failure, cause)
	}
}

// jsonResults are JSON texts that a careless hand would change.
var jsonResults = map[string]string{
	"object":        `{"b":1,"a":2}`,
	"spaces":        "{ \"a\" :\t[ 1 ,2 ] }",
	"large integer": `{"id":9007199254740993,"b":899999999999999990}`,
	"number text":   `[1.10,1e2,-0,1E400,0.1000000000000000055511151231257827]`,
	"escapes":       `"\u0041\/\u00e9é<>&\u2028"`,
	"scalar":        `true`,
	"null":          `null`,
	"empty string":  `""`,
}

// results: JSON byte for byte, text as a JSON string, more than may be kept not at all.
func (s Subject) results(t *testing.T) {
	for name, text := range jsonResults {
		if s.Results != nil {
			t.Run("JSONIsKeptByteForByte/"+name, func(t *testing.T) {
				rep, _ := s.run(t, s.Results(t, jobs.Raw(text)))
				wantResult(t, rep, text)
			})
		}
		if s.Echoes != nil {
			t.Run("PayloadArrivesByteForByte/"+name, func(t *testing.T) {
				a := s.startWith(t, s.Echoes(t), jobs.Raw(text))
				wantResult(t, a.report(t), text)
			})
		}
	}
	if s.Results != nil {
		t.Run("AResultOfTheLargestSizeIsKept", func(t *testing.T) {
			text := `"` + strings.Repeat("x", jobs.MaxResult-2) + `"`
			rep, _ := s.run(t, s.Results(t, jobs.Raw(text)))
			wantResult(t, rep, text)
		})
		t.Run("AResultPastTheLargestSizeIsNull", func(t *testing.T) {
			text := `"` + strings.Repeat("x", jobs.MaxResult-1) + `"`
			rep, _ := s.run(t, s.Results(t, jobs.Raw(text)))
			if rep.Failure != nil || rep.Result != nil || !rep.ResultTruncated {
				t.Fatalf("failure %v, %d bytes of result, truncated %t: want none, 0, true",
					rep.Failure, len(rep.Result), rep.ResultTruncated)
			}
		})
	}
	if s.Echoes != nil {
		t.Run("TheLargestPayloadArrives", func(t *testing.T) {
			payload := `"` + strings.Repeat("x", jobs.MaxPayload-2) + `"`
			rep := s.startWith(t, s.Echoes(t), jobs.Raw(payload)).report(t)
			if rep.Failure != nil || !rep.ResultTruncated {
				t.Fatalf("failure %v, truncated %t: want none, true", rep.Failure, rep.ResultTruncated)
			}
		})
	}
	if s.Texts != nil {
		t.Run("TextBecomesAJSONString", func(t *testing.T) {
			rep, _ := s.run(t, s.Texts(t, []byte("done: 5 <rows> \"ok\"\n\xff.")))
			var got string
			if rep.Failure != nil || json.Unmarshal(rep.Result, &got) != nil {
				t.Fatalf("failure %v, result %.100q: want a JSON string", rep.Failure, rep.Result)
			}
			if want := "done: 5 <rows> \"ok\"\n\uFFFD."; got != want {
				t.Errorf("result %q: want %q", got, want)
			}
		})
	}
}

func (s Subject) startWith(t testing.TB, spec jobs.Spec, payload jobs.Raw) *attempt {
	call := NewCall(spec)
	call.Payload = payload
	a := &attempt{call: call, done: make(chan jobs.Report, 1)}
	go func() { a.done <- s.Kind.Run(context.Background(), call) }()
	return a
}

func wantResult(t *testing.T, rep jobs.Report, want string) {
	t.Helper()
	if rep.Failure != nil || rep.ResultTruncated || string(rep.Result) != want {
		t.Fatalf("failure %v, truncated %t, result %.200q: want %.200q",
			rep.Failure, rep.ResultTruncated, rep.Result, want)
	}
}

// bounds: whatever comes out, what is kept is bounded and valid text.
func (s Subject) bounds(t *testing.T) {
	if s.Floods != nil {
		t.Run("AFloodIsBounded", func(t *testing.T) {
			rep, log := s.run(t, s.Floods(t, 8<<20))
			if rep.Stopped != nil {
				t.Fatalf("stopped: %v", rep.Stopped)
			}
			if s.MaxLog > 0 && log.Size() > s.MaxLog {
				t.Errorf("%d bytes in the log: at most %d", log.Size(), s.MaxLog)
			}
		})
	}
	if s.Garbles != nil {
		t.Run("GarbageIsKeptAsValidText", func(t *testing.T) {
			rep, _ := s.run(t, s.Garbles(t)) // CheckReport is the claim
			if rep.Failure == nil {
				t.Fatal("it did not fail")
			}
		})
	}
	if s.Prints != nil {
		t.Run("WhatIsPrintedReachesTheLog", func(t *testing.T) {
			text := []byte("first \xff\x00 line\nsecond line without end")
			rep, log := s.run(t, s.Prints(t, text))
			if rep.Failure != nil {
				t.Fatalf("failure: %v", rep.Failure)
			}
			if !bytes.Contains(log.Bytes(), text) {
				t.Errorf("log %.200q: want it to hold %q", log.Bytes(), text)
			}
			if !strings.Contains(rep.OutputTail, "second line") || !utf8.ValidString(rep.OutputTail) {
				t.Errorf("output tail %.200q: want the last line in it", rep.OutputTail)
			}
		})
	}
}

// concurrently: attempts at the same time do not mix.
func (s Subject) concurrently(t *testing.T) {
	const n = 16
	specs := make([]jobs.Spec, n)
	for i := range specs {
		if s.Echoes != nil {
			specs[i] = s.Echoes(t)
			continue
		}
		specs[i] = s.Succeeds(t)
	}
	var wg sync.WaitGroup
	for i, spec := range specs {
		wg.Go(func() {
			call := NewCall(spec)
			call.Payload = fmt.Appendf(nil, `{"n":%d}`, i)
			rep := s.Kind.Run(context.Background(), call)
			CheckReport(t, rep)
			if rep.Failure != nil || s.Echoes != nil && string(rep.Result) != string(call.Payload) {
				t.Errorf("attempt %d: failure %v, result %.100q", i, rep.Failure, rep.Result)
			}
		})
	}
	wg.Wait()
}
