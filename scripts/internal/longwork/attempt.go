package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// The calls of a callback.
const (
	complete   = "complete"
	fail       = "fail"
	heartbeat  = "heartbeat"
	progress   = "progress"
	logs       = "log"
	checkpoint = "checkpoint"
)

// attempt is what a receiver knows of the attempt it was given: whom to call back, and as whom.
type attempt struct {
	history *history
	api     rig.API
	run     string
	number  int
	token   string
	path    string // of the callback
}

// attemptOf reads the headers of a request.
func attemptOf(h *history, api rig.API, header http.Header) (*attempt, error) {
	a := &attempt{history: h, run: header.Get("Nightshift-Run")}
	back, err := url.Parse(header.Get("Nightshift-Callback"))
	if err != nil {
		return nil, fmt.Errorf("Nightshift-Callback: %w", err)
	}
	// The server must be where it says it is: it is asked there.
	api.Addr, a.path = back.Host, back.Path
	a.token = header.Get("Nightshift-Token")
	a.api = api.With(a.token)
	a.number, err = numberOf(a.token)
	return a, err
}

// numberOf reads the number of an attempt from its token: no header says it, as Nightshift-Attempt counts
// only those that use up max_attempts.
func numberOf(token string) (int, error) {
	text, ok := strings.CutPrefix(token, "nsa_")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(raw) < 4 {
		return 0, fmt.Errorf("token of %d characters: want nsa_, and in base64 the number in four bytes first", len(token))
	}
	return int(binary.BigEndian.Uint32(raw)), nil
}

// send sends a request with the token and gives the status, 0 where the outcome is unknown, and
// the state that the answer names.
func (a *attempt) send(ctx context.Context, name string, body any) (status int, state string) {
	method := http.MethodPost
	if name == checkpoint {
		method = http.MethodPut
	}
	var answer struct{ State string }
	out := any(nil)
	if name == complete || name == fail {
		out = &answer
	}
	status, err := a.api.Do(ctx, method, a.path+"/"+name, "", body, out)
	var refused *rig.StatusError
	switch {
	case err == nil:
		return status, answer.State
	case !errors.As(err, &refused) || refused.Passing():
		return 0, ""
	}
	_ = json.Unmarshal([]byte(refused.Body), &answer)
	if status != http.StatusConflict || answer.State == "" {
		a.history.fault("run %s: attempt %d: %s was answered with %v; want 2xx, or 409 with the state", a.run, a.number,
			name, refused)
	}
	return status, answer.State
}

// once says something and notes what came of it.
func (a *attempt) once(ctx context.Context, name string, body any) *call {
	c := &call{attempt: a.number, name: name}
	if said, ok := body.(map[string]any); ok && name == complete {
		c.value, _ = said["result"].(string)
	}
	a.history.calls(a.run, c)
	status, state := a.send(ctx, name, body)
	a.history.answered(a.run, c, status, state)
	return c
}

// until repeats that while the outcome is unknown.
func (a *attempt) until(ctx context.Context, name string, body any) *call {
	for {
		c := a.once(ctx, name, body)
		if c.status != 0 || !pause(ctx, 20*time.Millisecond) {
			return c
		}
	}
}

// save saves the next number and gives the status.
func (a *attempt) save(ctx context.Context, s *saved) int {
	n, over := a.history.sends(a.run, a.number, s)
	status, _ := a.send(ctx, checkpoint, value{n, s.by})
	if status/100 == 2 {
		a.history.keeps(s, n)
		if over {
			a.history.fault("run %s: attempt %d was over, and its checkpoint %d was taken", a.run, a.number, n)
		}
	}
	return status
}

// reads asks for the checkpoint. ok is false where the outcome is unknown, or the attempt over.
func (a *attempt) reads(ctx context.Context) (v value, ok bool) {
	_, err := a.api.Do(ctx, http.MethodGet, a.path+"/"+checkpoint, "", nil, &v)
	return v, err == nil
}

// pause waits; it reports false where ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// readValue reads a checkpoint; "" and null are the first value.
func readValue(text string) (v value, err error) {
	if strings.TrimSpace(text) == "" {
		return v, nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return v, fmt.Errorf("checkpoint %q: %w", text, err)
	}
	return v, nil
}
