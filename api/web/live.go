package web

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"nightshift/api/client"
	"nightshift/jobs"
)

// liveEvery is how often a page is told at most that something has changed.
const liveEvery = time.Second

// live tells a page that something has changed that it shows: an event changed, upon which the page reads itself
// anew. ?run= and ?job= narrow it.
func live(v *view) error {
	var of about
	if text := v.query("run"); text != "" {
		id, err := jobs.ParseID(text)
		if err != nil {
			return &notFound{}
		}
		of.Run = id
	}
	if job := v.query("job"); job != "" {
		of.Job = &job
	}
	ctx, cancel := context.WithCancel(v.ctx())
	changes, over := v.followChanges(ctx, of)
	defer func() { cancel(); <-over }()
	out, err := openStream(v.w)
	if err != nil {
		return err
	}
	return out.tell(ctx, changes)
}

// followChanges signals when something has changed that concerns a run or a job, of whichever is given: nothing is
// missed from its return on, until ctx ends or the changes are closed. It has ended once over is closed.
func (v *view) followChanges(ctx context.Context, of about) (changes <-chan struct{}, over <-chan struct{}) {
	found, begun, ended := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(found)
		_, err := v.API.FollowEvents(ctx, client.EventFilter{Live: true}, func(e jobs.CloudEvent) error {
			if of.concernedBy(&e) {
				select {
				case found <- struct{}{}:
				default:
				}
			}
			return nil
		}, nil, func() { close(begun) })
		if err != nil && !errors.Is(err, client.ErrCut) && ctx.Err() == nil {
			v.site.cfg.Log.Warn("a page cannot follow what happens", "error", err)
		}
	}()
	select {
	case <-begun:
	case <-ended:
	}
	return found, ended
}

// stream is a stream of server-sent events.
type stream struct {
	out *http.ResponseController

	mu sync.Mutex
	w  http.ResponseWriter
}

func openStream(w http.ResponseWriter) (*stream, error) {
	s := &stream{w: w, out: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	return s, s.write(":\n\n")
}

func (s *stream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.SetWriteDeadline(time.Now().Add(writeWithin))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.out.Flush()
}

// send writes an event whose data is v as JSON, which holds no line break.
func (s *stream) send(name, id string, v any) error {
	text := "event: " + name + "\n"
	if id != "" {
		text += "id: " + id + "\n"
	}
	return s.write(text + "data: " + string(jobs.AppendJSON(nil, v)) + "\n\n")
}

// beatEvery is how often a stream without news shows that it is alive.
const beatEvery = 15 * time.Second

// tell sends an event for changes, until these or ctx end or the browser leaves.
func (s *stream) tell(ctx context.Context, changes <-chan struct{}) error {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		text := ":\n\n"
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		case _, more := <-changes:
			if !more {
				return nil
			}
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

// concernedBy reports whether an event may have changed what is shown of a run or of a job. One that names no run
// may concern all.
func (a about) concernedBy(e *jobs.CloudEvent) bool {
	var of about
	_ = jobs.DecodeLenient(e.Data, &of) // an event of another shape concerns no run
	switch {
	case e.Type == jobs.EventRunChanged && of.Run.IsNil():
		return true
	case !a.Run.IsNil():
		return of.Run == a.Run || of.Group == a.Run
	case a.Job != nil:
		return textOf(of.Job) == *a.Job
	}
	return true
}
