package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// saver is the work of runs that save a checkpoint at each step. Each attempt goes on from what it reads.
type saver struct {
	mu     sync.Mutex
	acked  map[string]int // by operation: the last step whose checkpoint was acknowledged
	sent   map[string]int // and the last one that was sent
	saves  int
	goneOn int // attempts that began in the middle
	faults []string
}

func newSaver() *saver { return &saver{acked: map[string]int{}, sent: map[string]int{}} }

const (
	steps    = 12
	stepTime = 60 * time.Millisecond
)

// step is a checkpoint.
type step struct {
	N int `json:"n"`
}

// take works for one attempt.
func (sv *saver) take(w http.ResponseWriter, req *http.Request) {
	at, err := url.Parse(req.Header.Get("Nightshift-Callback"))
	if err != nil {
		sv.fault("the callback URL of a delivery: %v", err)
		return
	}
	api := rig.NewAPI(at.Host).With(req.Header.Get("Nightshift-Token"))
	operation := req.Header.Get("Idempotency-Key")
	sv.mu.Lock()
	acked, sent := sv.acked[operation], sv.sent[operation]
	sv.mu.Unlock()
	read, ok := sv.read(req.Context(), api, at.Path)
	if !ok {
		return // the server is gone
	}
	if read < acked || read > sent {
		sv.fault("operation %s: step %d was saved and acknowledged, step %d was sent, and the next attempt reads step %d", operation, acked, sent, read)
	}
	if read > 0 {
		sv.mu.Lock()
		sv.goneOn++
		sv.mu.Unlock()
	}
	for n := read + 1; n <= steps; n++ {
		pause(req.Context(), stepTime)
		sv.mu.Lock()
		sv.sent[operation] = max(sv.sent[operation], n)
		sv.mu.Unlock()
		if _, err := api.Do(req.Context(), http.MethodPut, at.Path+"/checkpoint", "", step{n}, nil); err != nil {
			return
		}
		sv.mu.Lock()
		sv.acked[operation] = n
		sv.saves++
		sv.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"steps": 12}`)
}

// read gives the step that was saved, 0 for none; false where the server does not answer.
func (sv *saver) read(ctx context.Context, api rig.API, path string) (int, bool) {
	var raw json.RawMessage
	_, err := api.Do(ctx, http.MethodGet, path+"/checkpoint", "", nil, &raw)
	var answer *rig.StatusError
	switch {
	case errors.As(err, &answer) && answer.Status == http.StatusNotFound:
		return 0, true
	case err != nil:
		return 0, false
	}
	var s step
	if err := json.Unmarshal(raw, &s); err != nil && strings.TrimSpace(string(raw)) != "null" {
		sv.fault("a checkpoint was read as %s", raw)
	}
	return s.N, true
}

func (sv *saver) fault(format string, args ...any) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.faults = append(sv.faults, fmt.Sprintf(format, args...))
}

// tell reports what was saved, and what was lost of it.
func (sv *saver) tell(s *site) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	s.Row("checkpoints saved", fmt.Sprintf("%d by %d operations", sv.saves, len(sv.acked)))
	s.Row("attempts that went on from one", sv.goneOn)
	s.Faults = append(s.Faults, sv.faults...)
	if sv.saves == 0 {
		s.fault("no checkpoint was saved: this proves nothing")
	}
}
