package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// call makes one request of the API and reads its JSON answer into to, where that is not nil.
func (s *server) call(ctx context.Context, method, path string, body, to any) error {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.addr+path, in)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+benchToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s answered %s: %s", method, path, resp.Status, tail(text))
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	return nil
}

// register makes a webhook job that calls the receiver, as often at once as there are workers.
func (s *server) register(ctx context.Context, l *lab, job string) error {
	return errors.Join(s.unbind(ctx, l), s.putJob(ctx, l, job, map[string]any{}))
}

// unbind takes what every host has by default off the receiver: a concurrency of 16 and a breaker.
// With them most figures would tell how many calls a host is spared, not what the server can do.
func (s *server) unbind(ctx context.Context, l *lab) error { return s.free(ctx, l.receiver.host()) }

func (s *server) free(ctx context.Context, host string) error {
	return s.call(ctx, http.MethodPut, "/v1/dependencies/"+host, map[string]any{"concurrency": nil, "breaker": nil}, nil)
}

// putJob makes a webhook job that calls the receiver; more are further fields of it.
func (s *server) putJob(ctx context.Context, l *lab, job string, more map[string]any) error {
	more["webhook"] = map[string]any{"url": l.receiver.url()}
	return s.call(ctx, http.MethodPut, "/v1/jobs/"+job, more, nil)
}

func (s *server) pause(ctx context.Context, job string) error {
	return s.call(ctx, http.MethodPost, "/v1/jobs/"+job+"/pause", map[string]any{}, nil)
}

func (s *server) resume(ctx context.Context, job string) error {
	return s.call(ctx, http.MethodPost, "/v1/jobs/"+job+"/resume", map[string]any{}, nil)
}

// runBody is the body of one enqueue.
func runBody(n int, sentAt int64) []byte {
	return fmt.Appendf(nil, `{"payload":%s}`, payload(n, sentAt))
}

func runsPath(job string) string { return "/v1/jobs/" + job + "/runs" }

// batchSize is the number of runs in a batch.
const batchSize = 1000

// batchBody is a batch of the runs first to first+n-1.
func batchBody(job string, first, n int) []byte {
	b := []byte(`{"runs":[`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"job":%q,"payload":%s}`, job, payload(first+i, 0))
	}
	return append(b, "]}"...)
}

// batch sends a batch of n runs and fails unless n items come back.
func (w *wire) batch(body []byte, n int) error {
	if err := w.post("/v1/runs/batch", body); err != nil {
		return err
	}
	if got := bytes.Count(w.body, []byte(`"id":`)); got != n {
		return fmt.Errorf("a batch of %d runs was answered with %d items", n, got)
	}
	return nil
}

// load enqueues the runs 0 to n-1 in batches.
func (s *server) load(ctx context.Context, job string, n int) error {
	w, err := dialWire(ctx, s.addr)
	if err != nil {
		return err
	}
	defer w.close()
	for first := 0; first < n; first += batchSize {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		size := min(batchSize, n-first)
		if err := w.batch(batchBody(job, first, size), size); err != nil {
			return err
		}
	}
	return nil
}

// pages walks a list of runs; more decides after each page whether to go on.
func (s *server) pages(ctx context.Context, query url.Values, more func(items int) bool) error {
	for {
		var page struct {
			Items []struct {
				ID string `json:"id"`
			} `json:"items"`
			Next *string `json:"next"`
		}
		if err := s.call(ctx, http.MethodGet, "/v1/runs?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		if !more(len(page.Items)) || page.Next == nil {
			return nil
		}
		query.Set("cursor", *page.Next)
	}
}

// any reports whether a run is in a state.
func (s *server) any(ctx context.Context, state string) (found bool, err error) {
	err = s.pages(ctx, url.Values{"state": {state}, "limit": {"1"}}, func(items int) bool {
		found = items > 0
		return !found
	})
	return found, err
}

// expect fails unless exactly n runs of the job are in a state.
func (s *server) expect(ctx context.Context, job, state string, n int) error {
	got := 0
	query := url.Values{"job": {job}, "state": {state}, "limit": {"1000"}}
	err := s.pages(ctx, query, func(items int) bool {
		got += items
		return true
	})
	if err == nil && got != n {
		err = fmt.Errorf("the API shows %d runs of %s %s: want %d", got, job, state, n)
	}
	return err
}

// settle waits until no run is running: the API's word that all have ended, once every webhook
// has arrived. It asks for the state alone, the cheapest list there is, so as not to be part of
// what is measured; that each run succeeded is for expect to tell, afterwards.
func (s *server) settle(ctx context.Context) error {
	deadline := time.Now().Add(stallAfter)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		busy, err := s.any(ctx, "running")
		switch {
		case err != nil:
			return err
		case !busy:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("stuck: all webhooks arrived, but %s later a run is still running",
				stallAfter)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
