package client

import (
	"context"
	"net/http"
	"net/url"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func schedulePath(name, more string) string { return "/v1/schedules/" + url.PathEscape(name) + more }

// Schedules lists schedules without their payloads, those of one job where it is given.
func (c *Client) Schedules(
	ctx context.Context, job string, p Page,
) (list wire.Schedules, err error) {
	q := url.Values{}
	if job != "" {
		q.Set("job", job)
	}
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/schedules", query: p.add(q)}, &list)
	return list, err
}

// Schedule shows a schedule and its ETag.
func (c *Client) Schedule(
	ctx context.Context, name string,
) (s wire.StandingSchedule, tag string, err error) {
	res, err := c.answer(ctx, call{method: "GET", path: schedulePath(name, "")}, &s)
	if err != nil {
		return s, "", err
	}
	return s, res.Header.Get("ETag"), nil
}

// PutSchedule makes or replaces a schedule that stands by itself. match is the ETag that must stand;
// "": whatever does.
func (c *Client) PutSchedule(
	ctx context.Context, s *jobs.Schedule, match string,
) (saved wire.StandingSchedule, created bool, err error) {
	created, err = c.put(ctx, schedulePath(s.Name, ""), s.Document(), match, &saved)
	return saved, created, err
}

// DeleteSchedule deletes a schedule that stands by itself. match is the ETag that must stand; "":
// whatever does.
func (c *Client) DeleteSchedule(ctx context.Context, name, match string) error {
	in := call{method: "DELETE", path: schedulePath(name, "")}
	if match != "" {
		in.header = http.Header{"If-Match": {match}}
	}
	_, err := c.answer(ctx, in, nil)
	return err
}

// PauseSchedule lets the ticks of a schedule be skipped.
func (c *Client) PauseSchedule(
	ctx context.Context, name, note string,
) (s wire.StandingSchedule, err error) {
	in := call{method: "POST", path: schedulePath(name, "/pause"), body: &wire.Note{Note: note}}
	_, err = c.answer(ctx, in, &s)
	return s, err
}

// ResumeSchedule ends a pause.
func (c *Client) ResumeSchedule(
	ctx context.Context, name, note string,
) (s wire.StandingSchedule, err error) {
	in := call{method: "POST", path: schedulePath(name, "/resume"), body: &wire.Note{Note: note}}
	_, err = c.answer(ctx, in, &s)
	return s, err
}

// Ticks lists what became of the ticks of a schedule.
func (c *Client) Ticks(ctx context.Context, name string, p Page) (list wire.Ticks, err error) {
	in := call{method: "GET", path: schedulePath(name, "/ticks"), query: p.add(nil)}
	_, err = c.answer(ctx, in, &list)
	return list, err
}

// PreviewSchedule asks when a schedule would tick.
func (c *Client) PreviewSchedule(
	ctx context.Context, in wire.SchedulePreview,
) (out wire.PreviewedSchedule, err error) {
	_, err = c.answer(ctx, call{method: "POST", path: "/v1/schedules/preview", body: &in}, &out)
	return out, err
}

// Timeline shows schedules on a time line; filter is of its query: job, schedule, q, back, ahead, step.
func (c *Client) Timeline(ctx context.Context, filter url.Values, p Page) (line wire.Timeline, err error) {
	_, err = c.answer(ctx, call{method: "GET", path: "/v1/timeline", query: p.add(filter)}, &line)
	return line, err
}
