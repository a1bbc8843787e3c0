package runtime

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"nightshift/jobs"
	"nightshift/store"
)

// compose makes the payload of a merge before its first attempt, and keeps it. The error is why the attempt
// has to stop; the failure, that there is nothing to merge any more.
func (r *Runtime) compose(a *attempt) (*jobs.Failure, error) {
	run := a.lease.Run
	err := r.persist(a.ctx, "the results that run "+run.ID.String()+" merges", func() error {
		made := jobs.NewMergePayload(run.Group)
		err := r.results(a.ctx, run, func(m *jobs.MemberResult) error {
			made.Add(m)
			return nil
		})
		if err != nil {
			return err
		}
		payload := made.Payload()
		err = r.wrote(r.store.KeepPayload(a.ctx, a.fence, payload))
		if err == nil {
			run.Payload = payload
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrLease):
		return nil, jobs.ErrCancelled // it is over: what comes of it changes nothing
	case errors.Is(err, store.ErrNotFound):
		return invalid("the group %s, which it merges, is not kept any more", run.Group), nil
	case errors.Is(err, store.ErrState):
		return nil, r.persist(a.ctx, "the payload of run "+run.ID.String(), func() error {
			kept, err := r.store.Run(a.ctx, run.ID)
			if err == nil {
				run.Payload = kept.Payload
			}
			return err
		})
	}
	return nil, err
}

// results reads what had become of the members of a group when a run of its merge was made, in their order.
func (r *Runtime) results(ctx context.Context, merge *jobs.Run, each func(*jobs.MemberResult) error) error {
	return r.store.Results(ctx, merge.Group, func(m *store.GroupMember) error {
		got := &jobs.MemberResult{Name: m.Name, Job: m.Job, Run: m.ID, Of: m.Run, Missing: m.Missing}
		// What was requeued since is for another merge.
		for got.Of != nil && got.Of.ID.Seq() > merge.ID.Seq() && !got.Of.RequeuedFrom.IsNil() {
			before, err := r.store.Run(ctx, got.Of.RequeuedFrom)
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			if err != nil {
				return fmt.Errorf("read what member %s was before: %w", m.Name, err)
			}
			got.Run, got.Of, got.Missing = before.ID, before, before.State == jobs.Cancelled
		}
		return each(got)
	})
}

// resultsOf is Call.Results of an attempt; nil: it merges nothing.
func (r *Runtime) resultsOf(a *attempt) func(io.Writer) error {
	run := a.lease.Run
	if !merges(run) {
		return nil
	}
	return func(w io.Writer) error {
		out := newResultsWriter(w)
		err := r.persist(a.ctx, "the results that run "+run.ID.String()+" merges", func() error {
			out.again()
			return out.written(r.results(a.ctx, run, out.add))
		})
		if err == nil {
			err = out.failed
		}
		return errors.Join(err, out.close())
	}
}

// merges reports whether a run merges the members of a group.
func merges(run *jobs.Run) bool { return !run.Group.IsNil() && run.Place < 0 }

// Results writes what has become of each member of a group as a JSON array, in their order, to an attempt
// of its merge. Nothing is written where it gives store.ErrNotFound, for the run merges nothing, or a
// *store.OverError.
func (r *Runtime) Results(ctx context.Context, f store.Fence, w io.Writer) error {
	l, err := r.store.Lease(ctx, f)
	if err != nil {
		return err
	}
	if !merges(l.Run) {
		return fmt.Errorf("run %s merges no group: %w", f.Run, store.ErrNotFound)
	}
	out := newResultsWriter(w)
	if err := r.results(ctx, l.Run, out.add); err != nil {
		return err
	}
	return out.close()
}

// resultsWriter writes members as a JSON array, few at a time.
type resultsWriter struct {
	w      *bufio.Writer
	text   []byte
	n      int   // that were written
	seen   int   // of those that are read anew
	failed error // it cannot be written any more
}

func newResultsWriter(w io.Writer) *resultsWriter {
	return &resultsWriter{w: bufio.NewWriterSize(w, 64<<10)}
}

// again has the members be read anew; those that were written are passed over.
func (o *resultsWriter) again() { o.seen = 0 }

func (o *resultsWriter) add(m *jobs.MemberResult) error {
	if o.seen++; o.seen <= o.n {
		return nil
	}
	lead := byte(',')
	if o.n == 0 {
		lead = '['
	}
	o.text = m.AppendJSON(append(o.text[:0], lead))
	_, o.failed = o.w.Write(o.text)
	o.n++
	return o.failed
}

// written keeps the failure of the reader apart from that of the writer, which is not tried again.
func (o *resultsWriter) written(err error) error {
	if o.failed != nil {
		return nil
	}
	return err
}

func (o *resultsWriter) close() error {
	if o.failed != nil {
		return nil
	}
	end := "]"
	if o.n == 0 {
		end = "[]"
	}
	if _, err := o.w.WriteString(end); err != nil {
		return err
	}
	return o.w.Flush()
}
