package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"nightshift/api/client"
	"nightshift/jobs"
)

// liveEvery is how often a page is told at most that something has changed.
const liveEvery = time.Second

// live tells a page that something has changed that it shows: an event changed, upon which the page reads itself
// anew. ?run= and ?job= narrow it.
func live(v *view) error {
	out, err := openStream(v.w)
	if err != nil {
		return err
	}
	run, job := v.query("run"), v.query("job")
	changes := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(v.ctx())
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer cancel()
		_, err := v.API.FollowEvents(ctx, client.EventFilter{Live: true}, func(e jobs.CloudEvent) error {
			if run != "" && !concernsRun(&e, run) || job != "" && !concernsJob(&e, job) {
				return nil
			}
			select {
			case changes <- struct{}{}:
			default:
			}
			return nil
		}, nil)
		if err != nil && !errors.Is(err, client.ErrCut) && ctx.Err() == nil {
			v.site.cfg.Log.Warn("a page cannot follow what happens", "error", err)
		}
	}()
	defer func() { <-over }()
	defer cancel()
	return out.tell(ctx, changes)
}

// stream is a stream of server-sent events.
type stream struct {
	w   http.ResponseWriter
	out *http.ResponseController
}

func openStream(w http.ResponseWriter) (*stream, error) {
	s := &stream{w: w, out: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	return s, s.write(":\n\n")
}

func (s *stream) write(text string) error {
	_ = s.out.SetWriteDeadline(time.Now().Add(writeWithin))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.out.Flush()
}

// beatEvery is how often a stream without news shows that it is alive.
const beatEvery = 15 * time.Second

// tell sends an event for changes, until ctx ends or the browser leaves.
func (s *stream) tell(ctx context.Context, changes <-chan struct{}) error {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		text := ":\n\n"
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		case <-changes:
			text = "event: changed\ndata: \n\n"
		}
		if s.write(text) != nil {
			return nil // nobody reads it any more
		}
		select {
		case <-ctx.Done():
		case <-time.After(liveEvery):
		}
	}
}

// about is what of the data of an event says whom it concerns.
type about struct {
	Run   jobs.ID `json:"run"`
	Job   *string `json:"job"`
	Group jobs.ID `json:"group"`
}

func aboutOf(e *jobs.CloudEvent) about {
	var a about
	_ = jobs.DecodeLenient(e.Data, &a) // an event of another shape concerns no run
	return a
}

func concernsRun(e *jobs.CloudEvent, run string) bool {
	a := aboutOf(e)
	return a.Run.String() == run || a.Group.String() == run
}

func concernsJob(e *jobs.CloudEvent, job string) bool { return textOf(aboutOf(e).Job) == job }
