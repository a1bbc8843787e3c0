package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// plan is a schedule by itself, as it is registered.
type plan struct {
	Name    string          `json:"name,omitempty"`
	Job     string          `json:"job"`
	Cron    string          `json:"cron"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Start   *time.Time      `json:"start,omitempty"`
	End     *time.Time      `json:"end,omitempty"`
	Overlap string          `json:"overlap,omitempty"`
	CatchUp *catchUp        `json:"catch_up,omitempty"`
}

type catchUp struct {
	Mode  string `json:"mode"`
	Limit int    `json:"limit,omitempty"`
}

// plansOf are n schedules of a job that are alike but for their names and payloads.
func plansOf(n int, job string, like plan) []plan {
	plans := make([]plan, n)
	for i := range plans {
		plans[i] = like
		plans[i].Name, plans[i].Job = fmt.Sprintf("%s-%05d", job, i), job
		plans[i].Payload = payload(i, 0)
	}
	return plans
}

// apply registers schedules by one request and gives how long that took.
func (s *server) apply(ctx context.Context, set string, plans []plan) (time.Duration, error) {
	started := time.Now()
	err := s.call(ctx, http.MethodPost, "/v1/apply?set="+set, map[string]any{"schedules": plans}, nil)
	return time.Since(started), err
}

// start is how a run of a schedule began.
type start struct {
	CreatedAt    time.Time `json:"created_at"`
	ScheduledFor time.Time `json:"scheduled_for"`
	StartedAt    time.Time `json:"started_at"` // zero: not yet
}

// late is by how much it began after its tick.
func (s *start) late() time.Duration { return s.StartedAt.Sub(s.ScheduledFor) }

// starts lists runs of a job.
func (s *server) starts(ctx context.Context, job string, query url.Values) (list []start, err error) {
	query.Set("job", job)
	query.Set("limit", "1000")
	for {
		var page struct {
			Items []start `json:"items"`
			Next  *string `json:"next"`
		}
		if err := s.call(ctx, http.MethodGet, "/v1/runs?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		list = append(list, page.Items...)
		if page.Next == nil {
			return list, nil
		}
		query.Set("cursor", *page.Next)
	}
}

// poll asks every so often until done says so; an error where nothing ever does.
func poll(ctx context.Context, every, most time.Duration, done func() (bool, error)) error {
	deadline := time.Now().Add(most)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ok, err := done()
		switch {
		case err != nil || ok:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("stuck: not done after %s", most)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// rest waits.
func rest(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
