package kindtest

import (
	"context"
	"strings"
	"testing"

	"nightshift/jobs"
)

// saves: what an operation has saved is the job's. A kind passes it on.
func (s Subject) saves(t *testing.T) {
	for name, saved := range map[string]string{
		"nothing":     "",
		"null":        `null`,
		"object":      "{ \"page\" : 3.10 }",
		"other text":  "\"é \u2028 \x7f 😀\"",
		"the largest": `"` + strings.Repeat("x", jobs.MaxCheckpoint-2) + `"`,
	} {
		t.Run("WhatIsSavedStaysUnlessTheJobSaysSo/"+name, func(t *testing.T) {
			call := NewCall(s.Succeeds(t))
			if saved != "" {
				call.Checkpoint = jobs.Raw(saved)
			}
			call.Continues = 7
			call.CallbackURL, call.CallbackToken = "http://127.0.0.1:8700/v1/callback/x", "nsa_x"
			rep := s.Kind.Run(context.Background(), call)
			CheckReport(t, rep)
			if rep.Failure != nil || rep.Checkpoint != nil || rep.Progress != nil {
				t.Fatalf("failure %v, checkpoint %.100q, progress %v: want none",
					rep.Failure, rep.Checkpoint, rep.Progress)
			}
			if string(call.Checkpoint) != saved {
				t.Errorf("the checkpoint became %.100q", call.Checkpoint)
			}
		})
	}
	t.Run("NothingIsSaidThatTheJobDidNotSay", func(t *testing.T) {
		call := NewCall(s.Succeeds(t))
		call.Say = func(n *jobs.Note) string {
			t.Errorf("said %+v", *n)
			return ""
		}
		rep := s.Kind.Run(context.Background(), call)
		CheckReport(t, rep)
	})
}

// says: what the job says of itself while it is under way is heard, in order.
func (s Subject) says(t *testing.T) {
	if s.Says == nil {
		return
	}
	notes := []string{
		`{"checkpoint": {"page": 1}, "progress": {"done": 1, "total": 3}}`,
		`{"checkpoint": { "page" : 2.0 }}`, `{"progress": {"done": 2, "total": 3, "note": "page 2"}}`,
		`{"result": {"rows": 9007199254740993}}`,
	}
	t.Run("WhatIsSaidIsHeardInOrder", func(t *testing.T) {
		var heard []jobs.Note
		call := NewCall(s.Says(t, notes...))
		call.Say = func(n *jobs.Note) string {
			heard = append(heard, *n)
			return ""
		}
		rep := s.Kind.Run(context.Background(), call)
		CheckReport(t, rep)
		if rep.Failure != nil || len(heard) != len(notes) {
			t.Fatalf("failure %v, heard %d notes of %d", rep.Failure, len(heard), len(notes))
		}
		if got := string(heard[1].Checkpoint); got != `{ "page" : 2.0 }` {
			t.Errorf("the second checkpoint is %q", got)
		}
		want := jobs.Progress{Done: 2, Total: 3, Note: "page 2"}
		if p := heard[2].Progress; p == nil || *p != want || heard[2].Checkpoint != nil {
			t.Errorf("the third note is %+v with progress %+v", heard[2], p)
		}
		if got := string(heard[3].Result); got != `{"rows": 9007199254740993}` {
			t.Errorf("the result is %q", got)
		}
	})
	for name, say := range map[string]func(*jobs.Note) string{
		"nobody listens": nil,
		"it is refused":  func(*jobs.Note) string { return "too large" },
	} {
		t.Run("WhatIsSaidFailsNothing/"+name, func(t *testing.T) {
			call := NewCall(s.Says(t, notes...))
			call.Say = say
			rep := s.Kind.Run(context.Background(), call)
			CheckReport(t, rep)
			if rep.Failure != nil || rep.Stopped != nil {
				t.Fatalf("failure %v, stopped %v", rep.Failure, rep.Stopped)
			}
		})
	}
}
