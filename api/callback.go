package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// ofAttempt finds the attempt that a call of a callback is from: its token is the only one that opens
// it. The store is not asked.
func (s *Server) ofAttempt(run, authorization string) (store.Fence, *problem) {
	token, p := bearer(authorization)
	if p != nil {
		return store.Fence{}, p
	}
	if id, err := jobs.ParseID(run); err == nil {
		if f, ok := s.rt.OpenCallback(id, token); ok {
			s.rt.Hear(f) // also where the call is refused: who speaks is alive
			return f, nil
		}
	}
	if strings.HasPrefix(token, SecretPrefix) {
		return store.Fence{}, refuse(probUnauthorized, "this is a token of the server: a callback opens to the token of "+
			"its attempt alone, which came with it (Nightshift-Token, NIGHTSHIFT_CALLBACK_TOKEN)")
	}
	return store.Fence{}, refuse(probUnauthorized, "this is not the token of an attempt of this run: want the one that came "+
		"with the callback (Nightshift-Token, NIGHTSHIFT_CALLBACK_TOKEN)")
}

// stray reports whether a call that no route answers is from an attempt, below its callback: it is told
// so, as those who have a token of the server are.
func (s *Server) stray(r *http.Request) bool {
	below, ok := strings.CutPrefix(r.URL.Path, callbackPath)
	if !ok {
		return false
	}
	run, _, _ := strings.Cut(below, "/")
	_, p := s.ofAttempt(run, r.Header.Get("Authorization"))
	return p == nil
}

// over is what an attempt is told that is not under way any more.
func over(e *store.OverError) *problem {
	switch e.State {
	case 0:
		return refuse(probNotFound, "the run is not kept any more: it was deleted, or pruned after its end")
	case jobs.Running:
		return &problem{kind: probOver, state: e.State, detail: "the attempt is over, or how it ends has been told " +
			"already: nothing was changed, and its work can stop"}
	}
	return &problem{kind: probOver, state: e.State, detail: fmt.Sprintf("the attempt is over and its run is %s: "+
		"nothing was changed, and the work of this attempt can stop", e.State)}
}

func getCallbackCheckpoint(c *call) error {
	value, err := c.s.rt.Checkpoint(c.ctx(), c.attempt)
	if err != nil {
		return err
	}
	return c.answerValue(orRawNull(value))
}

func putCallbackCheckpoint(c *call) error {
	var value jobs.Raw
	err := c.read(func(data []byte) error {
		if err := jobs.DecodeJSON(data, &value); err != nil {
			return err
		}
		return tooLong("", len(value), jobs.MaxCheckpoint)
	})
	if err != nil {
		return err
	}
	return c.noted(c.s.rt.SaveCheckpoint(c.ctx(), c.attempt, value))
}

// tooLong is an error where a value has more bytes than are taken.
func tooLong(location string, size, limit int) error {
	if size <= limit {
		return nil
	}
	return &jobs.TooLargeError{Location: location, Size: size, Limit: limit}
}

// noted answers a call that has nothing to tell.
func (c *call) noted(err error) error {
	if err != nil {
		return within("body", err)
	}
	return c.NoContent(http.StatusNoContent)
}

func heartbeat(c *call) error {
	if r := c.Request(); r.Body != nil {
		if _, err := io.Copy(io.Discard, http.MaxBytesReader(c.Response().Writer, r.Body, c.route.body)); err != nil {
			return badRead(err)
		}
	}
	return c.noted(c.s.rt.Heartbeat(c.ctx(), c.attempt))
}

func postProgress(c *call) error {
	var p jobs.Progress
	err := c.decode(&p, func() []jobs.Fault {
		bounded := p // the note is masked before it is cut
		wrong, _ := unreadOf(bounded.Bound())
		return wrong
	})
	if err != nil {
		return err
	}
	return c.noted(c.s.rt.Progress(c.ctx(), c.attempt, p))
}

func postLog(c *call) error {
	if media, _, _ := mime.ParseMediaType(c.Request().Header.Get("Content-Type")); media == mediaText {
		text, err := c.body(c.route.body)
		if err != nil {
			return err
		}
		return c.noted(c.s.rt.AppendLog(c.ctx(), c.attempt, text))
	}
	var body wire.CallbackLog
	if err := c.decode(&body); err != nil {
		return err
	}
	return c.noted(c.s.rt.AppendLog(c.ctx(), c.attempt, []byte(body.Text)))
}

func complete(c *call) error {
	var body wire.Complete
	err := c.read(func(data []byte) error {
		if len(data) == 0 {
			return nil
		}
		if err := jobs.DecodeJSON(data, &body); err != nil {
			return err
		}
		return tooLong("result", len(body.Result), jobs.MaxResult)
	})
	if err != nil {
		return err
	}
	return c.answerTold(c.s.rt.Complete(c.ctx(), c.attempt, body.Result))
}

func fail(c *call) error {
	var body wire.Fail
	said := &jobs.SaidError{Fail: true}
	err := c.decodeOptional(&body, func() []jobs.Fault {
		var err error
		if said.RetryAfter, err = jobs.ParseWait(body.RetryAfter); err != nil {
			return []jobs.Fault{{Location: "retry_after", Message: err.Error()}}
		}
		return nil
	})
	if err != nil {
		return err
	}
	said.Type, said.Message, said.Stack, said.Retryable = body.Type, body.Message, body.Stack, body.Retryable
	return c.answerTold(c.s.rt.Fail(c.ctx(), c.attempt, said))
}

// answerTold tells of which state the run is now that the outcome of its attempt has been told.
func (c *call) answerTold(err error) error {
	if err != nil {
		return within("body", err)
	}
	r, err := c.s.rt.Store().Run(c.ctx(), c.attempt.Run)
	if errors.Is(err, store.ErrNotFound) {
		return over(&store.OverError{})
	}
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, &wire.Told{Run: r.ID, State: r.State.String()})
}

// answerValue writes JSON byte for byte, without anything around it.
func (c *call) answerValue(value jobs.Raw) error {
	writeText(c.Context, http.StatusOK, "application/json", value)
	return nil
}

func getCheckpoint(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	value, err := c.s.rt.Store().Checkpoint(c.ctx(), r.ID)
	if errors.Is(err, store.ErrNotFound) {
		return noRun()
	}
	if err != nil {
		return err
	}
	if value == nil {
		return noCheckpoint()
	}
	return c.answerValue(value)
}

func dropCheckpoint(c *call) error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	err = c.s.rt.DropCheckpoint(c.ctx(), r.ID, c.by(""))
	if errors.Is(err, store.ErrNotFound) {
		return noCheckpoint()
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func noCheckpoint() error {
	return refuse(probNotFound, "there is no checkpoint: the run has saved none, or it was dropped when the run "+
		"succeeded, or when its time was over")
}
